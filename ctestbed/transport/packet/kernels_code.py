"""Erasure codes: groups of packets of which any as many as there are data packets are enough.

The numbers of a flow run through its groups, data first; the last group may have fewer data. What
came of a group is counted behind the flow's bytes in `marks`: first by its receiver, a byte for
each group, then by its sender.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_port import add_control


@part
def groups_of(flows, settings, flow):
    """Return how many groups a flow has."""
    return -(-flows[flow, at.S_TOTAL] // (settings[at.C_DATA] + settings[at.C_PARITY]))


@part
def enough(flows, settings, flow, group):
    """Return how many packets of a group make it whole."""
    size = settings[at.C_DATA] + settings[at.C_PARITY]
    left = flows[flow, at.S_TOTAL] - group * size - settings[at.C_PARITY]
    return min(settings[at.C_DATA], left)


@indexed_from_zero
@inner
def receive_coded(flows, marks, run, settings, now, flow, number):
    """Take a packet at its receiver; the flow is there when all of its groups are whole.

    Returns 1 if its group needed it.
    """
    needed = 0
    place = flows[flow, at.S_BITS] + number
    if marks[place] & at.HAVE == 0:
        marks[place] |= at.HAVE
        group = number // (settings[at.C_DATA] + settings[at.C_PARITY])
        count = flows[flow, at.S_BITS] + flows[flow, at.S_TOTAL] + group
        marks[count] += 1
        lacked = enough(flows, settings, flow, group)
        if marks[count] <= lacked:
            needed = 1
        if marks[count] == lacked:
            flows[flow, at.R_COUNT] += 1
            if flows[flow, at.R_COUNT] == groups_of(flows, settings, flow):
                flows[flow, at.R_DONE] = now
                run[at.X_DONE] = 2 * flow + 2
    return needed


@indexed_from_zero
@inner
def report_groups(
    ports, flows, marks, store, chain, run, settings, port, flow, number, path, stamp
):
    """Ask again for what each group lacks that has ended with packet `number`; return how many.

    It is looked at once, when its last packet or one of a later group comes in order.
    """
    seen = flows[flow, at.R_SEEN]
    if number < seen:
        return 0
    flows[flow, at.R_SEEN] = number + 1
    size = settings[at.C_DATA] + settings[at.C_PARITY]
    total = flows[flow, at.S_TOTAL]
    after = groups_of(flows, settings, flow) if number + 1 == total else (number + 1) // size
    asked = 0
    for group in range(seen // size, after):
        lacks = enough(flows, settings, flow, group)
        lacks -= marks[flows[flow, at.S_BITS] + total + group]
        each = group * size
        while lacks > 0:
            if marks[flows[flow, at.S_BITS] + each] & at.HAVE == 0:
                add_control(
                    ports, store, chain, run, port, flow << 32 | each, path | at.NAK << 5, stamp
                )
                lacks -= 1
                asked += 1
            each += 1
    return asked


@indexed_from_zero
@inner
def know_group(flows, marks, settings, flow, number):
    """Count an acknowledged packet at its sender; of a group that is whole, forget the others.

    Returns True if all groups are.
    """
    size = settings[at.C_DATA] + settings[at.C_PARITY]
    group = number // size
    first = flows[flow, at.S_BITS]
    groups = groups_of(flows, settings, flow)
    count = first + flows[flow, at.S_TOTAL] + groups + group
    marks[count] += 1
    if marks[count] == enough(flows, settings, flow, group):
        flows[flow, at.S_WHOLE] += 1
        for each in range(group * size, min((group + 1) * size, flows[flow, at.S_NEXT])):
            if marks[first + each] & at.KNOWN == 0:
                if marks[first + each] & at.LACKS:
                    flows[flow, at.S_REPAIR] -= 1
                marks[first + each] = marks[first + each] & (at.HAVE | at.UNTOLD) | at.KNOWN
                flows[flow, at.S_ACKED] += 1
    return flows[flow, at.S_WHOLE] == groups


def warm() -> None:
    """Compiled with the kernels that call them."""
