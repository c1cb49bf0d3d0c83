"""Views of `topology`: facts, tables, and a drawing of one plane that stands for all alike."""

from itertools import groupby
from typing import Any, Final

from ctestbed.bench.report.bill import bill_blocks, bill_rows
from ctestbed.bench.report.blocks import Block, Facts, Table, Text, table
from ctestbed.bench.report.comparison import comparison_blocks
from ctestbed.bench.report.ports import port_blocks
from ctestbed.bench.report.structure import structure_blocks
from ctestbed.core.envelope import Envelope
from ctestbed.core.units import format_length, format_rate, format_size, format_time

_CELLS: Final = 4
"""Switches drawn of a tier; the rest are an ellipsis."""
_KINDS: Final = ("accelerator", "host", "nic", "switch", "link")


def list_(envelope: Envelope) -> list[Block]:
    """A row per built-in testbed."""
    rows = [
        [item["name"], *(f"{item['counts'][kind]:,}" for kind in _KINDS), item["title"]]
        for item in envelope["data"]["testbeds"]
    ]
    header = "testbed | accelerators> | hosts> | NICs> | switches> | links> | what it is"
    return [table("Built-in testbeds", header, rows)]


def validate(envelope: Envelope) -> list[Block]:
    """What was checked, and how large the testbed is."""
    data = envelope["data"]
    rows = [[item["status"].upper(), item["check"]] for item in data["checks"]]
    blocks: list[Block] = [table(f"Checks of {data['testbed']}", "result | check", rows)]
    if data["counts"] is not None:
        blocks.insert(0, Facts(data["title"] or data["testbed"], (_count_line(data["counts"]),)))
    return blocks + structure_blocks(data["structure"]) + port_blocks(data["ports"])


def as_built(envelope: Envelope) -> list[Block]:
    """What was compared and how, what was inferred, every departure, and the structure."""
    data = envelope["data"]
    return comparison_blocks(data) + structure_blocks(data["structure"])


def diff(envelope: Envelope) -> list[Block]:
    """How the two were compared, and every difference."""
    return comparison_blocks(envelope["data"])


def build(envelope: Envelope) -> list[Block]:
    """How large the built testbed is."""
    data = envelope["data"]
    return [Facts(data["testbed"]["name"], (_count_line(data["counts"]),))]


def export(envelope: Envelope) -> list[Block]:
    """What was written."""
    data = envelope["data"]
    pairs = (
        ("format", f"{data['title']} ({data['format']})"),
        ("size", f"{_many(data['devices'], 'device')}, {_many(data['cables'], 'cable')}"),
        ("file", format_size(data["bytes"])),
    )
    return [Facts(f"Export of {data['testbed']}", pairs)]


def bom(envelope: Envelope) -> list[Block]:
    """What one design is bought as, or several side by side."""
    return bill_blocks(envelope["data"])


def bom_csv(envelope: Envelope) -> Table:
    """A row for every line of every design, figures in base units."""
    return bill_rows(envelope["data"])


def show(envelope: Envelope) -> list[Block]:
    """The facts, the drawing, what each layer can carry, and where the figures come from."""
    data = envelope["data"]
    blocks: list[Block] = [Facts(data["title"] or data["testbed"], _facts(data))]
    if data["trunks"]:
        blocks.append(Text(_draw_sites(data), "Sites", fixed=True))
    for names, site in _alike(data["sites"]):
        draw = _draw_plane if _is_clos(site) else _draw_equals
        text = "\n".join(draw(site, data))
        blocks.append(Text(text, _plane_title(names, site, data), fixed=True))
    blocks.append(_layers(data))
    for title, key in (("Sources", "sources"), ("Assumptions", "assumptions")):
        if data[key]:
            blocks.append(Text("\n".join(f"  - {line}" for line in data[key]), title))
    return blocks


def import_(envelope: Envelope) -> list[Block]:
    """What was read and why so, the tiers seen in it, and what joins them."""
    data = envelope["data"]
    counts = data["counts"]
    facts = [
        ("read as", f"{data['format']}, {data['title']}: {data['because']}"),
        ("devices", _import_counts(counts)),
        ("cables", _import_cables(data)),
    ]
    if counts["named_hosts"]:
        facts.append(("hosts named", f"{counts['named_hosts']:,}"))
    facts += [(key, value) for key, value in list(data["attributes"].items())[:_CELLS]]
    tiers = [
        [row["name"], *(f"{row[key]:,}" for key in ("devices", "cables_up", "cables_down"))]
        for row in data["tiers"]
    ]
    names = {row["tier"]: row["name"] for row in data["tiers"]}
    joins = [
        [
            " - ".join(names[tier] for tier in row["between"]),
            f"{row['cables']:,}",
            f"{row['pairs']:,}",
            "-".join(dict.fromkeys((str(row["fewest"]), str(row["most"])))),
        ]
        for row in data["joins"]
    ]
    note = "told from names and cables" if data["guessed"] else "by distance from the endpoints"
    blocks: list[Block] = [Facts(data["name"], tuple(facts))]
    if tiers:
        blocks.append(table("Tiers", "tier | devices> | cables up> | cables down>", tiers, note))
    if joins:
        header = "between | cables> | pairs of devices> | cables a pair>"
        blocks.append(table("Cables", header, joins))
    return blocks


def _import_counts(counts: dict[str, int]) -> str:
    words = [("switch", "switches"), ("host", "hosts"), ("nic", "NICs")]
    words += [("accelerator", "accelerators"), ("unknown", "of unknown kind")]
    text = ", ".join(f"{counts[key]:,} {word}" for key, word in words if counts[key])
    inside = counts["aggregation"]
    return f"{text or 'none'}{f' ({inside:,} of the NICs inside switches)' if inside else ''}"


def _import_cables(data: dict[str, Any]) -> str:
    rates = ", ".join(f"{row['cables']:,} of {_import_rate(row['rate'])}" for row in data["rates"])
    return f"{data['counts']['link']:,}{f': {rates}' if rates else ''}"


def _import_rate(rate: int | None) -> str:
    return "unstated rate" if rate is None else format_rate(rate)


def _count_line(counts: dict[str, int]) -> tuple[str, str]:
    named = [("accelerator", "accelerators"), ("host", "hosts"), ("nic", "NICs")]
    named += [("switch", "switches"), ("link", "cables")]
    inside = [("cpu", "host processors"), ("scale_up_switch", "scale-up switches")]
    named += [each for each in [*inside, ("scale_up_link", "bundles")] if counts[each[0]]]
    return "size", ", ".join(f"{counts[key]:,} {text}" for key, text in named)


def _facts(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    planes = data["planes"]
    facts = [_count_line(data["counts"])]
    if data["counts_only"] is not None:
        facts.append(("graph", f"none, counts only: {data['counts_only']}"))
    for names, site in _alike(data["sites"]):
        facts.append((f"each host{_at(names, data)}", f"{_host(site, data)}"))
    if planes["count"] > 1:
        how = {
            "nic-per-plane": f"NIC i of a site is in plane i mod {planes['count']}",
            "nic-split": "every NIC has a port in each plane",
        }[planes["form"]]
        facts.append(("planes", f"{planes['count']}, independent: {how}"))
    for same, supernode in _alike(data["supernodes"], "site"):
        facts.append((f"supernodes{_at(same, data)}", _supernode(supernode)))
        if supernode["pooled_memory"] != "UNKNOWN":
            text = f"{format_size(supernode['pooled_memory'])} in each supernode"
            facts.append((f"pooled memory{_at(same, data)}", text))
    for site in data["sites"]:
        place = f" of {site['name']}" if len(data["sites"]) > 1 else ""
        facts.append((f"bisection{place}", _quantity(site["bisection"], format_rate)))
    return tuple(facts)


def _at(names: list[str], data: dict[str, Any]) -> str:
    """Name the sites a line is about, where it is not about all."""
    return "" if len(names) == len(data["sites"]) else f" of {', '.join(names)}"


def _supernode(supernode: dict[str, Any]) -> str:
    rate = _quantity(supernode["scale_up_rate"], format_rate)
    delay = _quantity(supernode["scale_up_delay"], format_time)
    count = _many(supernode["count"], "supernode")
    text = f"{count} of {_many(supernode['accelerators'], 'accelerator')}"
    if supernode["cpus"]:
        text += f" and {supernode['cpus']} host processors"
    if supernode["switches"]:
        text += f" on {_many(supernode['switches'], 'switch')}"
    if supernode["upper_switches"]:
        text += f" below {supernode['upper_switches']} upper ones"
    return f"{text}; scale-up rate {rate}, delay {delay}"


def _host(site: dict[str, Any], data: dict[str, Any]) -> str:
    host = site["host"]
    if not host["nics"]:
        return _many(host["accelerators"], "accelerator")
    rate = site["layers"][0]["rate"]
    split = data["planes"]["form"] == "nic-split" and data["planes"]["count"] > 1
    ports = f"{data['planes']['count']} x " if split else ""
    nics = f"{_many(host['nics'], 'NIC')} of {ports}{_quantity(rate, format_rate)}"
    return f"{_many(host['accelerators'], 'accelerator')}, {nics}"


def _many(count: int, noun: str) -> str:
    plural = {"leaf": "leaves", "switch": "switches"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"


def _quantity(value: int | str, write: Any) -> str:
    return value if isinstance(value, str) else str(write(value))


def _alike(
    items: list[dict[str, Any]], key: str = "name"
) -> list[tuple[list[str], dict[str, Any]]]:
    """Group neighbouring sites (or what is told by site) that differ in their names alone."""
    runs = groupby(items, key=lambda item: {**item, key: ""})
    groups = [list(run) for _, run in runs]
    return [([item[key] for item in run], run[0]) for run in groups]


def _is_clos(site: dict[str, Any]) -> bool:
    return {"leaf", "spine"} <= {tier["tier"] for tier in site["tiers"]}


def _plane_title(names: list[str], site: dict[str, Any], data: dict[str, Any]) -> str:
    planes = data["planes"]["count"]
    title = "The fabric"
    if planes > 1:
        others = "others differ" if site["planes_differ"] else "the others are alike"
        title = f"One plane of {planes}; {others}"
    return title if len(data["sites"]) == 1 else f"{title} ({', '.join(names)})"


def _draw_equals(site: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """List what a network without tiers is made of: its routers, and what joins them."""
    planes = data["planes"]["count"]
    lines = [f"  kind        {site['kind']}"]
    if site["tiers"]:
        tier = site["tiers"][0]
        lines.append(f"  switches    {_ports(tier)}")
        if site["pods"] > 1:
            lines.append(f"  groups      {site['pods']} of {tier['switches'] // site['pods']}")
        fan = _many(site["ports_per_leaf"], "NIC port")
        lines.append(f"  below each  {fan}")
    else:
        lines.append(f"  routers     {_many(site['accelerators'], 'accelerator')}, no switches")
    for layer in site["layers"]:
        each = f"{layer['cables'] // planes:,} cables"
        lines.append(f"  {layer['layer']}: {each}, {_cable(layer)}")
    return lines


def _draw_sites(data: dict[str, Any]) -> str:
    """Draw each trunk between boxes of its two sites."""
    sites = {site["name"]: site for site in data["sites"]}
    drawings = []
    for trunk in data["trunks"]:
        left, right = (_site_box(sites[name], data) for name in trunk["between"])
        length = _quantity(trunk["length"], format_length)
        delay = _quantity(trunk["delay"], format_time)
        capacity = _quantity(trunk["capacity"], format_rate)
        above = f"{length}, {delay} one way"
        if trunk["amplifiers"]:
            above += f", {_many(trunk['amplifiers'], 'amplifier')}"
        below = f"{trunk['cables']} x {_quantity(trunk['rate'], format_rate)} = {capacity}"
        buffer = ""
        if trunk["lossless"] is not None:
            headroom = _quantity(trunk["lossless"]["headroom"], format_size)
            buffer = f"headroom {headroom} a port and class"
        standby = ""
        if trunk["protection"] is not None:
            route = trunk["protection"]
            far = _quantity(route["length"], format_length)
            standby = f"standby {far}, {_quantity(route['delay'], format_time)} one way"
        width = max(len(above), len(below), len(buffer), len(standby)) + 4
        middle = [standby, above, "=" * width, below, buffer]
        rows = zip(left, [text.center(width) for text in middle], right, strict=True)
        drawings.append("\n".join("  " + "".join(row).rstrip() for row in rows))
    return "\n\n".join(drawings)


def _site_box(site: dict[str, Any], data: dict[str, Any]) -> list[str]:
    lines = [
        site["name"],
        _many(site["accelerators"], "accelerator"),
        f"{_many(site['hosts'], 'host')}, {_many(data['planes']['count'], 'plane')}",
    ]
    width = max(map(len, lines))
    edge = f"+{'-' * (width + 2)}+"
    return [edge, *(f"| {line.ljust(width)} |" for line in lines), edge]


def _draw_plane(site: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """Draw one plane from the top tier down to the hosts, with its figures on the right."""
    tiers = {tier["tier"]: tier for tier in reversed(site["tiers"])}
    pods = site["pods"] if "core" in tiers else 1
    in_pod = {
        name: tier["switches"] // (1 if name == "core" else pods) for name, tier in tiers.items()
    }
    cell = max(len(_switch(name, 0, count)) for name, count in in_pod.items())
    figures = [
        f"{layer['cables'] // len(layer['planes'] or range(data['planes']['count'])):,} cables, "
        f"{_cable(layer)}"
        for layer in site["layers"]
    ]
    rows: list[tuple[str, str]] = []
    if site["trunk_narrowing"] is not None:
        top = "core" if "core" in tiers else "spine"
        rows.append((_stubs(in_pod[top], cell), f"trunks, narrowing {site['trunk_narrowing']}"))
    if "core" in tiers:
        per_spine = tiers["core"]["switches"] // in_pod["spine"]
        rows.append((_boxes("core", in_pod["core"], cell), _ports(tiers["core"])))
        rows.append(
            (_stubs(in_pod["core"], cell), f"spine s of every pod to its {per_spine} cores")
        )
        rows.append((_bus(in_pod["core"], in_pod["spine"], cell), figures[2]))
        rows.append((_frame(f" pod-{_padded(0, pods)} ", cell), f"one of {pods} pods"))
    rows.append((_boxes("spine", in_pod["spine"], cell), _ports(tiers["spine"])))
    each = f"every leaf to every spine{' of its pod' if pods > 1 else ''}"
    rows.append((_stubs(in_pod["spine"], cell), f"{each}: {_many(site['parallel'], 'cable')} each"))
    rows.append((_bus(in_pod["spine"], in_pod["leaf"], cell), figures[1]))
    rows.append((_stubs(in_pod["leaf"], cell), ""))
    rows.append((_boxes("leaf", in_pod["leaf"], cell), _ports(tiers["leaf"])))
    if pods > 1:
        rows.append((_frame("", cell), ""))
    fan = _many(site["ports_per_leaf"], "NIC port")
    rows.append((_fans(in_pod["leaf"], cell), f"{fan} below each leaf: {figures[0]}"))
    width = max(len(art) for art, _ in rows)
    return [f"  {art.ljust(width)}   {label}".rstrip() for art, label in rows]


def _padded(number: int, count: int) -> str:
    return f"{number:0{len(str(count - 1))}d}"


def _switch(tier: str, number: int, count: int) -> str:
    return f"[{tier}-{_padded(number, count)}]"


def _ports(tier: dict[str, Any]) -> str:
    of = "" if tier["radix"] is None else f" of {tier['radix']}"
    return f"{_many(tier['switches'], tier['tier'])}, {tier['ports_used']}{of} ports used"


def _cable(layer: dict[str, Any]) -> str:
    rate, delay = _quantity(layer["rate"], format_rate), _quantity(layer["delay"], format_time)
    return f"rate {rate}, delay {delay}"


def _slots(count: int) -> list[int | None]:
    """Return the positions drawn of a tier; None is the ellipsis."""
    return list(range(count)) if count <= _CELLS else [0, 1, None, count - 1]


def _boxes(tier: str, count: int, cell: int) -> str:
    names = ["..." if n is None else _switch(tier, n, count) for n in _slots(count)]
    return " ".join(name.center(cell) for name in names)


def _stubs(count: int, cell: int) -> str:
    return " ".join(("" if n is None else "|").center(cell) for n in _slots(count))


def _fans(count: int, cell: int) -> str:
    return " ".join(("" if n is None else "/|\\").center(cell) for n in _slots(count))


def _bus(above: int, below: int, cell: int) -> str:
    """Draw the full mesh between two tiers as one bar that all of both are joined to."""
    cells = max(len(_slots(above)), len(_slots(below)))
    return "=" * (cells * (cell + 1) - 1)


def _frame(title: str, cell: int) -> str:
    return f"+--{title}".ljust(_CELLS * (cell + 1) - 2, "-") + "+"


def _layer_name(layer: dict[str, Any]) -> str:
    if layer["planes"] is None:
        return str(layer["layer"])
    return f"{layer['layer']} ({_many(len(layer['planes']), 'plane')}: {layer['planes'][0]}...)"


def _layers(data: dict[str, Any]) -> Block:
    rows = [
        [
            names if position == 0 else "",
            _layer_name(layer),
            f"{layer['cables']:,}",
            _quantity(layer["rate"], format_rate),
            _quantity(layer["delay"], format_time),
            _quantity(layer["capacity"], format_rate),
            layer["narrowing"],
        ]
        for names, site in ((", ".join(names), site) for names, site in _alike(data["sites"]))
        for position, layer in enumerate(site["layers"])
    ]
    rows += [
        [
            " - ".join(trunk["between"]),
            "trunk",
            f"{trunk['cables']:,}",
            _quantity(trunk["rate"], format_rate),
            _quantity(trunk["delay"], format_time),
            _quantity(trunk["capacity"], format_rate),
            "",
        ]
        for trunk in data["trunks"]
    ]
    header = "site | layer | cables> | rate> | delay> | capacity, one way> | narrowing>"
    note = "all planes of a site together; narrowing is what comes from below over what goes on"
    return table("Cables", header, rows, note)
