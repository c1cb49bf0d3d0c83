"""How a bill of materials looks: totals and what is unknown first, then the parts."""

from typing import Any, Final

from ctestbed.bench.report.blocks import (
    Block,
    Column,
    Facts,
    Plot,
    Series,
    Table,
    cut_rows,
    table,
)
from ctestbed.bench.report.quantity import show_length, show_power, show_rate
from ctestbed.core.names import number_runs

_UNKNOWN: Final = "UNKNOWN"
_MILLION: Final = 10**6
_ROWS: Final = 40
"""Lines of a table for people."""


def bill_blocks(data: dict[str, Any]) -> list[Block]:
    """Return the blocks of `bom` data: one design in full, or several side by side."""
    designs, prices = data["designs"], data["prices"]
    if len(designs) == 1:
        return _one(designs[0], prices)
    return _several(designs, prices)


def bill_rows(data: dict[str, Any]) -> Table:
    """Return every line of every design as a row, figures in base units."""
    prices = data["prices"]
    columns = [
        "design",
        *_LINE_KEYS,
        "currency",
    ]
    rows = []
    for design in data["designs"]:
        for line in design["lines"]:
            cells = [_raw(line[key]) for key in _LINE_KEYS]
            currency = "" if prices is None or line["cost"] is None else prices["currency"]
            rows.append((design["design"], *cells, currency))
    names = [_CSV_NAMES.get(name, name) for name in columns]
    return Table("Parts", tuple(Column(name) for name in names), tuple(rows))


_LINE_KEYS: Final = (
    "group",
    "part",
    "site",
    "planes",
    "place",
    "model",
    "kind",
    "count",
    "per_plane",
    "links",
    "radix",
    "ports_used",
    "rate",
    "length",
    "length_class",
    "power_each",
    "power",
    "power_source",
    "price_each",
    "cost",
    "included",
    "price_provenance",
    "price_source",
)
_CSV_NAMES: Final = {
    "rate": "rate_bit_per_s",
    "length": "length_mm",
    "power_each": "power_each_mw",
    "power": "power_mw",
    "included": "included_in",
}


def _raw(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _one(design: dict[str, Any], prices: dict[str, Any] | None) -> list[Block]:
    blocks: list[Block] = [Facts(design["design"], _totals(design, prices), wrap=True)]
    lines = [line for line in design["lines"] if not _of_trunk(line)]
    trunks = [line for line in design["lines"] if _of_trunk(line)]
    before: list[tuple[str, Any]] = []
    if len({line["site"] for line in lines}) > 1:
        before.append(("site", lambda line: line["site"]))
    if any(line["planes"] is not None for line in lines):
        before.append(
            (
                "planes",
                lambda line: "all" if line["planes"] is None else number_runs(line["planes"]),
            )
        )
    counts = [("count>", lambda line: f"{line['count']:,}")]
    in_planes = [("a plane>", lambda line: _number(line["per_plane"])), *counts]
    switches = in_planes if design["planes"] > 1 else counts
    after: list[tuple[str, Any]] = [("power>", lambda line: show_power(line["power"]))]
    if prices is not None:
        after.append((f"{prices['currency']}>", _line_cost))
    tables = (
        ("Switches", {"switch", "scale-up switch"}, lines, [*before, *_SWITCH, *switches]),
        ("Cables", {"cable", "breakout cable", "bundle"}, lines, [*before, *_CABLE, *counts]),
        ("Ends and hosts", {"transceiver", "NIC", "host"}, lines, [*before, *_END, *counts]),
        ("Trunks", None, trunks, [*_TRUNK, *counts]),
    )
    for title, parts, among, columns in tables:
        chosen = [line for line in among if parts is None or line["part"] in parts]
        if chosen:
            blocks.append(_parts_table(title, chosen, [*columns, *after]))
    return blocks


def _parts_table(title: str, lines: list[dict[str, Any]], columns: list[tuple[str, Any]]) -> Block:
    rows, more = cut_rows([[cell(line) for _, cell in columns] for line in lines], _ROWS)
    note = "; ".join(part for part in (more, _note(lines)) if part)
    return table(title, " | ".join(name for name, _ in columns), rows, note)


def _number(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _of_trunk(line: dict[str, Any]) -> bool:
    return str(line["place"]).startswith("trunk")


def _totals(design: dict[str, Any], prices: dict[str, Any] | None) -> tuple[tuple[str, str], ...]:
    pairs = [("what", design["title"])] if design["title"] else []
    pairs += [("endpoints", _endpoints(design)), ("switches", _switches(design))]
    links = [
        (design["endpoint_links"], f"to {design['endpoint']}s"),
        (design["inter_switch_links"], _between(design)),
        (design["trunk_links"], "in trunks"),
    ]
    total = sum(count for count, _ in links)
    parts = ", ".join(f"{count:,} {what}" for count, what in links if count)
    if total:
        pairs.append(("links", f"{total:,}: {parts}"))
    if total:
        pairs.append(("transceivers", _transceivers(design)))
        pairs.append(("network power", _sum(design, "power", show_power)))
    if design["scale_up_power"] is not None:
        pairs.append(("scale-up power", _bound(design["scale_up_power"], show_power)))
    if design["nic_power"] is not None and design["nic_power"]["at_least"]:
        pairs.append(("NIC power", _bound(design["nic_power"], show_power)))
    pairs += _costs(design, prices)
    if design["counts_only"] is not None:
        pairs.append(("graph", f"none, counts only: {design['counts_only']}"))
    for name, key in (("power", "power"), ("cost", "cost"), ("optics", "transceivers")):
        if design[key] is not None and design[key]["unknown"]:
            pairs.append((f"unknown {name}", "; ".join(design[key]["unknown"])))
    pairs.append(("figures", "counts modelled by the testbed; power claimed by its `parts`"))
    return tuple(pairs)


def _endpoints(design: dict[str, Any]) -> str:
    text = f"{design['endpoints']:,} {design['endpoint']}s"
    if design["endpoint"] == "NIC":
        text += f" of {design['accelerators']:,} accelerators"
    return f"{text} in {design['hosts']:,} hosts"


def _switches(design: dict[str, Any]) -> str:
    inside = design["scale_up_switches"]
    more = f", and {inside:,} inside supernodes" if inside else ""
    return f"{design['switches']:,}{more}"


def _between(design: dict[str, Any]) -> str:
    return "between switches" if design["switches"] else "between accelerators"


def _transceivers(design: dict[str, Any]) -> str:
    found, each = design["transceivers"], design["per_endpoint"]["transceivers"]
    if found["value"] == _UNKNOWN:
        return _bound(found, lambda count: f"{count:,}")
    return f"{found['value']:,}, {_ratio(each)} for each {design['endpoint']}"


def _sum(design: dict[str, Any], key: str, write: Any) -> str:
    text = _bound(design[key], write)
    if design[key]["value"] == _UNKNOWN:
        return text
    each = design["per_endpoint"][key]
    return f"{text}, {write(round(each))} for each {design['endpoint']}"


def _bound(total: dict[str, Any], write: Any) -> str:
    """Write a sum with its provenance; or what is known of it, as a lower bound."""
    origin = f" ({total['provenance']})" if "provenance" in total else ""
    if total["value"] != _UNKNOWN:
        return f"{write(total['value'])}{origin}"
    if not total["at_least"]:
        return "UNKNOWN"
    return f"UNKNOWN, at least {write(total['at_least'])}{origin}"


def _costs(design: dict[str, Any], prices: dict[str, Any] | None) -> list[tuple[str, str]]:
    if prices is None:
        return [("cost", "not asked: give prices with --prices FILE")]
    currency, cost = prices["currency"], design["cost"]

    def write(amount: float) -> str:
        return f"{_money(amount)} {currency}"

    text = _bound(cost, write)
    if cost["value"] != _UNKNOWN:
        each = design["per_endpoint"]["cost"]
        text = f"{text}, {write(each)} for each {design['endpoint']}"
    found = [("network cost", text)]
    for name, key in (("scale-up cost", "scale_up_cost"), ("NIC cost", "nic_cost")):
        if design[key] is not None and (
            design[key]["value"] != _UNKNOWN or design[key]["at_least"]
        ):
            found.append((name, _bound(design[key], write)))
    found.append(("prices", f"{prices['name']}: {prices['title'] or 'untitled'}"))
    return found


def _ports(line: dict[str, Any]) -> str:
    used, radix = line["ports_used"], line["radix"]
    if used is None:
        return "-" if radix is None else f"of {radix}"
    return f"{used}" if radix is None else f"{used} of {radix}"


_KINDS: Final = {"transceiver": "fibre", "aoc": "AOC", "dac": "DAC", "aec": "AEC"}


def _made_of(line: dict[str, Any]) -> str:
    if line["part"] == "bundle":
        return "(bundles)"
    kind = "" if line["kind"] is None else f", {_KINDS[line['kind']]}"
    return f"{line['model'] or _UNKNOWN}{kind}"


def _length(line: dict[str, Any]) -> str:
    return "-" if line["part"] == "bundle" else show_length(line["length"])


def _rate(line: dict[str, Any]) -> str:
    without = {"standby route", "amplifier place"}
    return "-" if line["part"] in without else show_rate(line["rate"])


def _model(line: dict[str, Any]) -> str:
    return line["model"] or ("-" if line["part"] in {"host", "standby route"} else _UNKNOWN)


def _trunk_part(line: dict[str, Any]) -> str:
    part, where = str(line["part"]), str(line["place"]).partition(", ")[2]
    if where.startswith("at ") or (part == "amplifier place" and where == "standby"):
        return f"{part.removesuffix(' place')}, {where}"
    return part


def _where(line: dict[str, Any]) -> str:
    return "-" if line["place"] == "host" else line["place"]


_SWITCH: Final = (
    ("switch", lambda line: line["place"]),
    ("model", _model),
    ("ports used>", _ports),
)
_CABLE: Final = (
    ("cables", lambda line: line["place"]),
    ("made of", _made_of),
    ("length", _length),
    ("rate>", _rate),
)
_END: Final = (("part", lambda line: line["part"]), ("where", _where), ("model", _model))
_TRUNK: Final = (
    ("trunk", lambda line: line["site"]),
    ("part", _trunk_part),
    ("model", _model),
    ("length", _length),
    ("rate>", _rate),
)


def _note(lines: list[dict[str, Any]]) -> str:
    notes = []
    if any(line["part"] == "bundle" for line in lines):
        notes.append("a bundle is one link of a supernode and not one cable")
    if any(line["part"] == "breakout cable" for line in lines):
        notes.append("a breakout cable carries several links")
    if any(line["included"] for line in lines):
        notes.append("(in) a price: that of the switch includes it")
    return "; ".join(notes)


def _line_cost(line: dict[str, Any]) -> str:
    if line["included"] is not None:
        return "(in)"
    cost = line["cost"]
    return "-" if cost is None else cost if isinstance(cost, str) else _money(cost)


def _money(amount: float) -> str:
    """Write an amount for people: in millions from one on, else to the cent."""
    if amount >= _MILLION:
        return f"{amount / _MILLION:,.2f} M"
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.2f}"


def _ratio(ratio: float | str) -> str:
    return ratio if isinstance(ratio, str) else f"{ratio:.4g}"


def _several(designs: list[dict[str, Any]], prices: dict[str, Any] | None) -> list[Block]:
    counts = [
        [
            design["design"],
            f"{design['endpoints']:,}",
            f"{design['switches']:,}",
            f"{design['inter_switch_links']:,}",
            _at_least(design["transceivers"], lambda count: f"{count:,}"),
            _ratio(design["per_endpoint"]["transceivers"]),
        ]
        for design in designs
    ]
    header = "design | endpoints> | switches> | links> | optics> | each>"
    note = "links: between switches; optics: transceivers; each: for an endpoint"
    blocks: list[Block] = [table("Side by side", header, counts, note)]
    currency = "" if prices is None else prices["currency"]
    sums = [
        [
            design["design"],
            *_cost_cells(design),
            _at_least(design["power"], show_power),
            _each(design["per_endpoint"]["power"], lambda each: show_power(round(each))),
        ]
        for design in designs
    ]
    cost = "" if prices is None else f"cost, {currency}> | each> | "
    blocks.append(table("Cost and power", f"design | {cost}power> | each>", sums))
    blocks.append(Facts("What these rest on", _grounds(designs, prices), wrap=True))
    plot = _cost_plot(designs, prices)
    return blocks if plot is None else [*blocks, plot]


def _at_least(total: dict[str, Any], write: Any) -> str:
    if total["value"] != _UNKNOWN:
        return str(write(total["value"]))
    return f">= {write(total['at_least'])}" if total["at_least"] else _UNKNOWN


def _each(value: float | str | None, write: Any) -> str:
    return value if isinstance(value, str) else str(write(value))


def _cost_cells(design: dict[str, Any]) -> list[str]:
    if design["cost"] is None:
        return []
    return [_at_least(design["cost"], _money), _each(design["per_endpoint"]["cost"], _money)]


def _grounds(
    designs: list[dict[str, Any]], prices: dict[str, Any] | None
) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    if prices is None:
        pairs.append(("cost", "not asked: give prices with --prices FILE"))
    else:
        origin = ", ".join(prices["provenance"]) or "none applies"
        pairs.append(("prices", f"{prices['name']} ({origin}): {prices['title'] or 'untitled'}"))
    for name, key in (("power", "power"), ("cost", "cost"), ("optics", "transceivers")):
        lacking: dict[tuple[str, ...], list[str]] = {}
        for design in designs:
            found = tuple(design[key]["unknown"]) if design[key] is not None else ()
            lacking.setdefault(found, []).append(design["design"])
        for unknown, whose in lacking.items():
            if unknown:
                owners = "" if len(whose) == len(designs) else f"{', '.join(whose)}: "
                pairs.append((f"unknown {name}", owners + "; ".join(unknown)))
    pairs.append(("figures", "counts modelled by the testbeds; power claimed by their `parts`"))
    return tuple(pairs)


def _cost_plot(designs: list[dict[str, Any]], prices: dict[str, Any] | None) -> Plot | None:
    if prices is None:
        return None
    each = [design["per_endpoint"]["cost"] for design in designs]
    if any(isinstance(value, str) for value in each):
        return None
    series = Series("cost", tuple(map(float, range(len(each)))), tuple(map(float, each)))
    return Plot(
        "Network cost for each endpoint",
        "bar",
        (series,),
        "design",
        prices["currency"],
        ", ".join(prices["provenance"]),
        labels=tuple(design["design"] for design in designs),
    )
