
"use strict";
// Filter, sort and point at figures. The page is whole without any of it.
(() => {
  const make = (tag, text, host) => {
    const element = document.createElement(tag);
    element.textContent = text;
    host.append(element);
    return element;
  };

  const sortBy = (table, header, index) => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    const figure = header.classList.contains("figure");
    const key = (row) => {
      const cell = row.cells[index];
      if (!figure) return cell.textContent;
      const shown = cell.dataset.key ?? cell.textContent;
      return shown === "" ? NaN : Number(shown);
    };
    const compare = (a, b) => {
      if (!figure) return a.localeCompare(b, "en", { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
      return a - b;
    };
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => (up ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };

  for (const table of document.querySelectorAll("table.data")) {
    const rows = [...table.tBodies[0].rows];
    [...table.tHead.rows[0].cells].forEach((header, index) => {
      const title = header.textContent;
      header.textContent = "";
      make("button", title, header).addEventListener("click", () => sortBy(table, header, index));
    });
    if (rows.length < 10) continue;
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = `filter ${rows.length} rows`;
    search.setAttribute("aria-label", "filter rows");
    table.parentElement.before(search);
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }

  const tip = document.querySelector(".tip");
  for (const mark of document.querySelectorAll(".mark")) {
    const title = mark.querySelector("title");
    const text = title.textContent;
    mark.setAttribute("aria-label", text);
    title.remove();
    mark.addEventListener("pointermove", (event) => {
      tip.textContent = text;
      tip.hidden = false;
      const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
      tip.style.left = `${Math.max(8, Math.min(event.clientX + 12, room))}px`;
      tip.style.top = `${event.clientY + 14}px`;
    });
    mark.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  make("button", "Save data (JSON)", document.querySelector(".tools")).addEventListener("click", () => {
    const reports = JSON.parse(document.getElementById("envelopes").textContent);
    const text = JSON.stringify(reports.length === 1 ? reports[0] : reports, null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${text}\n`], { type: "application/json" }));
    link.download = "report.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
