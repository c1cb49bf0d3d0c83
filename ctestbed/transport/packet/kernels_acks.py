"""Coalesced acknowledgements under selective repeat: one answer for several packets.

What came is kept back until there is enough of it, or until an answer is due at once: with the
flow's last packet, where one is missing, or when the sender asks. `R_UNTOLD` has the lowest number
that was kept back, and how many were. An answer is of a range, or of any among `SPAN` in a row.
"""

from ctestbed.core.jit import indexed_from_zero, inner
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_port import add_control

COUNT = (1 << 32) - 1


@indexed_from_zero
@inner
def stands_alone(flows, marks, settings, flow, number):
    """Tell, before a packet is taken, whether it is answered at once and by itself.

    So it is if it came before, or comes late where nothing overtakes: it was sent again.
    """
    if marks[flows[flow, at.S_BITS] + number] & at.HAVE:
        return True
    return settings[at.C_INORDER] != 0 and number < flows[flow, at.R_SEEN]


@indexed_from_zero
@inner
def keep_back(
    ports, flows, marks, store, chain, run, settings, port, flow, first, number, alone, urgent,
    path, stamp,
):  # fmt: skip
    """Answer for packet `number`, and those from `first` on that are missing before it.

    Returns how many answers wait to be sent.
    """
    answers = number - first
    for each in range(first, number):
        add_control(ports, store, chain, run, port, flow << 32 | each, path | at.NAK << 5, stamp)
    if alone:
        add_control(ports, store, chain, run, port, flow << 32 | number, path | at.ACK << 5, stamp)
        return answers + 1
    bits = flows[flow, at.S_BITS]
    marks[bits + number] |= at.UNTOLD
    lowest, untold = number, (flows[flow, at.R_UNTOLD] & COUNT) + 1
    if untold > 1:
        lowest = min(lowest, flows[flow, at.R_UNTOLD] >> 32)
    last = number + 1 == flows[flow, at.S_TOTAL] or flows[flow, at.R_DONE] >= 0
    if untold < settings[at.C_ACK_EVERY] and not (urgent or last or answers > 0):
        flows[flow, at.R_UNTOLD] = lowest << 32 | untold
        return 0
    flows[flow, at.R_UNTOLD] = 0
    first = bits + lowest
    while untold > 0:
        if marks[first] & at.UNTOLD == 0:
            first += 1
            continue
        end = first
        while end - first < untold and marks[end] & at.UNTOLD:
            end += 1
        if end - first > at.SPAN:
            which, more = end - 1 - bits, at.RANGE | (end - 1 - first)
        else:
            which, more, end = first - bits, 0, first + at.SPAN
        each = first
        while untold > 0 and each < end:
            if marks[each] & at.UNTOLD:
                marks[each] ^= at.UNTOLD
                untold -= 1
                if more & at.RANGE == 0 and each > first:
                    more |= 1 << (each - first - 1)
            each += 1
        place = path | at.ACK << 5 | more << 8
        add_control(ports, store, chain, run, port, flow << 32 | which, place, stamp)
        answers += 1
        first = end
    return answers


def warm() -> None:
    """Compiled with the kernels that call them."""
