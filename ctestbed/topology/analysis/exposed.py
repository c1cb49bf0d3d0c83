"""Single points of failure as data and findings: what hosts hang on, what parts a fabric."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ctestbed.core.errors import Where
from ctestbed.core.result import Finding, Severity
from ctestbed.topology.analysis.cuts import Parting
from ctestbed.topology.analysis.data import Element, Loss, SinglePoint
from ctestbed.topology.analysis.homing import Exposure, Homing, exposures
from ctestbed.topology.analysis.multigraph import Ints

SHOWN = 3
_WORDS: dict[str, str] = {"leaf": "leaves", "switch": "switches", "scale-up switch": "switches"}


def hanging_points(
    homing: Homing,
    cuts: Loss,
    site: str | None,
    hosts_of: Callable[[Ints], int],
    name: Callable[[int], str],
    leaf_word: Element = "leaf",
) -> list[SinglePoint]:
    """Return what one owner or more hang on alone; `hosts_of` counts the hosts among owners."""
    return [_point(each, cuts, site, hosts_of, name, leaf_word) for each in exposures(homing)]


def _point(
    each: Exposure,
    cuts: Loss,
    site: str | None,
    hosts_of: Callable[[Ints], int],
    name: Callable[[int], str],
    leaf_word: Element,
) -> SinglePoint:
    element: Element = leaf_word if each.element == "leaf" else each.element
    return {
        "site": site,
        "planes": [],
        "element": element,
        "cuts": cuts,
        "hosts": hosts_of(each.exposed),
        "elements": each.elements,
        "most": each.most,
        "examples": [name(leaf) for leaf in each.worst],
    }


def parting_points(
    partings: Sequence[Parting],
    site: str | None,
    planes: list[int],
    name: Callable[[int], str],
    kind: Callable[[int], Element],
) -> list[SinglePoint]:
    """Return what parts hosts from hosts: switches by kind, then lone cables."""
    groups: dict[Element, list[Parting]] = {}
    for parting in partings:
        element: Element = kind(parting.node) if parting.far is None else "cable"
        groups.setdefault(element, []).append(parting)
    points: list[SinglePoint] = []
    for element, group in groups.items():
        worst = sorted(group, key=lambda each: -each.cut_off)
        points.append(
            {
                "site": site,
                "planes": planes,
                "element": element,
                "cuts": "part",
                "hosts": max(each.cut_off for each in group),
                "elements": len(group),
                "most": worst[0].cut_off,
                "examples": [
                    name(each.node) if each.far is None else f"{name(each.node)} - {name(each.far)}"
                    for each in worst[:SHOWN]
                ],
            }
        )
    return points


def findings_of_points(
    points: Iterable[SinglePoint], hosts: int, where: Where | None, severity: Severity
) -> list[Finding]:
    """Return one finding per loss: of the largest element where several would do it."""
    found = []
    by_loss: dict[tuple[str | None, Loss], list[SinglePoint]] = {}
    for point in points:
        by_loss.setdefault((point["site"], point["cuts"]), []).append(point)
    for (_, cuts), group in by_loss.items():
        if cuts == "part":
            found += [_part_finding(point, where, severity) for point in group]
        elif cuts == "network" or not any((group[0]["site"], "network") == k for k in by_loss):
            found.append(_hanging_finding(group, hosts, where))
    return found


def _hanging_finding(group: Sequence[SinglePoint], hosts: int, where: Where | None) -> Finding:
    """Say what hosts hang on alone; uniform over a fabric it is its design, so a note."""
    worst = max(group, key=lambda point: (point["most"], point["hosts"]))
    cuts, element = worst["cuts"], worst["element"]
    lost = {"network": "the network", "plane": "a plane", "rail": "a rail"}.get(cuts, "the rest")
    exposed = max(point["hosts"] for point in group)
    who = f"all {hosts:,} hosts" if exposed == hosts else f"{exposed:,} of {hosts:,} hosts"
    others = [point["element"] for point in group if point is not worst]
    message = f"{who} can lose {lost} by the loss of one {element}"
    message += f" (or of one {' or '.join(others)})" if others else ""
    if worst["most"] > 1:
        message += f"; the worst takes {worst['most']:,} of them"
    if worst["examples"]:
        message += f", such as {worst['examples'][0]}"
    if cuts == "network":
        hint = "a second NIC or port on another leaf keeps a host up: dual ToRs, or more planes"
        return Finding("CTB-T131", "note", message, where, hint)
    hint = f"traffic of that {cuts} must move to the others; see that the transport does that"
    return Finding("CTB-T132", "note", message, where, hint)


def _part_finding(point: SinglePoint, where: Where | None, severity: Severity) -> Finding:
    many = point["elements"]
    such = f" ({', '.join(point['examples'])}{', ...' if many > SHOWN else ''})"
    what = _WORDS.get(point["element"], f"{point['element']}s")
    subject = f"one {point['element']}" if many == 1 else f"any of {many:,} {what}"
    message = f"the loss of {subject}{such} cuts hosts from hosts: {point['most']:,} at worst"
    if point["element"] == "cable":
        hint = "add a parallel cable, or a second way round"
        return Finding("CTB-T134", severity, message, where, hint)
    return Finding("CTB-T133", severity, message, where, "add a second switch beside it")


def distinct(owners: Ints, width: int) -> int:
    """Return how many hosts are among owners numbered `host * width + part`."""
    hosts = owners // max(width, 1)
    return 0 if not len(hosts) else int(1 + (np.diff(np.sort(hosts)) > 0).sum())
