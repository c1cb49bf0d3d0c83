"""Computed pauses: what a long link's receiver says every period, as `computed` describes it."""

from ctestbed.core.jit import indexed_from_zero, inner
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_ingress import reconcile
from ctestbed.transport.packet.kernels_sight import note_first

MEGA = 10**6
QUANTUM_BITS = 512


@indexed_from_zero
@inner
def note_arrival(ahead, doors, run, port, queue, now, size):
    """Count bytes that came in; have the first after a rest answered at once."""
    if ahead[queue, at.G_NEXT] >= at.NEVER:
        ahead[queue, at.G_FLIGHT] = ahead[queue, at.G_FIRST]
        ahead[queue, at.G_NEXT] = now
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], now)
        run[at.X_STARTED] = 1
    ahead[queue, at.G_CAME] += size


@indexed_from_zero
@inner
def compute_pauses(
    ports, queues, nodes, ahead, holds, doors, store, chain, settings, node, port, now
):
    """Grant the next period, or rest where nothing comes, waits, or is held back."""
    for klass in range(settings[at.C_CLASSES]):
        queue = port * settings[at.C_CLASSES] + klass
        if ahead[queue, at.G_NEXT] <= now:
            reconcile(ports, queues, nodes, node, now)
            came = ahead[queue, at.G_CAME]
            flight = ahead[queue, at.G_FLIGHT] - came
            frame = settings[at.C_PAYLOAD] + settings[at.C_HEADER]
            room = queues[queue, at.Q_XOFF] - queues[queue, at.Q_IN] - flight
            grant = min(ahead[queue, at.G_PERIOD], room)
            rate = max(1, ports[port, at.P_RATE] // MEGA)
            pause = 0
            if grant < ahead[queue, at.G_PERIOD]:
                whole = max(0, grant // frame - 1)
                grant = (whole + 1) * frame if whole else 0
                sends = max(0, 2 * whole - 1) * frame * 4 * MEGA // rate
                pause = max(0, settings[at.C_PERIOD] - sends)
            quantum = QUANTUM_BITS * MEGA // rate
            pause = -(-pause // quantum) * quantum
            most = ahead[queue, at.G_FIRST] + ahead[queue, at.G_PERIOD]
            ahead[queue, at.G_FLIGHT] = min(most, flight + grant)
            ahead[queue, at.G_CAME] = 0
            if pause > 0 and ahead[queue, at.G_PAUSE] == 0:
                queues[queue, at.Q_PAUSES] += 1
                note_first(queues, nodes, holds, store, chain, settings, node, port, klass, -1, now)
            ahead[queue, at.G_PAUSE] = pause
            if pause == 0 and came == 0 and queues[queue, at.Q_IN] == 0:
                ahead[queue, at.G_NEXT] = at.NEVER
            else:
                ahead[queue, at.G_NEXT] = now + settings[at.C_PERIOD]
                ports[port, at.P_ASKS] |= 1 << klass
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], ahead[queue, at.G_NEXT])


def warm() -> None:
    """Compiled with the kernels that call them."""
