"""A port: what it sends next, and the wire it sends it on."""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_control import pace
from ctestbed.transport.packet.kernels_credit import lacks_credit, note_stall, say_credit
from ctestbed.transport.packet.kernels_harm import drawn
from ctestbed.transport.packet.kernels_store import drop_head, put, send
from ctestbed.transport.packet.kernels_window import note_port, pace_window, recall

NOWHERE = 0xFFFFFF
"""In place of an ingress port: the frame was born here."""

PS_PER_SECOND = 10**12


@part
def launch(ports, due, store, chain, run, port, now, size, flow, place, stamp):
    """Start sending a frame: the transmitter is busy, and the frame arrives at the far end."""
    pace = ports[port, at.P_PACE]
    if pace > 0:
        free = now + size * (pace & (1 << at.PACE_SHIFT) - 1)
        when = free + (pace >> at.PACE_SHIFT)
    else:
        rate = ports[port, at.P_RATE] if pace == 0 else -pace
        free = now - (-size * 8 * PS_PER_SECOND) // rate
        when = free + ports[port, at.P_DELAY]
    ports[port, at.P_FREE] = free
    ports[port, at.P_END] = send(store, chain, run, ports[port, at.P_END], when, flow, place, stamp)
    node = ports[port, at.P_PEER_NODE]
    due[node] = min(due[node], when)


@part
def give_back(ports, queues, nodes, node, port):
    """Count the frame that has left by `port` out of the ingress that it came in by."""
    queue, size = ports[port, at.P_OWED] >> 16, ports[port, at.P_OWED] & 0xFFFF
    ports[port, at.P_OWED] = -1
    queues[queue, at.Q_IN] -= size
    back = min(queues[queue, at.Q_OVER], size)
    queues[queue, at.Q_OVER] -= back
    nodes[node, at.N_POOL] -= back
    nodes[node, at.N_USED] -= size - back


@part
def lower_wake(doors, port, when):
    """Have a port looked at by `when`; return the port if that is sooner than so far, or -1."""
    if when < doors[port, at.A_WAKE]:
        doors[port, at.A_WAKE] = when
        return port
    return -1


@part
def pass_control(
    ports, queues, nodes, doors, due, store, chain, run, settings, node, port, now, flow, place,
    stamp,
):  # fmt: skip
    """Send a control frame at once if the transmitter is free, or queue it before all data.

    Returns the port if it is to be looked at sooner than so far, or -1.
    """
    free = ports[port, at.P_FREE]
    if free <= now and ports[port, at.P_COUNT] == 0 and ports[port, at.P_ASKS] == 0:
        if ports[port, at.P_OWED] >= 0:
            give_back(ports, queues, nodes, node, port)
        run[at.X_CONTROL_HOPS] += 1
        launch(ports, due, store, chain, run, port, now, stamp & 0xFFFF, flow, place, stamp)
        if not something_waits(ports, queues, settings, port):
            return -1
        free = ports[port, at.P_FREE]
    else:
        add_control(ports, store, chain, run, port, flow, place, stamp)
    return lower_wake(doors, port, max(now, free))


@part
def add_control(ports, store, chain, run, port, flow, place, stamp):
    """Queue a control frame; it goes before all data."""
    count = ports[port, at.P_COUNT]
    tail = ports[port, at.P_TAIL] if count > 0 else -1
    slot = put(store, chain, run, tail, 0, flow, place, stamp)
    if count == 0:
        ports[port, at.P_HEAD] = slot
    ports[port, at.P_TAIL] = slot
    ports[port, at.P_COUNT] = count + 1


@part
def enter_ring(ports, flows, port, flow):
    """Let a flow take its turn at its port, after all that wait now."""
    first = ports[port, at.P_RING]
    if first < 0:
        flows[flow, at.S_AFTER] = flow
        flows[flow, at.S_BEFORE] = flow
        ports[port, at.P_RING] = flow
    else:
        last = flows[first, at.S_BEFORE]
        flows[flow, at.S_AFTER] = first
        flows[flow, at.S_BEFORE] = last
        flows[last, at.S_AFTER] = flow
        flows[first, at.S_BEFORE] = flow
    flows[flow, at.S_STATE] = at.READY


@part
def leave_ring(ports, flows, port, flow):
    """Take a flow out of its port's turns: it waits for its window, or has sent all."""
    after = flows[flow, at.S_AFTER]
    if after == flow:
        ports[port, at.P_RING] = -1
    else:
        before = flows[flow, at.S_BEFORE]
        flows[before, at.S_AFTER] = after
        flows[after, at.S_BEFORE] = before
        if ports[port, at.P_RING] == flow:
            ports[port, at.P_RING] = after
    flows[flow, at.S_STATE] = at.HELD


@indexed_from_zero
@inner
def pause_order(ports, queues, settings, port):
    """Take what the peer is to be told: classes that hear << 32 | those of them that must stop."""
    asks = ports[port, at.P_ASKS]
    ports[port, at.P_ASKS] = 0
    off = 0
    for klass in range(settings[at.C_CLASSES]):
        queue = port * settings[at.C_CLASSES] + klass
        if asks >> klass & 1 and queues[queue, at.Q_OFF]:
            off |= 1 << klass
    return asks << 32 | off


@indexed_from_zero
@inner
def say_pause(ports, ahead, settings, port):
    """Take the lowest class that is to be spoken of; return its order, and how long it lasts."""
    asks = ports[port, at.P_ASKS]
    klass = 0
    while asks >> klass & 1 == 0:
        klass += 1
    ports[port, at.P_ASKS] = asks ^ 1 << klass
    lasts = ahead[port * settings[at.C_CLASSES] + klass, at.G_PAUSE]
    return 1 << klass << 32 | (lasts > 0) << klass, lasts


@part
def next_sender(ports, queues, flows, holds, settings, port, now):
    """Return the next flow that may send, or -1 - (when to look again, NEVER if unknown)."""
    first = ports[port, at.P_RING]
    wake = at.NEVER
    flow = first
    while True:
        queue = port * settings[at.C_CLASSES] + flows[flow, at.S_CLASS]
        until = queues[queue, at.Q_UNTIL]
        if until > now and queues[queue, at.Q_PAUSED] <= now:
            wake = min(wake, until)
        elif settings[at.C_CREDIT] and lacks_credit(
            queues, queue, settings[at.C_HEADER] + settings[at.C_PAYLOAD]
        ):
            note_stall(holds, queue, now)
        elif flows[flow, at.S_PACED] > now:
            wake = min(wake, flows[flow, at.S_PACED])
        else:
            return flow
        flow = flows[flow, at.S_AFTER]
        if flow == first:
            return -1 - wake


@indexed_from_zero
@inner
def make_packet(ports, flows, marks, control, doors, settings, parameters, port, now, flow):
    """Take the number of a flow's next packet, one to be sent again first; end the flow's turn."""
    if flows[flow, at.S_REPAIR] > 0:
        number = flows[flow, at.S_SCAN]
        first = flows[flow, at.S_BITS]
        while marks[first + number] & at.LACKS == 0:
            number += 1
        marks[first + number] ^= at.LACKS
        flows[flow, at.S_SCAN] = number + 1
        flows[flow, at.S_REPAIR] -= 1
    else:
        number = flows[flow, at.S_NEXT]
        flows[flow, at.S_NEXT] = number + 1
        if settings[at.C_RELIABILITY]:
            flows[flow, at.S_SCAN] = min(flows[flow, at.S_SCAN], number + 1)
    ports[port, at.P_RING] = flows[flow, at.S_AFTER]
    following = flows[flow, at.S_NEXT]
    repair = flows[flow, at.S_REPAIR]
    ahead = following - flows[flow, at.S_ACKED] - repair
    all_sent = following == flows[flow, at.S_TOTAL] and repair == 0
    if all_sent or ahead >= flows[flow, at.S_WINDOW]:
        leave_ring(ports, flows, port, flow)
    if settings[at.C_CC] != at.NO_CONTROL:
        size = settings[at.C_HEADER] + settings[at.C_PAYLOAD]
        if settings[at.C_CC] == at.DCQCN:
            flows[flow, at.S_PACED] = pace(control, parameters, flow, now, size)
        else:
            flows[flow, at.S_PACED] = pace_window(control, flow, now, size)
    if settings[at.C_RETRY] < at.NEVER and flows[flow, at.S_DEADLINE] == at.NEVER:
        late = now + settings[at.C_RETRY]
        flows[flow, at.S_DEADLINE] = late
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], late)
    return number


@indexed_from_zero
@inner
def wants_answer(flows, settings, now, flow):
    """Tell whether a flow asks that the packet it sends now be answered at once.

    It does with the last that its window lets go, and when it has long heard nothing.
    """
    if flows[flow, at.S_STATE] == at.HELD and settings[at.C_CC] != at.RCC:
        return True
    return flows[flow, at.S_DEADLINE] - now <= settings[at.C_RETRY] // 2


@indexed_from_zero
@inner
def flowlet_path(flows, settings, now, flow):
    """Return the path of a flow's next packet: another, by hash, after a pause long enough."""
    waited = now - flows[flow, at.S_SENT_AT]
    flows[flow, at.S_SENT_AT] = now
    if flows[flow, at.S_TURNS] == 0 or waited >= settings[at.C_FLOWLET]:
        flows[flow, at.S_TURNS] += 1
        draw = drawn(settings, flow, flows[flow, at.S_TURNS])
        flows[flow, at.S_PATH] = draw % flows[flow, at.S_PATHS]
    return flows[flow, at.S_PATH]


@indexed_from_zero
@inner
def drawn_path(flows, settings, flow):
    """Return the path of a flow's next packet, repeated or not: one drawn for it."""
    flows[flow, at.S_TURNS] += 1
    return drawn(settings, flow, flows[flow, at.S_TURNS]) % flows[flow, at.S_PATHS]


@part
def next_class(queues, holds, store, settings, port, now):
    """Return the first class with a frame that may go, or -1 - (when to look, NEVER if unknown)."""
    wake = at.NEVER
    classes = settings[at.C_CLASSES]
    for klass in range(classes):
        queue = port * classes + klass
        if queues[queue, at.Q_COUNT] > 0:
            if settings[at.C_CREDIT]:
                size = store[queues[queue, at.Q_HEAD], at.F_STAMP] & 0xFFFF
                if lacks_credit(queues, queue, size):
                    note_stall(holds, queue, now)
                    continue
            # In this order: most are not paused, and when they were last is in another line.
            if queues[queue, at.Q_UNTIL] <= now or queues[queue, at.Q_PAUSED] > now:
                return klass
            wake = min(wake, queues[queue, at.Q_UNTIL])
    return -1 - wake


@part
def something_waits(ports, queues, settings, port):
    """Tell whether a busy port must be looked at when its transmitter falls free.

    The bytes that its frame then gives back are a reason only where somebody waits for them: a
    paused peer, or, where thresholds follow the free buffer, all others, or one that needs credit.
    """
    if ports[port, at.P_COUNT] > 0 or ports[port, at.P_RING] >= 0 or ports[port, at.P_ASKS]:
        return True
    owed = ports[port, at.P_OWED]
    if owed >= 0 and (settings[at.C_EAGER] or queues[owed >> 16, at.Q_OFF]):
        return True
    for klass in range(settings[at.C_CLASSES]):
        if queues[port * settings[at.C_CLASSES] + klass, at.Q_COUNT] > 0:
            return True
    return False


@part
def serve(
    ports, queues, nodes, flows, marks, control, ahead, holds, doors, due, store, chain, run,
    settings, parameters, node, port, now,
):  # fmt: skip
    """Start the next frame if the transmitter is free; ask to be woken where something waits.

    Pauses go first, then control frames, then data that waits here, then flows that begin here.
    """
    classes = settings[at.C_CLASSES]
    wake = at.NEVER
    if ports[port, at.P_FREE] <= now:
        if ports[port, at.P_OWED] >= 0:
            give_back(ports, queues, nodes, node, port)
        size = 0
        flow = 0
        place = 0
        stamp = 0
        head = -1
        klass = -1
        if ports[port, at.P_ASKS]:
            size = settings[at.C_CONTROL]
            if settings[at.C_CREDIT]:
                flow, place = say_credit(ports, queues, settings, port)
                stamp = size
            else:
                place = at.PAUSE << 5
                if settings[at.C_PERIOD] and ahead[port * classes, at.G_LONG]:
                    flow, stamp = say_pause(ports, ahead, settings, port)
                else:
                    flow = pause_order(ports, queues, settings, port)
        elif ports[port, at.P_COUNT] > 0:
            head = ports[port, at.P_HEAD]
        else:
            klass = next_class(queues, holds, store, settings, port, now)
            if klass >= 0:
                head = queues[port * classes + klass, at.Q_HEAD]
            else:
                wake = -1 - klass
        if head >= 0:
            flow, place, stamp = (
                store[head, at.F_FLOW],
                store[head, at.F_PLACE],
                store[head, at.F_STAMP],
            )
            size = stamp & 0xFFFF
            if store.shape[1] > at.FRAME:
                recall(store, run, head)
            left = 0
            if klass < 0:
                left = ports[port, at.P_COUNT] - 1
                ports[port, at.P_COUNT] = left
            else:
                queue = port * classes + klass
                left = queues[queue, at.Q_COUNT] - 1
                queues[queue, at.Q_COUNT] = left
                queues[queue, at.Q_BYTES] -= size
                entered = ((place >> 8) & NOWHERE) * classes + klass
                ports[port, at.P_OWED] = entered << 16 | size
            after = drop_head(chain, run, head, left == 0)
            if klass < 0:
                ports[port, at.P_HEAD] = after
            else:
                queues[port * classes + klass, at.Q_HEAD] = after
        elif size == 0 and ports[port, at.P_RING] >= 0:
            flow = next_sender(ports, queues, flows, holds, settings, port, now)
            if flow < 0:
                wake = min(wake, -1 - flow)
            else:
                klass = flows[flow, at.S_CLASS]
                place = flows[flow, at.S_HOPS]
                number = make_packet(
                    ports, flows, marks, control, doors, settings, parameters, port, now, flow
                )
                if settings[at.C_SPRAY] == 1:
                    place += number % flows[flow, at.S_PATHS] * flows[flow, at.S_STRIDE]
                elif settings[at.C_SPRAY]:
                    place += drawn_path(flows, settings, flow) * flows[flow, at.S_STRIDE]
                elif settings[at.C_FLOWLET]:
                    place += flowlet_path(flows, settings, now, flow) * flows[flow, at.S_STRIDE]
                last = number == flows[flow, at.S_TOTAL] - 1 - settings[at.C_PARITY]
                size = settings[at.C_HEADER]
                size += flows[flow, at.S_LAST] if last else settings[at.C_PAYLOAD]
                if settings[at.C_ACK_EVERY] > 1 and wants_answer(flows, settings, now, flow):
                    number |= at.ASKED
                flow = flow << 32 | number
                place = place << 32 | NOWHERE << 8 | at.DATA << 5 | klass << 2
                stamp = now << 16 | size
        if head < 0 and store.shape[1] > at.FRAME:
            run[at.COUNTERS] = 0
        if size > 0:
            if klass >= 0:
                queue = port * classes + klass
                queues[queue, at.Q_SENT] += size
                queues[queue, at.Q_FRAMES] += 1
                run[at.X_DATA_HOPS] += 1
                if store.shape[1] > at.FRAME and head >= 0:
                    note_port(queues, run, queue, now)
            else:
                run[at.X_CONTROL_HOPS] += 1
            launch(ports, due, store, chain, run, port, now, size, flow, place, stamp)
    if ports[port, at.P_FREE] > now:
        wake = (
            ports[port, at.P_FREE] if something_waits(ports, queues, settings, port) else at.NEVER
        )
    doors[port, at.A_WAKE] = min(doors[port, at.A_WAKE], wake)


@indexed_from_zero
@inner
def ask(ports, queues, doors, settings, port, klass, now):
    """Have the state of a class said to the peer as soon as the transmitter is free."""
    ports[port, at.P_ASKS] |= 1 << klass
    queue = port * settings[at.C_CLASSES] + klass
    again = at.NEVER
    span = doors[port, at.A_SPAN]
    if span and queues[queue, at.Q_OFF]:
        again = now + span // 2
        doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], again)
    queues[queue, at.Q_ASK] = again


def warm() -> None:
    """Compiled with the kernels that call them."""
