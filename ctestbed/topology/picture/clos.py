"""Scenes of Clos planes: the whole plane by its pods, one pod by its switches, one leaf."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ctestbed.topology.capacity import format_narrowing, site_layers
from ctestbed.topology.picture.model import (
    BlockData,
    BundleData,
    CableData,
    SceneData,
    block,
    bundle,
    named,
    padded,
    quantity,
    runs,
)
from ctestbed.topology.shapes import Plan, PlanePlan, Shape, SitePlan, trunk_cables
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, SPINE_CORE

COLUMNS: Final = 6
"""Pods (or rails, or leaves) of a plane that are drawn."""
FEW_COLUMNS: Final = 3
"""The same of planes that differ, to stand side by side."""
SWITCHES: Final = 9
"""Switches drawn in a row of a pod: 81 lines between two rows."""
MAX_CABLES: Final = 4096
"""Cables of a leaf that are listed."""


@dataclass(frozen=True)
class PlaneView:
    """A plane to draw, and the planes and sites that are alike; `site_position` is the first."""

    plan: Plan
    site_position: int
    planned: PlanePlan
    planes: tuple[int, ...]
    sites: tuple[str, ...] = ()
    pod: int | None = None
    leaf: int | None = None

    @property
    def site(self) -> SitePlan:
        """The site it is of."""
        return self.plan.sites[self.site_position]

    @property
    def shape(self) -> Shape:
        """The plane's counts."""
        return self.planned.shape

    @property
    def columns(self) -> int:
        """How many columns there is room for."""
        alone = len(self.planes) == len(self.site.planes) or self.site.alike
        return COLUMNS if alone else FEW_COLUMNS

    @property
    def key(self) -> str:
        """What scenes of this plane are told apart by."""
        return f"s{self.site_position}p{self.planes[0]}"

    @cached_property
    def narrowing(self) -> dict[str, str]:
        """Narrowing by name of the layer."""
        return {
            layer.name: format_narrowing(layer)
            for layer in site_layers(self.plan, self.site_position)
            if layer.planes is None or self.planes[0] in layer.planes
        }

    @cached_property
    def used(self) -> dict[str, int]:
        """Ports used by a switch of each tier."""
        return self.planned.ports_used(trunk_cables(self.plan, self.site_position))

    @property
    def prefix(self) -> str:
        """What names of this plane's switches start with."""
        site = "" if self.plan.anonymous else f"{self.site.name}/"
        count = self.plan.planes
        return site + (f"p{padded(self.planes[0], count)}/" if count > 1 else "")

    def switch(self, kind: str, name: str, count: int, row: int, **more: str | None) -> BlockData:
        """Return a block of switches of a tier."""
        return block(
            f"{name}{'+' if count > 1 else ''}".replace("/", "."),
            kind,
            name,
            count,
            row,
            last=more.get("last"),
            inside=more.get("inside"),
            ports_used=self.used.get(kind),
            radix=self.planned.radix,
        )

    def nic(self, port: int, plane: int | None = None) -> str:
        """Return the name of the NIC at a port of the plane, without its site."""
        site, plan = self.site, self.plan
        number = port if plan.split else port * plan.planes + (plane or self.planes[0])
        host, index = divmod(number, site.nics_per_host)
        return f"h{padded(host, site.hosts)}/nic-{padded(index, site.nics_per_host)}"

    def endpoint(self, port: int) -> str:
        """Return the NIC at a port, or its host alone where that has one NIC."""
        name = self.nic(port)
        return name.partition("/")[0] if self.site.nics_per_host == 1 else name

    def host(self, port: int) -> str | None:
        """Return the host at a port, where it is the same in all planes that are alike."""
        first, last = (self.nic(port, plane) for plane in (self.planes[0], self.planes[-1]))
        name = first.partition("/")[0]
        return name if name == last.partition("/")[0] else None

    def port_of(self, leaf: int, number: int) -> int:
        """Return the plane's port that hangs as the `number`-th under a leaf."""
        shape = self.shape
        group, rail = divmod(leaf, shape.rails)
        return (group * shape.ports_per_leaf + number) * shape.rails + rail

    def ports(self, leaves: range, inside: str, row: int = 0, step: int = 1) -> BlockData:
        """Return the block of the NIC ports below some leaves (every `step`-th of the range)."""
        below = self.shape.ports_per_leaf
        count = len(range(leaves.start, leaves.stop, step)) * below
        final = range(leaves.start, leaves.stop, step)[-1]
        first = self.host(self.port_of(leaves.start, 0))
        last = self.host(self.port_of(final, below - 1))
        name = first if first is not None and last is not None else ""
        until = last if name == first and last != first else None
        return block(f"{inside}.ports", "NIC port", name, count, row, last=until, inside=inside)

    def cables(self, layer: str, ends: tuple[str, str], count: int, each: int = 1) -> BundleData:
        """Return the bundle of some cables of a layer."""
        figures = {
            NIC_LEAF: self.planned.host_cable,
            LEAF_SPINE: self.planned.spine_cable,
            SPINE_CORE: self.planned.core_cable,
        }[layer]
        return bundle(ends, layer, count, figures, narrowing=self.narrowing.get(layer), each=each)

    def scene(self, level: str, title: str, alike: int, note: str) -> SceneData:
        """Return a scene without blocks."""
        made: SceneData = {
            "id": f"{level}-{self.key}",
            "level": level,  # type: ignore[typeddict-item]
            "view": "tiers" if level == "plane" else "links",
            "title": title,
            "sites": list(self.sites),
            "planes": list(self.planes) if self.plan.planes > 1 else None,
            "alike": alike,
            "blocks": [],
            "bundles": [],
            "note": note,
        }
        return made


def clos_scenes(view: PlaneView) -> Iterator[SceneData]:
    """Yield the plane, a pod of it (all of it, where it has no pods), and one leaf."""
    yield plane_scene(view)
    if view.shape.spines:
        yield pod_scene(view)
    yield leaf_scene(view)


def plane_scene(view: PlaneView) -> SceneData:
    """Draw a plane as columns below its top tier: pods, or rails, or leaves."""
    shape = view.shape
    if shape.cores:
        scene = view.scene("plane", "The plane by its pods", len(view.planes), "")
        scene["blocks"].append(_nameless(view.switch("core", "cores", shape.cores, 3)))
        for run in runs(shape.pods, view.columns, view.pod):
            _pod_column(view, scene, run)
    elif shape.rails > 1:
        scene = view.scene("plane", "The plane by its rails", len(view.planes), "")
        scene["blocks"].append(_nameless(view.switch("spine", "spines", shape.spines, 2)))
        for run in runs(shape.rails, view.columns + 2):
            _rail_column(view, scene, run)
    else:
        scene = view.scene("plane", "The plane by its leaves", len(view.planes), "")
        if shape.spines:
            scene["blocks"].append(_nameless(view.switch("spine", "spines", shape.spines, 2)))
        for run in runs(shape.leaves, view.columns, view.leaf):
            _leaf_column(view, scene, run)
    return scene


def _pod_column(view: PlaneView, scene: SceneData, run: range) -> None:
    shape, count = view.shape, len(run)
    name, last = named("pod-", run, shape.pods)
    spines, leaves = shape.spines_per_pod * count, shape.leaves_per_pod * count
    top, to_cores = scene["blocks"][0]["id"], spines * shape.cores_per_spine
    upper = _nameless(view.switch("spine", f"{name}.spines", spines, 2, inside=name))
    lower = _nameless(view.switch("leaf", f"{name}.leaves", leaves, 1, inside=name))
    first = run.start * shape.leaves_per_pod
    ports = view.ports(range(first, first + leaves), name)
    scene["blocks"] += [block(name, "pod", name, count, 2, last=last), upper, lower, ports]
    scene["bundles"] += [
        view.cables(NIC_LEAF, (ports["id"], lower["id"]), ports["count"]),
        view.cables(
            LEAF_SPINE,
            (lower["id"], upper["id"]),
            leaves * shape.spines_per_pod * shape.parallel,
            shape.parallel,
        ),
        view.cables(SPINE_CORE, (upper["id"], top), to_cores),
    ]


def _nameless(record: BlockData) -> BlockData:
    """Return the block of things that are not told apart."""
    return {**record, "name": ""}


def _rail_column(view: PlaneView, scene: SceneData, run: range) -> None:
    shape, count = view.shape, len(run)
    name, last = named("rail-", run, shape.rails)
    leaves = shape.leaves // shape.rails * count
    lower = _nameless(view.switch("leaf", f"{name}.leaves", leaves, 1, inside=name))
    ports = block(f"{name}.ports", "NIC port", "", leaves * shape.ports_per_leaf, 0, inside=name)
    scene["blocks"] += [block(name, "rail", name, count, 1, last=last), lower, ports]
    scene["bundles"] += [
        view.cables(NIC_LEAF, (ports["id"], lower["id"]), ports["count"]),
        view.cables(
            LEAF_SPINE,
            (lower["id"], scene["blocks"][0]["id"]),
            leaves * shape.spines_per_pod * shape.parallel,
            shape.parallel,
        ),
    ]


def _leaf_column(view: PlaneView, scene: SceneData, run: range) -> None:
    shape, count = view.shape, len(run)
    name, last = named("leaf-", run, shape.leaves)
    leaf = view.switch("leaf", name, count, 1, last=last)
    ports = view.ports(run, leaf["id"])
    scene["blocks"] += [leaf, ports]
    scene["bundles"].append(view.cables(NIC_LEAF, (ports["id"], leaf["id"]), ports["count"]))
    if shape.spines:
        up = count * shape.spines_per_pod * shape.parallel
        ends = (leaf["id"], scene["blocks"][0]["id"])
        scene["bundles"].append(view.cables(LEAF_SPINE, ends, up, shape.parallel))


def pod_scene(view: PlaneView) -> SceneData:
    """Draw a pod, leaf by leaf and spine by spine; a plane without pods is one."""
    shape = view.shape
    pod = view.pod or 0
    title = f"Pod {padded(pod, shape.pods)}" if shape.cores else "Leaves and spines"
    scene = view.scene("pod", title, shape.pods, "")
    chosen = None if view.leaf is None else view.leaf % shape.leaves_per_pod
    uppers = [
        (view.switch("spine", first, len(run), 2, last=last), run)
        for run in runs(shape.spines_per_pod, SWITCHES)
        for first, last in [named("spine-", run, shape.spines_per_pod)]
    ]
    for spine, run in uppers:
        if shape.cores:
            cores = range(run.start * shape.cores_per_spine, run.stop * shape.cores_per_spine)
            first, last = named("core-", cores, shape.cores)
            core = view.switch("core", first, len(cores), 3, last=last)
            scene["blocks"].append(core)
            ends = (spine["id"], core["id"])
            scene["bundles"].append(view.cables(SPINE_CORE, ends, len(cores)))
        scene["blocks"].append(spine)
    for run in runs(shape.leaves_per_pod, SWITCHES, chosen):
        first, last = named("leaf-", run, shape.leaves_per_pod)
        leaf = view.switch("leaf", first, len(run), 1, last=last)
        start = pod * shape.leaves_per_pod + run.start
        ports = view.ports(range(start, start + len(run)), leaf["id"])
        scene["blocks"] += [leaf, {**ports, "inside": None}]
        scene["bundles"].append(view.cables(NIC_LEAF, (ports["id"], leaf["id"]), ports["count"]))
        for spine, spine_run in uppers:
            count = len(run) * len(spine_run) * shape.parallel
            ends = (leaf["id"], spine["id"])
            scene["bundles"].append(view.cables(LEAF_SPINE, ends, count, shape.parallel))
    return scene


def leaf_scene(view: PlaneView) -> SceneData:
    """Draw a leaf (of the pod, if one is chosen) with every spine and NIC that it joins."""
    shape = view.shape
    number = _chosen_leaf(view)
    pod, index = divmod(number, shape.leaves_per_pod)
    name = _leaf_name(view, pod, index)
    scene = view.scene("leaf", name, shape.leaves, "")
    leaf = view.switch("leaf", name, 1, 1)
    scene["blocks"].append(leaf)
    for run in runs(shape.spines_per_pod, SWITCHES):
        first, last = named("spine-", run, shape.spines_per_pod)
        spine = view.switch("spine", first, len(run), 2, last=last)
        count = len(run) * shape.parallel
        scene["blocks"].append(spine)
        ends = (leaf["id"], spine["id"])
        scene["bundles"].append(view.cables(LEAF_SPINE, ends, count, shape.parallel))
    for run in runs(shape.ports_per_leaf, SWITCHES):
        first = view.endpoint(view.port_of(number, run.start))
        last = view.endpoint(view.port_of(number, run.stop - 1)) if len(run) > 1 else None
        nic = block(f"nic-{run.start}", "NIC port", first, len(run), 0, last=last)
        scene["blocks"].append(nic)
        scene["bundles"].append(view.cables(NIC_LEAF, (nic["id"], leaf["id"]), len(run)))
    if view.leaf is not None:
        scene["cables"] = list(_leaf_cables(view, number, name))
    return scene


def _chosen_leaf(view: PlaneView) -> int:
    """Return the position of the leaf in its plane: with a pod, `--leaf` counts inside it."""
    shape = view.shape
    return (view.pod or 0) * shape.leaves_per_pod + (view.leaf or 0)


def _leaf_name(view: PlaneView, pod: int, index: int) -> str:
    shape = view.shape
    inside = f"pod-{padded(pod, shape.pods)}/" if shape.cores else ""
    return f"{inside}leaf-{padded(index, shape.leaves_per_pod)}"


def _leaf_cables(view: PlaneView, number: int, name: str) -> Iterator[CableData]:
    """Yield the cables of a leaf, by the ports that the builder gives them."""
    shape, planned = view.shape, view.planned
    site = "" if view.plan.anonymous else f"{view.site.name}/"
    leaf = f"{view.prefix}{name}"
    for below in range(min(shape.ports_per_leaf, MAX_CABLES)):
        nic = f"{site}{view.nic(view.port_of(number, below))}"
        port = view.planes[0] + 1 if view.plan.split else 1
        ends = (f"{nic}:{port}", f"{leaf}:{below + 1}")
        yield {"a": ends[0], "b": ends[1], "rate": quantity(planned.host_cable.rate)}
    pod, index = divmod(number, shape.leaves_per_pod)
    inside = f"pod-{padded(pod, shape.pods)}/" if shape.cores else ""
    for up in range(min(shape.spines_per_pod * shape.parallel, MAX_CABLES)):
        spine, cable = divmod(up, shape.parallel)
        above = f"{view.prefix}{inside}spine-{padded(spine, shape.spines_per_pod)}"
        far = f"{above}:{index * shape.parallel + cable + 1}"
        near = f"{leaf}:{shape.ports_per_leaf + up + 1}"
        yield {"a": near, "b": far, "rate": quantity(planned.spine_cable.rate)}
