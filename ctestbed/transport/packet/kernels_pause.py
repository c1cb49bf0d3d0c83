"""Pauses at the port that hears them, and its watchdog: what it makes of one that does not end.

A watchdog of a class barks when the class has been paused for `C_WATCHDOG` without a break. From
then on, until no pause has held for `C_RESTORE`, what waits for the port and what comes for it is
dropped, or pauses are ignored (`C_IGNORES`).
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_ingress import release
from ctestbed.transport.packet.kernels_port import lower_wake
from ctestbed.transport.packet.kernels_store import drop_head


@indexed_from_zero
@inner
def heed(queues, doors, guards, run, settings, port, now, order, lasts):
    """Take a pause frame: classes in `order >> 32` hear, those in `order` must stop.

    For `lasts` ps, or, if that is 0, for as long as all pauses of the run.
    """
    for klass in range(settings[at.C_CLASSES]):
        if order >> 32 >> klass & 1 == 0:
            continue
        queue = port * settings[at.C_CLASSES] + klass
        stop = order >> klass & 1
        span = lasts or doors[port, at.A_SPAN]
        ends = now + settings[at.C_RESPONSE] + span if span else at.NEVER
        if settings[at.C_WATCHDOG]:
            restored(queues, guards, settings, queue, now)
            if guards[queue, at.B_ON] and settings[at.C_IGNORES]:
                guards[queue, at.B_END] = ends if stop else now
                continue
        if stop == 0 or queues[queue, at.Q_UNTIL] <= now:
            ended = min(now, queues[queue, at.Q_UNTIL]) - queues[queue, at.Q_PAUSED]
            queues[queue, at.Q_PAUSE_TIME] += max(0, ended)
            queues[queue, at.Q_PAUSED] = now + settings[at.C_RESPONSE]
            queues[queue, at.Q_UNTIL] = now
        if stop:
            queues[queue, at.Q_UNTIL] = ends
            if (
                settings[at.C_WATCHDOG]
                and guards[queue, at.B_ON] == 0
                and guards[queue, at.B_AT] == at.NEVER
            ):
                late = queues[queue, at.Q_PAUSED] + settings[at.C_WATCHDOG]
                guards[queue, at.B_AT] = late
                doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], late)
                run[at.X_STARTED] = 1


@part
def restored(queues, guards, settings, queue, now):
    """Let a class be as before if its storm has been over for long enough."""
    if guards[queue, at.B_ON]:
        ends = guards[queue, at.B_END] if settings[at.C_IGNORES] else queues[queue, at.Q_UNTIL]
        if now >= ends + settings[at.C_RESTORE]:
            guards[queue, at.B_ON] = 0


@indexed_from_zero
@inner
def discards(queues, guards, run, settings, queue, now):
    """Tell whether a watchdog drops what comes to leave by a class now, and count it."""
    restored(queues, guards, settings, queue, now)
    if guards[queue, at.B_ON] == 0 or settings[at.C_IGNORES]:
        return False
    count_drop(guards, run, queue, now)
    return True


@part
def count_drop(guards, run, queue, now):
    """Count a frame that a watchdog drops."""
    run[at.X_WATCHED] += 1
    guards[queue, at.B_DROPS] += 1
    guards[queue, at.B_FIRST] = min(guards[queue, at.B_FIRST], now)


@indexed_from_zero
@inner
def watch(ports, queues, nodes, doors, guards, store, chain, run, settings, node, port, now):
    """Have those watchdogs of a port bark whose time has come; say when to look again."""
    for klass in range(settings[at.C_CLASSES]):
        queue = port * settings[at.C_CLASSES] + klass
        if guards[queue, at.B_AT] <= now:
            guards[queue, at.B_AT] = at.NEVER
            late = queues[queue, at.Q_PAUSED] + settings[at.C_WATCHDOG]
            if queues[queue, at.Q_UNTIL] > now:
                if late > now:
                    guards[queue, at.B_AT] = late
                else:
                    guards[queue, at.B_ON] = 1
                    bark(
                        ports, queues, nodes, doors, guards, store, chain, run, settings, node,
                        port, queue, now,
                    )  # fmt: skip
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], guards[queue, at.B_AT])


@part
def bark(
    ports, queues, nodes, doors, guards, store, chain, run, settings, node, port, queue, now
):  # fmt: skip
    """Drop what waits in a class, and let those send again that it held; or end its pause."""
    if settings[at.C_IGNORES]:
        guards[queue, at.B_END] = queues[queue, at.Q_UNTIL]
        queues[queue, at.Q_PAUSE_TIME] += max(0, now - queues[queue, at.Q_PAUSED])
        queues[queue, at.Q_UNTIL] = now
    else:
        classes = settings[at.C_CLASSES]
        being_sent = ports[port, at.P_OWED]
        while queues[queue, at.Q_COUNT] > 0:
            head = queues[queue, at.Q_HEAD]
            place, size = store[head, at.F_PLACE], store[head, at.F_STAMP] & 0xFFFF
            left = queues[queue, at.Q_COUNT] - 1
            queues[queue, at.Q_COUNT] = left
            queues[queue, at.Q_BYTES] -= size
            queues[queue, at.Q_HEAD] = drop_head(chain, run, head, left == 0)
            count_drop(guards, run, queue, now)
            entered = (place >> 8 & 0xFFFFFF) * classes + queue % classes
            ports[port, at.P_OWED] = entered << 16 | size
            told = release(ports, queues, nodes, doors, settings, node, port, now)
            if told >= 0 and told != port:
                lower_wake(doors, told, now)
                run[at.X_STARTED] = 1
        ports[port, at.P_OWED] = being_sent


@indexed_from_zero
@inner
def change_rate(ports, doors, slows, port, now):
    """Send at the rates that a slow receiver takes from now on; say when they change again."""
    for row in range(len(slows)):
        if slows[row, at.L_PORT] != port:
            continue
        if slows[row, at.L_TIME] <= now:
            ports[port, at.P_PACE] = slows[row, at.L_PACE]
            slows[row, at.L_TIME] = at.NEVER
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], slows[row, at.L_TIME])


def warm() -> None:
    """Compiled with the kernels that call them."""
