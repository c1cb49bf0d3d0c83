"""Erasure codes in plain Python: groups of packets, enough of which stand for all."""

from ctestbed.transport.packet.reference_state import Flow


def groups_of(data: int, code: tuple[int, int]) -> int:
    """Return how many groups so many data packets make, 0 without a code."""
    return -(-data // code[0]) if code[0] else 0


def groups_in(flow: Flow, code: tuple[int, int]) -> int:
    """Return how many groups a flow has."""
    return -(-flow.packets // sum(code))


def enough(flow: Flow, code: tuple[int, int], group: int) -> int:
    """Return how many packets of a group make it whole: the last may have fewer data."""
    return min(code[0], flow.packets - group * sum(code) - code[1])


def whole(flow: Flow, code: tuple[int, int], *, known: bool) -> bool:
    """Whether all groups of a flow have come, or are known by its sender to have."""
    counts = flow.heard if known else flow.came
    groups = range(groups_in(flow, code))
    return all(counts[group] >= enough(flow, code, group) for group in groups)


def is_short(flow: Flow, code: tuple[int, int], number: int) -> bool:
    """Whether the receiver lacks something of the group of packet `number`."""
    group = number // sum(code)
    return flow.came[group] < enough(flow, code, group)


def lacking(flow: Flow, code: tuple[int, int], number: int) -> list[int]:
    """Return what each group lacks that has ended with packet `number`, which has just come."""
    seen, size = flow.seen, sum(code)
    if number < seen:
        return []
    flow.seen = number + 1
    last = number + 1 == flow.packets
    after = groups_in(flow, code) if last else (number + 1) // size
    asked: list[int] = []
    for group in range(seen // size, after):
        lacks = enough(flow, code, group) - flow.came[group]
        absent = (n for n in range(group * size, (group + 1) * size) if n not in flow.have)
        asked += [each for each, _ in zip(absent, range(lacks), strict=False)]
    return asked


def know(flow: Flow, code: tuple[int, int], number: int) -> None:
    """Count an acknowledged packet at its sender; of a group that is whole, forget the others."""
    size = sum(code)
    group = number // size
    flow.heard[group] += 1
    if flow.heard[group] == enough(flow, code, group):
        for each in range(group * size, min((group + 1) * size, flow.following)):
            if each not in flow.known:
                flow.known.add(each)
                flow.repair.discard(each)
                flow.acked += 1
