"""The layer between two tiers: which switches belong together, and by how many cables a pair.

A regular layer falls into groups (pods, planes), each a full mesh of its lower and upper switches
with as many parallel cables in every pair. The usual number is taken for the intended one.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

FULL: Final = 0.7
"""A group is a full mesh where so large a share of its pairs has a cable."""
FIRM: Final = 0.5
"""The usual count decides where more than this share of the pairs has it."""
SETTLE: Final = 4

Pair = tuple[int, int]


@dataclass(frozen=True)
class Group:
    """Switches of two tiers that belong together, and the cables of each pair (lower, upper)."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    pairs: dict[Pair, int]
    parallel: int
    """Usual cables of a pair; 0 where none is usual enough to judge by."""

    @property
    def complete(self) -> bool:
        """Return whether it is a full mesh, but for a few pairs."""
        inside = len(self.lower) * len(self.upper)
        return self.parallel > 0 and len(self.pairs) >= FULL * inside

    def expected(self) -> dict[Pair, int]:
        """Return the cables that each pair should have."""
        if not self.complete:
            return dict(self.pairs)
        return {(low, up): self.parallel for low in self.lower for up in self.upper}


@dataclass(frozen=True)
class Layer:
    """All groups between a tier and the next, and the cables that run between groups."""

    tier: int
    groups: tuple[Group, ...]
    strays: dict[Pair, int]

    @property
    def complete(self) -> bool:
        """Return whether every group is a full mesh."""
        return bool(self.groups) and all(group.complete for group in self.groups)

    def votes(self) -> tuple[int, int, int]:
        """Return the usual cables of a pair, and how many pairs are for and against it."""
        counts = Counter(count for group in self.groups for count in group_counts(group))
        if not counts:
            return 0, 0, 0
        usual = most_common(counts)
        return usual, counts[usual], counts.total() - counts[usual]


def group_counts(group: Group) -> list[int]:
    """Return the cables of every pair inside a group, 0 of those without."""
    if not group.complete:
        return list(group.pairs.values())
    return [group.pairs.get(pair, 0) for pair in group.expected()]


def most_common(counts: Counter[int]) -> int:
    """Return the commonest value, of equally common ones the largest: cables are lost, not won."""
    return max(counts, key=lambda value: (counts[value], value))


def find_layer(
    tier: int,
    lower: Sequence[int],
    upper: Sequence[int],
    pairs: dict[Pair, int],
    parallel: int | None = None,
) -> Layer:
    """Find the groups of a layer. `parallel` is the number of cables a pair where it is known."""
    group_of = cluster(lower, upper, pairs)
    inside: dict[int, dict[Pair, int]] = defaultdict(dict)
    strays: dict[Pair, int] = {}
    for pair, count in pairs.items():
        if group_of[pair[0]] == group_of[pair[1]]:
            inside[group_of[pair[0]]][pair] = count
        else:
            strays[pair] = count
    everywhere = Counter(count for found in inside.values() for count in found.values())
    members: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, switches in enumerate((lower, upper)):
        for switch in switches:
            members[group_of[switch]][side].append(switch)
    groups = []
    for number in sorted(members):
        counts = Counter(inside[number].values())
        usual = parallel or _usual(counts, everywhere)
        lows, ups = members[number]
        if lows and ups:
            groups.append(Group(tuple(lows), tuple(ups), inside[number], usual))
    return Layer(tier, tuple(groups), strays)


def _usual(counts: Counter[int], everywhere: Counter[int]) -> int:
    """Return the usual cables of a pair in a group, or else of the layer; 0 if none is."""
    for options, least in ((counts, SETTLE), (everywhere, 1)):
        if options.total() >= least:
            value = most_common(options)
            if options[value] > FIRM * options.total():
                return value
    return 0


def cluster(lower: Sequence[int], upper: Sequence[int], pairs: dict[Pair, int]) -> dict[int, int]:
    """Group the nodes of two sides by whom they are mostly joined to.

    Unlike connected parts, groups survive a cable between them. A node without cables joins the
    one group there is, or stays alone.
    """
    near: dict[int, list[int]] = defaultdict(list)
    for low, up in pairs:
        near[low].append(up)
        near[up].append(low)
    group = _first_groups(lower, near)
    for _ in range(SETTLE):
        before = dict(group)
        for side in (upper, lower):
            for node in side:
                votes = Counter(group[other] for other in near[node])
                if votes:
                    group[node] = _winner(votes)
        if group == before:
            break
    used = {group[node] for node in lower if near[node]}
    lonely = [node for node in (*lower, *upper) if not near[node]]
    fresh = max(group.values(), default=0) + 1
    for number, node in enumerate(lonely):
        group[node] = next(iter(used)) if len(used) == 1 else fresh + number
    return group


def _winner(votes: Counter[int]) -> int:
    return max(votes, key=lambda number: (votes[number], -number))


def _first_groups(lower: Sequence[int], near: dict[int, list[int]]) -> dict[int, int]:
    """Let each lower node join the group that holds most of its neighbours, or found one."""
    group: dict[int, int] = {}
    made = 0
    for low in sorted(lower, key=lambda node: -len(near[node])):
        votes = Counter(group[up] for up in near[low] if up in group)
        best = _winner(votes) if votes else -1
        if best < 0 or 2 * votes[best] <= len(near[low]):
            best = made
            made += 1
        group[low] = best
        for up in near[low]:
            group.setdefault(up, best)
    return group
