"""Receiver credits: a receiver pulls packets, one at a time, as fast as its own link brings them.

A row of `pulls` belongs to a port or, behind those of all ports, to a flow (as its receiver knows
it). What a flow sends first needs no credit; `laws.RCC` says how much that is.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_port import add_control

PS_PER_SECOND = 10**12


@part
def stand_in(pulls, port, row):
    """Let a flow be pulled in its turn, after all that are now."""
    first = pulls[port, at.Y_RING]
    if first < 0:
        pulls[row, at.Y_AFTER] = row
        pulls[row, at.Y_BEFORE] = row
        pulls[port, at.Y_RING] = row
    else:
        last = pulls[first, at.Y_BEFORE]
        pulls[row, at.Y_AFTER] = first
        pulls[row, at.Y_BEFORE] = last
        pulls[last, at.Y_AFTER] = row
        pulls[first, at.Y_BEFORE] = row
    pulls[row, at.Y_STANDS] = 1


@part
def stand_out(pulls, port, row):
    """Let a flow be pulled no more."""
    after, before = pulls[row, at.Y_AFTER], pulls[row, at.Y_BEFORE]
    if after == row:
        pulls[port, at.Y_RING] = -1
    else:
        pulls[before, at.Y_AFTER] = after
        pulls[after, at.Y_BEFORE] = before
        if pulls[port, at.Y_RING] == row:
            pulls[port, at.Y_RING] = after
    pulls[row, at.Y_STANDS] = 0


@indexed_from_zero
@inner
def want(ports, flows, pulls, doors, run, port, now, whose, path, gaps, again):
    """Note at a receiver that a packet came, or its header, and that `gaps` packets did not.

    If it came `again`, its sender may have missed the last credit; that is said once more.
    """
    row = len(ports) + whose
    pulls[row, at.Y_WANTED] += gaps
    if again and pulls[row, at.Y_STANDS] == 0 and pulls[row, at.Y_PULLED] > 0:
        pulls[row, at.Y_PULLED] = min(pulls[row, at.Y_PULLED], pulls[row, at.Y_WANTED] - 1)
    pulls[row, at.Y_PATH] = path
    if flows[whose, at.R_DONE] >= 0:
        if pulls[row, at.Y_STANDS]:
            stand_out(pulls, port, row)
    elif pulls[row, at.Y_STANDS] == 0 and pulls[row, at.Y_PULLED] < pulls[row, at.Y_WANTED]:
        stand_in(pulls, port, row)
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], max(now, pulls[port, at.Y_NEXT]))
        run[at.X_STARTED] = 1


@indexed_from_zero
@inner
def pull(ports, pulls, doors, store, chain, run, settings, port, now):
    """Send the credit that is due at a port, to the flow whose turn it is."""
    row = pulls[port, at.Y_RING]
    if row < 0:
        return
    if pulls[port, at.Y_NEXT] <= now:
        pulls[row, at.Y_PULLED] += 1
        whose = row - len(ports)
        add_control(
            ports, store, chain, run, port, whose << 32 | pulls[row, at.Y_PULLED],
            pulls[row, at.Y_PATH] | at.CNP << 5, now << 16 | settings[at.C_CONTROL],
        )  # fmt: skip
        size = settings[at.C_PAYLOAD] + settings[at.C_HEADER]
        pulls[port, at.Y_NEXT] = now - (-size * 8 * PS_PER_SECOND) // ports[port, at.P_RATE]
        pulls[port, at.Y_RING] = pulls[row, at.Y_AFTER]
        if pulls[row, at.Y_PULLED] >= pulls[row, at.Y_WANTED]:
            stand_out(pulls, port, row)
    if pulls[port, at.Y_RING] >= 0:
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], pulls[port, at.Y_NEXT])


def warm() -> None:
    """Compiled with the kernels that call them."""
