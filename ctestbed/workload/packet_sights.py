"""From what the packet engine wrote down to series over time and trees of pauses."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from ctestbed.core.result import Finding
from ctestbed.core.units import PS_PER_SECOND, format_time
from ctestbed.topology.graph import NodeKind, Topology
from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.workload.packet_findings import ends_of
from ctestbed.workload.packets import PacketTransfer
from ctestbed.workload.sights import PauseData, PauseTreeData, PauseTreesData, SeriesData

LONGEST: Final = 8
"""Links shown over time for their queues; `MOST_HELD` more for being held back."""
MOST_HELD: Final = 4
SHOWN_TREES: Final = 16
SHOWN_PAUSES: Final = 200

Spot: TypeAlias = tuple[int, int]
"""A directed link and a class."""


def series_of(topology: Topology, run: PacketTransfer) -> SeriesData | None:
    """Return the run over time; None where nobody looked, or it was over before the first look."""
    sights = run.outcome.sights
    if sights is None or not len(sights.all_waiting):
        return None
    times = np.arange(1, len(sights.all_waiting) + 1) * sights.step
    finish = np.sort(run.outcome.finish[run.outcome.finish >= 0])
    came = np.diff(sights.delivered, prepend=0)
    rows = _telling(sights.waiting, sights.held)
    links = run.outcome.ports.links[rows].tolist()
    return {
        "step": sights.step,
        "queued": sights.all_waiting.tolist(),
        "held": sights.all_held.tolist(),
        "goodput": [8 * PS_PER_SECOND * each // sights.step for each in came.tolist()],
        "unfinished": (len(run.flows) - np.searchsorted(finish, times, "right")).tolist(),
        "ports": [
            {
                "link": link,
                "sender": ends_of(topology, link)[0],
                "receiver": ends_of(topology, link)[1],
                "queued": sights.waiting[:, row].tolist(),
                "held": sights.held[:, row].astype(int).tolist(),
            }
            for row, link in zip(rows, links, strict=True)
        ],
    }


def _telling(waiting: np.ndarray, held: np.ndarray) -> list[int]:
    """Return the columns with the longest queues, then of the others those held back most."""
    peaks, counts = waiting.max(axis=0), held.sum(axis=0)
    longest = [row for row in np.argsort(-peaks, kind="stable")[:LONGEST].tolist() if peaks[row]]
    rest = np.argsort(-counts, kind="stable")[: LONGEST + MOST_HELD].tolist()
    others = [row for row in rest if counts[row] and row not in longest]
    return longest + others[:MOST_HELD]


@dataclass(slots=True)
class Tree:
    """The pauses that follow from one: of each its time, its cause, and its depth."""

    root: Spot
    time: int
    storm: bool
    pauses: dict[Spot, tuple[int, Spot | None, int]] = field(default_factory=dict)

    @property
    def links(self) -> int:
        """How many links were paused, the storm's own included."""
        return len({link for link, _ in self.pauses} | {self.root[0]})

    @property
    def depth(self) -> int:
        """How many pauses lie in a row, at most."""
        return max((depth for _, _, depth in self.pauses.values()), default=1)


def trees_of(run: PacketTransfer) -> list[Tree]:
    """Return the trees of first pauses, the largest first.

    A pause is caused by that of a link out of its node, behind which what came in was waiting; it
    began later than that one, so following causes comes to an end: at a link that nobody had
    paused, only filled too fast, or at one that a storm or a blocked receiver held.
    """
    ports = run.outcome.ports
    rows, classes = np.nonzero(ports.first_pause < NEVER)
    time = {
        (int(ports.links[row]), klass): int(ports.first_pause[row, klass])
        for row, klass in zip(rows.tolist(), classes.tolist(), strict=True)
    }
    cause = {
        (int(ports.links[row]), klass): int(ports.cause[row, klass])
        for row, klass in zip(rows.tolist(), classes.tolist(), strict=True)
    }
    storms = _storms(run)
    trees: dict[tuple[Spot, bool], Tree] = {}
    home: dict[Spot, tuple[Tree, int]] = {}
    for spot in sorted(time, key=lambda each: (time[each], each)):
        because = (cause[spot], spot[1]) if cause[spot] >= 0 else None
        if because is not None and time.get(because, NEVER) < time[spot]:
            tree, depth = home[because]
        elif because is not None:
            tree, depth = _tree(trees, because, storms.get(because, 0), storm=True), 1
        else:
            tree, depth = _tree(trees, spot, time[spot], storm=False), 0
        home[spot] = tree, depth + 1
        tree.pauses[spot] = time[spot], because, depth + 1
    return sorted(trees.values(), key=lambda tree: (-tree.links, tree.time, tree.root))


def _tree(trees: dict[tuple[Spot, bool], Tree], root: Spot, time: int, *, storm: bool) -> Tree:
    return trees.setdefault((root, storm), Tree(root, time, storm))


def _storms(run: PacketTransfer) -> dict[Spot, int]:
    """Return when each storm begins, by link and class."""
    found: dict[Spot, int] = defaultdict(lambda: NEVER)
    harm = run.settings.harm
    for link, klass, begin, _ in [] if harm is None else harm.storms.tolist():
        for each in range(run.settings.classes) if klass < 0 else [klass]:
            found[link, each] = min(found[link, each], begin)
    return found


def _hosts(topology: Topology, links: set[int]) -> int:
    """Count the hosts' ends among the senders of links."""
    senders = {_ends(topology, link)[0] for link in links}
    return sum(int(topology.nodes.kind[node]) <= NodeKind.NIC for node in senders)


def _ends(topology: Topology, link: int) -> tuple[int, int]:
    ends = int(topology.links.a[link // 2]), int(topology.links.b[link // 2])
    return ends if link % 2 == 0 else ends[::-1]


def pauses_of(topology: Topology, trees: list[Tree]) -> PauseTreesData | None:
    """Describe the trees; None where nobody paused anybody."""
    if not trees:
        return None
    every = {link for tree in trees for link, _ in [*tree.pauses, tree.root]}
    return {
        "links": len(every),
        "hosts": _hosts(topology, every),
        "roots": len(trees),
        "trees": [_describe(topology, tree) for tree in trees[:SHOWN_TREES]],
        "pauses": _earliest(topology, trees),
    }


def _describe(topology: Topology, tree: Tree) -> PauseTreeData:
    link, klass = tree.root
    sender, receiver = ends_of(topology, link)
    return {
        "link": link,
        "traffic_class": klass,
        "root": receiver,
        "sender": sender,
        "time": tree.time,
        "storm": tree.storm,
        "links": tree.links,
        "hosts": _hosts(topology, {link for link, _ in tree.pauses} | {link}),
        "depth": tree.depth,
    }


def _earliest(topology: Topology, trees: list[Tree]) -> list[PauseData]:
    rows = [(time, spot, because, depth) for tree in trees
            for spot, (time, because, depth) in tree.pauses.items()]  # fmt: skip
    rows.sort(key=lambda row: row[:2])
    return [
        {
            "link": link,
            "traffic_class": klass,
            "sender": ends_of(topology, link)[0],
            "receiver": ends_of(topology, link)[1],
            "time": time,
            "cause": None if because is None else because[0],
            "depth": depth,
        }
        for time, (link, klass), because, depth in rows[:SHOWN_PAUSES]
    ]


def storm_findings(topology: Topology, trees: list[Tree]) -> list[Finding]:
    """Report how far the pauses of each storm reached."""
    found = []
    for tree in trees:
        if tree.storm:
            told = _describe(topology, tree)
            found.append(
                Finding(
                    "CTB-S150",
                    "warning",
                    f"a storm of {told['root']} from {format_time(tree.time)} on paused "
                    f"{told['links']:,} links, {told['hosts']:,} of them of hosts, up to "
                    f"{told['depth']} in a row: the first was that of {told['sender']}",
                    None,
                    "keep the storm from spreading: a --watchdog, or less on one lossless class",
                )
            )
    return found
