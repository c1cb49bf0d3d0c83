"""From a plan to its picture: the scenes to draw, or those of what was asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import did_you_mean
from ctestbed.topology.picture.clos import PlaneView, clos_scenes
from ctestbed.topology.picture.direct import direct_scenes
from ctestbed.topology.picture.model import PictureData, SceneData
from ctestbed.topology.picture.scale_up import supernode_scene
from ctestbed.topology.picture.sites import sites_scene
from ctestbed.topology.shapes import Plan, PlanePlan, SitePlan, trunk_cables


@dataclass(frozen=True, slots=True)
class Focus:
    """What a picture is asked to be of: a site, a plane, a pod (or group), a leaf (or router).

    `leaf` counts in its pod, and in its plane where that has no pods.
    """

    site: str | None = None
    plane: int | None = None
    pod: int | None = None
    leaf: int | None = None


EVERYTHING: Final = Focus()
MAX_GROUPS: Final = 16
"""Sites, or planes of one, that differ in more than their names, and are drawn unasked."""


def picture_of(plan: Plan, focus: Focus = EVERYTHING) -> PictureData:
    """Return the scenes of a plan, from far to near.

    Raises:
        InputError: there is no such site, plane, pod or leaf.
    """
    sites = _chosen_sites(plan, focus)
    scenes: list[SceneData] = []
    near = focus.pod is not None or focus.leaf is not None
    if len(plan.sites) > 1 and not near:
        scenes.append(sites_scene(plan, focus.site, focus.plane))
    groups = _alike_sites(plan, sites)
    for position, names in groups[:MAX_GROUPS]:
        scenes += _site_scenes(plan, position, names, focus)
    return {
        "focus": {
            "site": focus.site,
            "plane": focus.plane,
            "pod": focus.pod,
            "leaf": focus.leaf,
        },
        "scenes": scenes,
    }


def _chosen_sites(plan: Plan, focus: Focus) -> list[int]:
    names = [site.name for site in plan.sites]
    if focus.site is None:
        return list(range(len(names)))
    if focus.site not in names or plan.anonymous:
        what = "names no site" if plan.anonymous else f"has no site {focus.site[:80]!r}"
        hint = "leave `--site` out" if plan.anonymous else did_you_mean(focus.site[:80], names)
        raise InputError("CTB-T116", f"{plan.name} {what}", hint=hint)
    return [names.index(focus.site)]


def _alike_sites(plan: Plan, positions: list[int]) -> list[tuple[int, list[str]]]:
    """Group sites that differ in their names alone: the first one's position, and all names."""
    groups: dict[object, tuple[int, list[str]]] = {}
    for position in positions:
        site = plan.sites[position]
        key = (
            replace(site, name="", path=()),
            trunk_cables(plan, position),
        )
        _, names = groups.setdefault(key, (position, []))
        if not plan.anonymous:
            names.append(site.name)
    return list(groups.values())


def _site_scenes(plan: Plan, position: int, names: list[str], focus: Focus) -> Iterator[SceneData]:
    site = plan.sites[position]
    where = "" if plan.anonymous else f" of site {site.name!r}"
    groups = _chosen_planes(site, focus, where)
    left = sum(len(planes) for _, planes in groups[MAX_GROUPS:])
    for number, (planned, planes) in enumerate(groups[:MAX_GROUPS], 1):
        _check(planned, focus, f"a plane{where}")
        view = PlaneView(
            plan, position, planned, tuple(planes), tuple(names), focus.pod, focus.leaf
        )
        direct = planned.shape.wiring is not None
        found = direct_scenes(view) if direct else iter(())
        if planned.shape.wiring is None and planned.shape.leaves:
            found = clos_scenes(view)
        for scene in found:
            if left and number == MAX_GROUPS and scene["level"] == "plane":
                scene["note"] += f"{left} more planes differ; look at one by its number."
            if _near_enough(scene, focus, direct=direct):
                yield scene
    inside = supernode_scene(plan, position, names)
    if inside is not None and focus.pod is None and focus.leaf is None:
        yield inside


def _near_enough(scene: SceneData, focus: Focus, *, direct: bool) -> bool:
    """Leave the far scenes out where something near was asked for."""
    if focus.leaf is not None:
        return scene["level"] == "leaf" or (direct and scene["level"] == "pod")
    return focus.pod is None or scene["level"] in {"pod", "leaf"}


def _chosen_planes(site: SitePlan, focus: Focus, where: str) -> list[tuple[PlanePlan, list[int]]]:
    if focus.plane is None:
        return site.planes_alike()
    count = len(site.planes)
    if focus.plane >= count:
        _refuse("plane", focus.plane, count, f"the fabric{where}")
    return [(site.planes[focus.plane], [focus.plane])]


def _check(planned: PlanePlan, focus: Focus, place: str) -> None:
    """Refuse a pod or leaf that there is not.

    Raises:
        InputError: there is no such one.
    """
    shape = planned.shape
    word, member = ("group", "router") if shape.wiring is not None else ("pod", "leaf")
    if focus.pod is not None and focus.pod >= shape.pods * (1 if shape.leaves else 0):
        _refuse(word, focus.pod, shape.pods if shape.leaves else 0, place)
    if focus.leaf is not None and focus.leaf >= shape.leaves_per_pod:
        many = shape.pods > 1
        _refuse(member, focus.leaf, shape.leaves_per_pod, f"a {word}" if many else place)


def _refuse(word: str, number: int, count: int, place: str) -> None:
    hint = f"they count from 0 to {count - 1}" if count else "leave the option out"
    plural = {"leaf": "leaves"}.get(word, f"{word}s")
    what = f"there is no {word} {number}: {place} has {count:,} {plural if count != 1 else word}"
    raise InputError("CTB-T116", what, hint=hint)
