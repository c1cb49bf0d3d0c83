"""Scenes of networks without tiers: groups of routers that meet, and grids of accelerators."""

from collections.abc import Iterator, Sequence
from typing import Final

from ctestbed.topology.kinds.dragonfly import DragonflyWiring
from ctestbed.topology.kinds.lattice import FullMeshWiring, TorusWiring
from ctestbed.topology.kinds.slim_fly import MMSWiring
from ctestbed.topology.picture.clos import PlaneView
from ctestbed.topology.picture.model import (
    BlockData,
    BundleData,
    CableData,
    SceneData,
    block,
    bundle,
    even_runs,
    named,
    padded,
    quantity,
    runs,
)
from ctestbed.topology.shapes import Figures
from ctestbed.topology.tiers import NIC_ROUTER

GROUPS: Final = 12
"""Groups, or runs of them, in a ring: 66 bundles between them at most."""
ROUTERS: Final = 9
MOST_PORTS: Final = 1 << 17
"""A group of more global ports is not drawn by itself."""
LOCAL: Final = "router - router, local"
GLOBAL: Final = "router - router, global"


def direct_scenes(view: PlaneView) -> Iterator[SceneData]:
    """Yield the whole of a plane of equals, and one group where there are groups."""
    wiring = view.shape.wiring
    if isinstance(wiring, DragonflyWiring):
        yield _dragonfly(view, wiring)
        if wiring.a * wiring.h <= MOST_PORTS:
            yield _with_cables(view, _dragonfly_group(view, wiring))
    elif isinstance(wiring, MMSWiring):
        yield _slim_fly(view, wiring)
        yield _with_cables(view, _slim_fly_group(view, wiring))
    elif isinstance(wiring, TorusWiring | FullMeshWiring):
        yield _grid(view, wiring)


def _with_cables(view: PlaneView, scene: SceneData) -> SceneData:
    """Add the cables of the router that was asked for, where one was and a graph exists."""
    if view.leaf is not None and view.site.counts_only is None:
        scene["cables"] = list(_router_cables(view))
    return scene


def _router_cables(view: PlaneView) -> Iterator[CableData]:
    """Yield the cables of a router, by the ports that the builder gives them."""
    import numpy as np  # single cables alone need arrays

    shape, wiring = view.shape, view.shape.wiring
    if wiring is None:
        return
    size = shape.leaves_per_pod
    number = (view.pod or 0) * size + (view.leaf or 0)

    def name(router: int) -> str:
        group = f"group-{padded(router // size, shape.pods)}"
        return f"{view.prefix}{group}/router-{padded(router % size, size)}"

    site = "" if view.plan.anonymous else f"{view.site.name}/"
    for below in range(shape.ports_per_leaf):
        nic = f"{site}{view.nic(view.port_of(number, below))}"
        rate = quantity(view.planned.host_cable.rate)
        yield {"a": f"{nic}:1", "b": f"{name(number)}:{below + 1}", "rate": rate}
    a, b, a_port, b_port, layer = wiring.cables()
    rows = np.flatnonzero((a == number) | (b == number))
    columns = (column[rows].tolist() for column in (a, b, a_port, b_port, layer))
    for low, high, low_port, high_port, kind in zip(*columns, strict=True):
        yield {
            "a": f"{name(low)}:{low_port}",
            "b": f"{name(high)}:{high_port}",
            "rate": quantity(view.planned.peer_cables[kind].rate),
        }


def _scene(view: PlaneView, level: str, title: str, alike: int, note: str) -> SceneData:
    scene = view.scene(level, title, alike, note)
    scene["view"] = "ring" if level == "plane" else "links"
    return scene


def _peers(view: PlaneView, layer: str, ends: tuple[str, str], cables: int) -> BundleData:
    return bundle(ends, layer, cables, _figures(view, layer), narrowing=None)


def _figures(view: PlaneView, layer: str) -> Figures:
    wiring = view.shape.wiring
    names = [] if wiring is None else [each.name for each in wiring.layers]
    return view.planned.peer_cables[names.index(layer)]


def _below(view: PlaneView, routers: int, identifier: str) -> tuple[BlockData, BundleData]:
    """Return the NIC ports of some routers, and their cables."""
    count = routers * view.shape.ports_per_leaf
    ports = block(f"{identifier}.ports", "NIC port", "", count, 0, inside=identifier)
    layer = NIC_ROUTER
    cables = bundle(
        (ports["id"], identifier),
        layer,
        count,
        view.planned.host_cable,
        narrowing=view.narrowing.get(layer),
        each=1,
    )
    return ports, cables


def _dragonfly(view: PlaneView, wiring: DragonflyWiring) -> SceneData:
    g, a = wiring.g, wiring.a
    scene = _scene(view, "plane", f"{g:,} groups of {a:,} routers", len(view.planes), "")
    parts = even_runs(g, GROUPS)
    identifiers = []
    for run in parts:
        name, last = named("group-", run, g)
        record = view.switch("router", name, len(run) * a, 1, last=last)
        record["id"] = name + ("+" if len(run) > 1 else "")
        identifiers.append(record["id"])
        ports, below = _below(view, len(run) * a, record["id"])
        scene["blocks"] += [record, ports]
        local = len(run) * (a * (a - 1) // 2)
        scene["bundles"].append(below)
        if local:
            scene["bundles"].append(_peers(view, LOCAL, (record["id"],) * 2, local))
    for i, first in enumerate(parts):
        for j in range(i, len(parts)):
            cables = _run_cables(wiring, first, parts[j]) if g > 1 else 0
            if cables:
                ends = (identifiers[i], identifiers[j])
                scene["bundles"].append(_peers(view, GLOBAL, ends, cables))
    return scene


def _run_cables(wiring: DragonflyWiring, first: range, second: range) -> int:
    """Count the global cables between two runs of groups, or inside one, in closed form."""
    g, (whole, rest) = wiring.g, divmod(wiring.a * wiring.h, wiring.g - 1)

    def apart(low: int, high: int) -> int:
        return _pairs_up_to(first, second, high) - _pairs_up_to(first, second, low - 1)

    near = rest // 2
    cables = whole * apart(1, g - 1) + apart(1, near) + apart(g - near, g - 1)
    return cables + (apart(g // 2, g // 2) if rest % 2 else 0)


def _pairs_up_to(first: range, second: range, most: int) -> int:
    """Count the pairs of one of each run whose difference, second less first, is `most` or less."""
    size = len(second)

    def clamped_sum(last: int) -> int:
        if last <= 0:
            return 0
        inside = min(last, size)
        return inside * (inside + 1) // 2 + max(last - size, 0) * size

    start = first.start + most + 1 - second.start
    return clamped_sum(start + len(first) - 1) - clamped_sum(start - 1)


def _offset(wiring: DragonflyWiring, port: int) -> int:
    """Return how many groups onwards a global port leads, as the wiring has it."""
    others = wiring.g - 1
    total = wiring.a * wiring.h
    whole, rest = total // others * others, total % others
    if port < whole:
        return port % others + 1
    beyond = port - whole
    if rest % 2 and beyond == rest - 1:
        return wiring.g // 2
    step = beyond // 2 + 1
    return step if beyond % 2 == 0 else wiring.g - step


def _dragonfly_group(view: PlaneView, wiring: DragonflyWiring) -> SceneData:
    g, a, h = wiring.g, wiring.a, wiring.h
    group = view.pod or 0
    name = f"group-{padded(group, g)}"
    note = f"Every two routers of the group are joined by a cable: {a * (a - 1) // 2:,} in all."
    scene = _scene(view, "pod", f"Routers of {name}", g, note)
    far: list[tuple[str, range]] = []
    for run in even_runs(g, ROUTERS) if g > 1 else []:
        first, last = named("group-", run, g)
        record = block(f"to.{first}", "group", first, len(run), 2, last=last)
        far.append((record["id"], run))
        scene["blocks"].append(record)
    for run in runs(a, ROUTERS, view.leaf):
        router = _router(view, scene, run, a)
        reached: dict[str, int] = {}
        for port in range(run.start * h, run.stop * h) if g > 1 else ():
            target = (group + _offset(wiring, port)) % g
            end = next(identifier for identifier, groups in far if target in groups)
            reached[end] = reached.get(end, 0) + 1
        for end, cables in reached.items():
            scene["bundles"].append(_peers(view, GLOBAL, (router, end), cables))
    _local(view, scene, "the group", a * (a - 1) // 2)
    return scene


def _router(view: PlaneView, scene: SceneData, run: range, count: int) -> str:
    first, last = named("router-", run, count)
    record = view.switch("router", first, len(run), 1, last=last)
    ports, below = _below(view, len(run), record["id"])
    scene["blocks"] += [record, {**ports, "inside": None}]
    scene["bundles"].append(below)
    return record["id"]


def _local(view: PlaneView, scene: SceneData, name: str, cables: int) -> None:
    """Add the cables among routers of a group, as those of a block that is the group itself."""
    if cables:
        around = block("group", "group", name, 1, 1)
        scene["blocks"].append(around)
        scene["bundles"].append(_peers(view, LOCAL, ("group", "group"), cables))


def _slim_fly(view: PlaneView, wiring: MMSWiring) -> SceneData:
    q = wiring.q
    title = f"Two halves of {q:,} groups of {q:,} routers"
    note = f"Every group has {q:,} cables to each group of the other half."
    scene = _scene(view, "plane", title, len(view.planes), note)
    scene["view"] = "links"
    halves: list[list[tuple[str, range]]] = [[], []]
    for half, found in enumerate(halves):
        for run in runs(q, ROUTERS):
            shifted = range(half * q + run.start, half * q + run.stop)
            name, last = named("group-", shifted, 2 * q)
            record = view.switch("router", name, len(run) * q, 2 + half, last=last)
            record["id"] = name + ("+" if len(run) > 1 else "")
            found.append((record["id"], run))
            ports, below = _below(view, len(run) * q, record["id"])
            ports["row"] = 0
            scene["blocks"] += [record, ports]
            scene["bundles"].append(below)
            local = len(run) * q * wiring.local // 2
            scene["bundles"].append(_peers(view, LOCAL, (record["id"],) * 2, local))
    for lower, some in halves[0]:
        for upper, others in halves[1]:
            cables = len(some) * len(others) * q
            scene["bundles"].append(_peers(view, GLOBAL, (lower, upper), cables))
    return scene


def _slim_fly_group(view: PlaneView, wiring: MMSWiring) -> SceneData:
    q = wiring.q
    group = view.pod or 0
    name = f"group-{padded(group, 2 * q)}"
    local = q * wiring.local // 2
    note = f"{local:,} cables join routers of the group, {wiring.local} at each router."
    scene = _scene(view, "pod", f"Routers of {name}", 2 * q, note)
    other = 0 if group >= q else q
    far = []
    for run in runs(q, ROUTERS):
        first, last = named("group-", range(other + run.start, other + run.stop), 2 * q)
        record = block(f"to.{first}", "group", first, len(run), 2, last=last)
        far.append((record["id"], run))
        scene["blocks"].append(record)
    for run in runs(q, ROUTERS, view.leaf):
        router = _router(view, scene, run, q)
        for end, groups in far:
            cables = len(run) * len(groups)
            scene["bundles"].append(_peers(view, GLOBAL, (router, end), cables))
    _local(view, scene, "the group", local)
    return scene


def _grid(view: PlaneView, wiring: TorusWiring | FullMeshWiring) -> SceneData:
    scene = view.scene("plane", _sides(wiring.dims), 1, _lines(wiring))
    scene["view"] = "grid"
    scene["planes"] = None
    scene["dims"] = list(wiring.dims)
    scene["wrap"] = isinstance(wiring, FullMeshWiring) or wiring.wrap
    grid = block("grid", "accelerator", "", wiring.routers, 0)
    grid["ports_used"], grid["radix"] = wiring.degree, view.planned.radix
    scene["blocks"].append(grid)
    scene["bundles"] += [
        bundle(("grid", "grid"), layer.name, layer.cables, figures, each=1)
        for layer, figures in zip(wiring.layers, view.planned.peer_cables, strict=True)
    ]
    return scene


def _sides(dims: Sequence[int]) -> str:
    return f"A grid of {' x '.join(map(str, dims))} accelerators"


def _lines(wiring: TorusWiring | FullMeshWiring) -> str:
    if isinstance(wiring, FullMeshWiring):
        return "Along every line of every dimension, each accelerator is cabled to all others."
    ends = "closed to rings" if wiring.wrap else "open at their ends"
    return f"Along every line, each accelerator is cabled to the next; lines are {ends}."
