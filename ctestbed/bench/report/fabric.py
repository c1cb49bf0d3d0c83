"""How a testbed's network is told: facts, drawings from far to near, and its cables.

A drawing has two forms: SVG of the scenes that the report holds, and lines of text for terminals.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from ctestbed.bench.report.blocks import Block, Facts, Items, Picture, Text, cut_rows, table
from ctestbed.bench.report.drawing.wording import KEY, block_name, scene_heading
from ctestbed.bench.report.structure import paths_line
from ctestbed.core.names import numbered
from ctestbed.core.units import format_length, format_rate, format_size, format_time

_CELLS: Final = 4
"""Switches drawn of a tier; the rest are an ellipsis."""
_ROWS: Final = 600
"""Bundles or cables of a drawing that are listed."""


def show_blocks(data: dict[str, Any]) -> list[Block]:
    """Return the facts, the drawings, what each layer can carry, and where figures come from."""
    picture = data.get("picture") or {"scenes": [], "focus": {}}
    near = any(picture["focus"].get(key) is not None for key in ("pod", "leaf"))
    blocks: list[Block] = [Facts(data["title"] or data["testbed"], _facts(data))]
    if near:
        for scene in picture["scenes"]:
            blocks += _near_blocks(scene)
    else:
        blocks += _far_blocks(data, picture["scenes"])
    blocks.append(_layers(data))
    for title, key in (("Sources", "sources"), ("Assumptions", "assumptions")):
        if data[key]:
            blocks.append(Items(title, tuple(data[key])))
    return blocks


def _far_blocks(data: dict[str, Any], scenes: list[dict[str, Any]]) -> Iterator[Block]:
    """Yield the sites, then every plane that differs, with what is inside folded away."""
    for scene in scenes:
        if scene["level"] == "sites":
            yield Picture("Sites", (scene,), _draw_sites(data, scene), str(scene["note"]))
    if not scenes:  # a report of an earlier version: drawn as text alone
        if data["trunks"]:
            yield Text(_draw_sites(data, None), "Sites", fixed=True)
        for names, site in _alike(data["sites"]):
            yield Text(
                "\n".join(_draw_site(site, data)), _plane_title(names, site, data), fixed=True
            )
        return
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for scene in scenes:
        if scene["level"] != "sites":
            groups.setdefault(tuple(scene["sites"]), []).append(scene)
    for together, members in groups.items():
        yield _site_picture(data, together, members)
    shown = {name for together in groups for name in together} or {
        site["name"] for site in data["sites"]
    }
    left = [site["name"] for site in data["sites"] if site["name"] not in shown]
    if left and data["picture"]["focus"]["site"] is None:
        more = f" and {len(left) - 1:,} more" if len(left) > 1 else ""
        yield Text(f"Not drawn here: site {left[0]}{more}; name one with --site.")


def _site_picture(
    data: dict[str, Any], names: tuple[str, ...], scenes: list[dict[str, Any]]
) -> Picture:
    """Return the picture of a site: its planes side by side, and closer looks folded away."""
    site = next((each for each in data["sites"] if each["name"] in names), data["sites"][0])
    planes = [scene for scene in scenes if scene["level"] == "plane"]
    inside = [scene for scene in scenes if scene["level"] != "plane"]
    outer = planes or inside
    lines: list[str] = []
    for scene in planes:
        if len(planes) > 1:
            lines += [""] * bool(lines) + [f"  {scene_heading(scene)}"]
        lines += _draw_site(_site_of_scene(site, scene), data)
    if not planes:
        lines = _draw_equals(site, data)
    folded = tuple(
        Picture(scene_heading(scene), (scene,), "", str(scene["note"]))
        for scene in (inside if planes else [])
    )
    title = _plane_title(list(names) or [site["name"]], site, data)
    notes = [str(scene["note"]) for scene in outer if scene["note"]]
    notes += [KEY] if any(scene["view"] in {"tiers", "links", "ring"} for scene in outer) else []
    note = " ".join(dict.fromkeys(notes))
    return Picture(title, tuple(outer), "\n".join(lines), note, folded)


def _near_blocks(scene: dict[str, Any]) -> Iterator[Block]:
    """Yield a drawing with the table of its bundles, and of single cables where it has them."""
    heading = scene_heading(scene)
    yield Picture(heading, (scene,), "", str(scene["note"]))
    names = {record["id"]: block_name(record) for record in scene["blocks"]}
    rows = [
        [
            names.get(bundle["a"], bundle["a"]),
            names.get(bundle["b"], bundle["b"]),
            f"{bundle['cables']:,}",
            _quantity(bundle["rate"], format_rate),
            _quantity(bundle["capacity"], format_rate),
        ]
        for bundle in scene["bundles"]
    ]
    shown, note = cut_rows(rows, _ROWS)
    header = "from | to | cables> | rate> | capacity, one way>"
    yield table(heading, header, shown, note)
    if "cables" in scene:
        rows = [
            [cable["a"], cable["b"], _quantity(cable["rate"], format_rate)]
            for cable in scene["cables"]
        ]
        shown, note = cut_rows(rows, _ROWS)
        title = scene["title"] if scene["level"] == "leaf" else "the router"
        yield table(f"Cables of {title}", "port | port | rate>", shown, note)


def _site_of_scene(site: dict[str, Any], scene: dict[str, Any]) -> dict[str, Any]:
    """Return a site as if the scene's planes were all of its planes, and one."""
    if not _is_clos(site) or scene["view"] != "tiers":
        return site
    tiers: dict[str, dict[str, Any]] = {}
    for record in scene["blocks"]:
        if record["kind"] in {"leaf", "spine", "core"}:
            known = {"tier": record["kind"], "switches": 0, "planes": None}
            tier = tiers.setdefault(record["kind"], known)
            tier["switches"] += record["count"]
            tier |= {"ports_used": record["ports_used"], "radix": record["radix"]}
    layers: dict[str, dict[str, Any]] = {}
    for bundle in scene["bundles"]:
        known = {"layer": bundle["layer"], "planes": [0], "cables": 0, "rate": bundle["rate"]}
        layers.setdefault(bundle["layer"], known)["cables"] += bundle["cables"]
    ports = layers["NIC - leaf"]["cables"]
    between = [bundle["each"] for bundle in scene["bundles"] if bundle["layer"] == "leaf - spine"]
    return {
        **site,
        "tiers": [tiers[name] for name in ("leaf", "spine", "core") if name in tiers],
        "layers": list(layers.values()),
        "pods": sum(each["count"] for each in scene["blocks"] if each["kind"] == "pod") or 1,
        "ports_per_leaf": ports // tiers["leaf"]["switches"],
        "parallel": between[0],
    }


def _draw_site(site: dict[str, Any], data: dict[str, Any]) -> list[str]:
    return _draw_plane(site, data) if _is_clos(site) else _draw_equals(site, data)


def count_line(counts: dict[str, int]) -> tuple[str, str]:
    """Return the sizes of a testbed as a fact."""
    named = [("accelerator", "accelerators"), ("host", "hosts"), ("nic", "NICs")]
    named += [("switch", "switches"), ("link", "cables")]
    inside = [("cpu", "host processors"), ("scale_up_switch", "scale-up switches")]
    named += [each for each in [*inside, ("scale_up_link", "bundles")] if counts[each[0]]]
    return "size", ", ".join(f"{counts[key]:,} {text}" for key, text in named)


def _facts(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    planes = data["planes"]
    facts = [count_line(data["counts"])]
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
    for names, site in _alike(data["sites"]):
        if site["paths"] and site["paths"][0]["diameter"]:
            facts.append((f"paths{_at(names, data)}", paths_line(site["paths"][0])))
    return tuple(facts)


def _at(names: list[str], data: dict[str, Any]) -> str:
    """Name the sites a line is about, where it is not about all."""
    return "" if len(names) == len(data["sites"]) else f" of {', '.join(names)}"


def _supernode(supernode: dict[str, Any]) -> str:
    rate = _quantity(supernode["scale_up_rate"], format_rate)
    delay = _quantity(supernode["scale_up_delay"], format_time)
    count = many(supernode["count"], "supernode")
    text = f"{count} of {many(supernode['accelerators'], 'accelerator')}"
    if supernode["cpus"]:
        text += f" and {supernode['cpus']} host processors"
    if supernode["switches"]:
        text += f" on {many(supernode['switches'], 'switch')}"
    if supernode["upper_switches"]:
        text += f" below {supernode['upper_switches']} upper ones"
    return f"{text}; scale-up rate {rate}, delay {delay}"


def _host(site: dict[str, Any], data: dict[str, Any]) -> str:
    host = site["host"]
    if not host["nics"]:
        return many(host["accelerators"], "accelerator")
    rate = site["layers"][0]["rate"]
    split = data["planes"]["form"] == "nic-split" and data["planes"]["count"] > 1
    ports = f"{data['planes']['count']} x " if split else ""
    nics = f"{many(host['nics'], 'NIC')} of {ports}{_quantity(rate, format_rate)}"
    return f"{many(host['accelerators'], 'accelerator')}, {nics}"


def many(count: int, noun: str) -> str:
    """Write a count with its noun."""
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
        fan = many(site["ports_per_leaf"], "NIC port")
        lines.append(f"  below each  {fan}")
    else:
        lines.append(f"  routers     {many(site['accelerators'], 'accelerator')}, no switches")
    for layer in site["layers"]:
        each = f"{layer['cables'] // planes:,} cables"
        lines.append(f"  {layer['layer']}: {each}, {_cable(layer)}")
    return lines


def _draw_sites(data: dict[str, Any], scene: dict[str, Any] | None) -> str:
    """Draw each trunk (of a scene) between boxes of its two sites."""
    sites = {site["name"]: site for site in data["sites"]}
    names = {record["id"]: record["name"] for record in scene["blocks"]} if scene else {}
    wanted = [
        {names.get(bundle["a"]), names.get(bundle["b"])}
        for bundle in (scene["bundles"] if scene else ())
    ]
    drawings = []
    for trunk in data["trunks"]:
        if scene and set(trunk["between"]) not in wanted:
            continue
        left, right = (_site_box(sites[name], data) for name in trunk["between"])
        length = _quantity(trunk["length"], format_length)
        delay = _quantity(trunk["delay"], format_time)
        capacity = _quantity(trunk["capacity"], format_rate)
        above = f"{length}, {delay} one way"
        if trunk["amplifiers"]:
            above += f", {many(trunk['amplifiers'], 'amplifier')}"
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
        many(site["accelerators"], "accelerator"),
        f"{many(site['hosts'], 'host')}, {many(data['planes']['count'], 'plane')}",
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
        f"{_quantity(layer['rate'], format_rate)}"
        for layer in site["layers"]
    ]
    rows: list[tuple[str, str]] = []
    if site["trunk_narrowing"] is not None:
        top = "core" if "core" in tiers else "spine"
        rows.append((_stubs(in_pod[top], cell), f"trunks, narrowing {site['trunk_narrowing']}"))
    if "core" in tiers:
        per_spine = tiers["core"]["switches"] // in_pod["spine"]
        rows.append((_boxes("core", in_pod["core"], cell), _ports(tiers["core"])))
        rows.append((_stubs(in_pod["core"], cell), f"each spine to {per_spine} cores of its own"))
        rows.append((_bus(in_pod["core"], in_pod["spine"], cell), figures[2]))
        rows.append((_frame(f" pod-{_padded(0, pods)} ", cell), f"one of {pods} pods"))
    rows.append((_boxes("spine", in_pod["spine"], cell), _ports(tiers["spine"])))
    each = f"{many(site['parallel'], 'cable')} per leaf and spine"
    rows.append((_stubs(in_pod["spine"], cell), each))
    rows.append((_bus(in_pod["spine"], in_pod["leaf"], cell), figures[1]))
    rows.append((_stubs(in_pod["leaf"], cell), ""))
    rows.append((_boxes("leaf", in_pod["leaf"], cell), _ports(tiers["leaf"])))
    if pods > 1:
        rows.append((_frame("", cell), ""))
    fan = many(site["ports_per_leaf"], "NIC port")
    rows.append((_fans(in_pod["leaf"], cell), f"{fan} below each:"))
    rows.append(("", figures[0]))
    width = max(len(art) for art, _ in rows)
    return [f"  {art.ljust(width)}   {label}".rstrip() for art, label in rows]


def _padded(number: int, count: int) -> str:
    return f"{number:0{len(str(count - 1))}d}"


def _switch(tier: str, number: int, count: int) -> str:
    return f"[{tier}-{_padded(number, count)}]"


def _ports(tier: dict[str, Any]) -> str:
    of = "" if tier["radix"] is None else f" of {tier['radix']}"
    return f"{many(tier['switches'], tier['tier'])}, {tier['ports_used']}{of} ports used"


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
    return f"{layer['layer']}, {numbered('plane', layer['planes'])}"


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
    if len(data["sites"]) == 1:  # nothing to tell apart
        header, rows = header.removeprefix("site | "), [row[1:] for row in rows]
    note = "all planes of a site together; narrowing is what comes from below over what goes on"
    return table("Cables", header, rows, note)
