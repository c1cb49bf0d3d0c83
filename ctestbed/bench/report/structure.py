"""How the structure of a fabric looks: hops, paths and halves of each plane, and what hangs on one.

Sites and planes that are alike share a row.
"""

from typing import Any, Final

from ctestbed.bench.report.blocks import Block, cut_rows, merge_sites, table
from ctestbed.bench.report.quantity import show_rate
from ctestbed.core.names import number_runs, numbered

_ROWS: Final = 16
_LOSSES: Final = {"network": "the network", "plane": "a plane", "rail": "a rail", "part": "others"}


def structure_blocks(structure: dict[str, Any] | None) -> list[Block]:
    """Return the blocks of `structure`; none where there is none."""
    if structure is None:
        return []
    blocks: list[Block] = []
    header = "leaves> | hops, most> | hops, mean> | shortest paths> | disjoint paths> | "
    header += "bisection of a plane> | planes | sites"
    planes = structure["planes"]
    several = any(plane["planes"] != [0] for plane in planes)
    rows = merge_sites([(plane["site"], _plane(plane, several=several)) for plane in planes])
    if rows:
        note = "between leaves, fewest-most; paths count cables"
        blocks.append(_cut("Structure", header, rows, note))
    points = [(point["site"], _point(point)) for point in structure["single_points"]]
    if points:
        header = "one lost | hosts lose | hosts exposed> | worst takes> | such as | sites"
        blocks.append(_cut("Single points of failure", header, merge_sites(points), ""))
    return blocks + _sites(structure["sites"])


def narrowing_blocks(layers: list[dict[str, Any]]) -> list[Block]:
    """Return the oversubscription of every layer of cables; none where nothing is above leaves."""
    if all(layer["narrowing"] == "-" for layer in layers if not layer["layer"].startswith("NIC")):
        return []
    rows = [
        (
            layer["site"],
            [
                layer["layer"],
                "" if layer["planes"] is None else number_runs(layer["planes"]),
                f"{layer['cables']:,}",
                show_rate(layer["capacity"]),
                layer["narrowing"],
            ],
        )
        for layer in layers
    ]
    header = "cables | planes | count> | capacity, one way> | narrowing> | sites"
    note = "narrowing is what comes from below over what goes on"
    return [_cut("Oversubscription", header, merge_sites(rows), note)]


def paths_line(paths: dict[str, Any]) -> str:
    """Return what leads from leaf to leaf of a plane, in a line."""
    planes = "" if paths["planes"] is None else f" ({numbered('plane', paths['planes'])})"
    parts = [
        f"at most {paths['diameter']} hop{'s' if paths['diameter'] > 1 else ''} between leaves"
    ]
    ways = [
        f"{_spread(paths[key])} {word}"
        for key, word in (("shortest_paths", "shortest"), ("disjoint_paths", "disjoint"))
        if paths[key] is not None and paths[key]["most"] is not None
    ]
    parts += [f"{' and '.join(ways)} paths"] if ways else []
    parts += [] if paths["fan_out"] is None else [f"{paths['fan_out']:,} next hops"]
    return ", ".join(parts) + planes


def _cut(title: str, header: str, rows: list[list[str]], note: str) -> Block:
    whole, cut = cut_rows(rows, _ROWS)
    columns = [number for number, column in enumerate(zip(*rows, strict=True)) if any(column)]
    names = [name.strip() for name in header.split("|")]
    shown = [[row[number] for number in columns] for row in whole]
    kept = " | ".join(names[number] for number in columns)
    return table(title, kept, shown, "; ".join(part for part in (note, cut) if part))


def _plane(plane: dict[str, Any], *, several: bool) -> list[str]:
    mean = plane["mean_hops"]
    return [
        f"{plane['leaves']:,}",
        str(plane["diameter"]) + ("" if plane["searched"] == plane["leaves"] else " (sampled)"),
        "" if mean is None else f"{mean:.3f}".rstrip("0").rstrip("."),
        _spread(plane["shortest_paths"]),
        _spread(plane["disjoint_paths"]),
        _halves(plane["bisection"]),
        number_runs(plane["planes"]) if several else "",
    ]


def _spread(spread: dict[str, Any] | None) -> str:
    if spread is None:
        return ""
    if spread["most"] is None:
        return f"{spread['fewest']:,}-"
    return "-".join(dict.fromkeys(f"{spread[key]:,}" for key in ("fewest", "most")))


def _halves(bounds: dict[str, Any] | None) -> str:
    if bounds is None:
        return "UNKNOWN"
    ends = [bounds[key] for key in ("at_least", "at_most")]
    if bounds["unit"] == "cables":
        shown = [f"{end:,}" for end in ends]
    else:
        shown = [show_rate(end) for end in ends]
    unit = " cables" if bounds["unit"] == "cables" else ""
    if not ends[0] and ends[1]:
        return f"at most {shown[1]}{unit}"
    return f"{' to '.join(dict.fromkeys(shown))}{unit}"


def _point(point: dict[str, Any]) -> list[str]:
    return [
        point["element"],
        _LOSSES[point["cuts"]],
        f"{point['hosts']:,}",
        f"{point['most']:,}",
        point["examples"][0] if point["examples"] else "any",
    ]


def _sites(sites: dict[str, Any] | None) -> list[Block]:
    if sites is None:
        return []
    counts = [sites["direct"], len(sites["indirect"]), len(sites["apart"])]
    row = [f"{count:,}" for count in counts] + [str(sites["routes_fewest"])]
    header = "pairs with a trunk> | through a third> | apart> | routes, fewest>"
    note = "a protection route counts as a route"
    return [table("Between sites", header, [row], note)]
