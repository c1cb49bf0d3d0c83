"""The packet engine's loop: window by window, node by node, event by event.

Nothing that a node does at time t reaches another before t plus the shortest lookahead of any
cable: the time of a control frame on it, and its delay. So all events of a window that long are
settled node after node, each node's state staying in cache while its events are merged in order
of (time, rank, port): transmitters that fall free, then arrivals, then timers.
"""

from ctestbed.core.jit import engine, indexed_from_zero, inner, part, prefetch
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_acks import keep_back, stands_alone
from ctestbed.transport.packet.kernels_adaptive import least_loaded
from ctestbed.transport.packet.kernels_after import tell_followers
from ctestbed.transport.packet.kernels_code import receive_coded, report_groups
from ctestbed.transport.packet.kernels_computed import compute_pauses, note_arrival
from ctestbed.transport.packet.kernels_control import notice
from ctestbed.transport.packet.kernels_credit import hear_credit
from ctestbed.transport.packet.kernels_flow import (
    acknowledge,
    be_pulled,
    receive_any,
    receive_in_order,
    tick,
)
from ctestbed.transport.packet.kernels_harm import perishes
from ctestbed.transport.packet.kernels_ingress import (
    admit,
    enqueue,
    lose,
    reconcile_all,
    release,
)
from ctestbed.transport.packet.kernels_pause import change_rate, discards, heed, watch
from ctestbed.transport.packet.kernels_port import (
    add_control,
    ask,
    give_back,
    launch,
    lower_wake,
    pass_control,
    serve,
    something_waits,
)
from ctestbed.transport.packet.kernels_pull import pull, want
from ctestbed.transport.packet.kernels_sight import note_first
from ctestbed.transport.packet.kernels_store import push, settle_top, take
from ctestbed.transport.packet.kernels_window import note_port, recall

RANK_WAKE = 0
RANK_ARRIVAL = 1
RANK_TIMER = 2
TIME_SHIFT = 24
RANK_SHIFT = 20
INDEX = (1 << RANK_SHIFT) - 1


@part
def deliver(
    ports,
    flows,
    marks,
    pulls,
    doors,
    store,
    chain,
    run,
    settings,
    parameters,
    port,
    now,
    flow,
    place,
    stamp,
):
    """Take a data packet at its destination.

    Returns its answer's place, number and stamp; place -1 if there is none, -2 if answers wait for
    the port to be served.
    """
    whose, number, urgent = flow >> 32, flow & at.NUMBER, flow & at.ASKED
    path = place >> 32 << 32 | place & 0x1F
    gain = (stamp & 0xFFFF) - settings[at.C_HEADER]
    stamp = stamp >> 16 << 16 | settings[at.C_CONTROL]
    first, last, kind = number, number, at.ACK
    again = False
    if settings[at.C_CC] == at.RCC and settings[at.C_RELIABILITY]:
        again = marks[flows[whose, at.S_BITS] + number] & at.HAVE != 0
    gathers = settings[at.C_ACK_EVERY] > 1 and settings[at.C_RELIABILITY]
    alone = gathers and stands_alone(flows, marks, settings, whose, number)
    if place & at.TRIMMED:
        kind = at.NAK
        gain = 0
        if settings[at.C_RELIABILITY] == 0:
            first = last = flows[whose, at.R_EXPECT]
    elif settings[at.C_DATA]:
        gain *= receive_coded(flows, marks, run, settings, now, whose, number)
    elif settings[at.C_RELIABILITY]:
        gain *= marks[flows[whose, at.S_BITS] + number] & at.HAVE == 0
        first = receive_any(flows, marks, run, now, whose, number)
        if settings[at.C_INORDER] == 0:
            first = number
    else:
        gain *= number == flows[whose, at.R_EXPECT]
        kind = receive_in_order(flows, run, settings, now, whose, number, urgent)
        first = last = flows[whose, at.R_EXPECT]
    run[at.X_GOOD] += gain
    notify = place & at.ECN and settings[at.C_CC] == at.DCQCN and flows[whose, at.R_CNP] <= now
    if notify:
        flows[whose, at.R_CNP] = now + int(parameters[at.D_NOTICE_PERIOD])
        add_control(ports, store, chain, run, port, whose << 32, path | at.CNP << 5, stamp)
    asked = 0
    if settings[at.C_DATA] and settings[at.C_INORDER] and kind == at.ACK:
        asked = report_groups(
            ports, flows, marks, store, chain, run, settings, port, whose, number, path, stamp
        )
    if settings[at.C_CC] == at.RCC:
        gaps = last - first + (kind == at.NAK) + asked
        want(ports, flows, pulls, doors, run, port, now, whose, path, gaps, again)
    if gathers and kind == at.ACK:
        answers = keep_back(
            ports, flows, marks, store, chain, run, settings, port, whose, first, number, alone,
            urgent or asked > 0, path, stamp,
        )  # fmt: skip
        return -2 if answers + asked > 0 or notify else -1, flow, stamp
    if kind < 0 and not notify:
        return -1, flow, stamp
    if first == last and kind >= 0 and not notify and asked == 0:
        return path | kind << 5, whose << 32 | last, stamp
    if kind >= 0:
        for each in range(first, last + 1):
            answer = kind if each == last else at.NAK
            add_control(
                ports, store, chain, run, port, whose << 32 | each, path | answer << 5, stamp
            )
    return -2, flow, stamp


@part
def arrive(
    ports, queues, nodes, flows, marks, control, hops, back, spans, pulls, ahead, guards, holds,
    doors, due, store, chain, run, settings, parameters, node, port, now, flow, place, stamp,
):  # fmt: skip
    """Take a frame off the wire.

    Returns the port to serve, the port to look at sooner, and 1 if this port's peer must pause;
    -1, -1 and 0 where that is not so.
    """
    kind = place >> 5 & 7
    if kind == at.DATA:
        out = hops[(place >> 32) + 1]
        if settings[at.C_ADAPTIVE] and out >= 0:
            here = least_loaded(ports, queues, flows, hops, spans, settings, now, flow, place)
            place = here << 32 | place & 0xFFFFFFFF
            out = hops[here + 1]
        if out < 0:
            if out == at.EXPIRES:
                run[at.X_EXPIRED] += 1
                return -1, -1, 0
            out = port
            place, flow, stamp = deliver(
                ports, flows, marks, pulls, doors, store, chain, run, settings, parameters, port,
                now, flow, place, stamp,
            )  # fmt: skip
            if place < 0:
                return port if place < -1 else -1, -1, 0
        elif place & at.TRIMMED == 0:
            target, sooner, verdict = forward(
                ports, queues, nodes, ahead, guards, holds, doors, due, store, chain, run, settings,
                node, port, out, now, flow, place, stamp,
            )  # fmt: skip
            if verdict:
                return target, sooner, verdict - 1
            place = (place + (1 << 32)) | at.TRIMMED
            stamp = stamp >> 16 << 16 | settings[at.C_CONTROL]
        else:
            place += 1 << 32
    elif kind >= at.PAUSE:
        if kind == at.PAUSE:
            heed(queues, doors, guards, run, settings, port, now, flow, stamp)
        else:
            hear_credit(queues, holds, settings, port, place, flow, now)
        return port, -1, 0
    else:
        out = back[(place >> 32) - 1]
        if out < 0:
            whose, number = flow >> 32, flow & 0xFFFFFFFF
            ready = False
            if kind != at.CNP:
                ready = acknowledge(
                    ports, flows, marks, control, parameters, run, settings, now, whose, number,
                    kind, place, stamp,
                )  # fmt: skip
            elif settings[at.C_CC] == at.RCC:
                ready = be_pulled(ports, flows, control, settings, whose, number)
            else:
                notice(control, parameters, whose, now)
            return flows[whose, at.S_PORT] if ready else -1, -1, 0
        place -= 1 << 32
    sooner = pass_control(
        ports, queues, nodes, doors, due, store, chain, run, settings, node, out, now, flow,
        place, stamp,
    )  # fmt: skip
    return -1, sooner, 0


@part
def forward(
    ports, queues, nodes, ahead, guards, holds, doors, due, store, chain, run, settings, node,
    port, out, now, flow, place, stamp,
):  # fmt: skip
    """Send a data frame on, queue it for the next hop, or lose it.

    Returns the port to serve and the port to look at sooner, -1 if none; and 1, or 2 if this port's
    peer must pause, or 0 if the frame goes on without its data.
    """
    klass = place >> 2 & 7
    size = stamp & 0xFFFF
    verdict = -1
    if settings[at.C_WATCHDOG] == 0 or not discards(
        queues, guards, run, settings, out * settings[at.C_CLASSES] + klass, now
    ):
        verdict = admit(ports, queues, nodes, doors, settings, node, port, out, klass, size, now)
    if verdict > 1:
        note_first(queues, nodes, holds, store, chain, settings, node, port, klass, out, now)
    if settings[at.C_PERIOD] and verdict:
        queue = port * settings[at.C_CLASSES] + klass
        if ahead[queue, at.G_LONG] and settings[at.C_LOSSLESS] >> klass & 1:
            note_arrival(ahead, doors, run, port, queue, now, size)
    if verdict < 0:
        return -1, -1, 1
    if verdict == 0:
        if settings[at.C_TRIM] == 0 or settings[at.C_LOSSLESS] >> klass & 1:
            lose(queues, run, settings, port, klass, now)
            return -1, -1, 1
        run[at.X_TRIMMED] += 1
        return -1, -1, 0
    place = ((place >> 32) + 1) << 32 | port << 8 | place & 0xFF
    queue = out * settings[at.C_CLASSES] + klass
    free = ports[out, at.P_FREE]
    if (
        free <= now
        and queues[queue, at.Q_COUNT] == 0
        and queues[queue, at.Q_UNTIL] <= now
        and verdict == 1
        and settings[at.C_KMIN] > 0
        and settings[at.C_CREDIT] == 0
        and ports[out, at.P_COUNT] == 0
        and ports[out, at.P_ASKS] == 0
    ):
        return -1, send_on(
            ports, queues, nodes, doors, due, store, chain, run, settings, node, out, queue,
            port * settings[at.C_CLASSES] + klass, now, size, flow, place, stamp,
        ), 1  # fmt: skip
    enqueue(ports, queues, store, chain, settings, run, out, klass, flow, place, stamp)
    if free > now and verdict == 1:
        return -1, lower_wake(doors, out, free), 1
    return out, -1, verdict


@part
def send_on(
    ports, queues, nodes, doors, due, store, chain, run, settings, node, out, queue, entered, now,
    size, flow, place, stamp,
):  # fmt: skip
    """Send a data frame that finds its way free, as if it had waited for no time.

    Returns the port if it is to be looked at sooner than so far, or -1.
    """
    if ports[out, at.P_OWED] >= 0:
        give_back(ports, queues, nodes, node, out)
    ports[out, at.P_OWED] = entered << 16 | size
    queues[queue, at.Q_MAX] = max(queues[queue, at.Q_MAX], size)
    queues[queue, at.Q_SENT] += size
    queues[queue, at.Q_FRAMES] += 1
    run[at.X_DATA_HOPS] += 1
    if store.shape[1] > at.FRAME:
        note_port(queues, run, queue, now)
    launch(ports, due, store, chain, run, out, now, size, flow, place, stamp)
    if something_waits(ports, queues, settings, out):
        return lower_wake(doors, out, ports[out, at.P_FREE])
    return -1


@indexed_from_zero
@inner
def again(ports, queues, doors, settings, port, now):
    """Say again the pauses of this port that are about to run out."""
    for klass in range(settings[at.C_CLASSES]):
        queue = port * settings[at.C_CLASSES] + klass
        if queues[queue, at.Q_OFF] and queues[queue, at.Q_ASK] <= now:
            ask(ports, queues, doors, settings, port, klass, now)
        elif queues[queue, at.Q_ASK] < doors[port, at.A_TIMER]:
            doors[port, at.A_TIMER] = queues[queue, at.Q_ASK]


@part
def arm(ports, doors, heap, size, first, count, until, begin, queue, now):
    """Have all ports looked at whose frames came in by `queue`: its peer waits for that now.

    Returns the heap's new size.
    """
    for port in range(first, first + count):
        free = ports[port, at.P_FREE]
        if ports[port, at.P_OWED] >> 16 == queue and free > now:
            sooner = lower_wake(doors, port, free)
            if sooner >= 0 and free < until:
                size = push(heap, size, (free - begin) << TIME_SHIFT | port - first)
    return size


@part
def push_timers(doors, run, heap, size, first, count, begin, until):
    """Have all timers of a node that fall in this window looked at; return the heap's new size."""
    run[at.X_STARTED] = 0
    for index in range(count):
        timer = doors[first + index, at.A_TIMER]
        if timer < until:
            key = (timer - begin) << TIME_SHIFT | RANK_TIMER << RANK_SHIFT | index
            size = push(heap, size, key)
    return size


@part
def push_wakes(doors, heap, size, first, count, begin, now):
    """Have all ports of a node looked at that want it now; return the heap's new size."""
    for port in range(first, first + count):
        if doors[port, at.A_WAKE] == now:
            size = push(heap, size, (now - begin) << TIME_SHIFT | port - first)
    return size


@part
def alarm(
    ports, queues, nodes, flows, marks, control, order, pulls, ahead, guards, slows, holds, doors,
    store, chain, run, settings, parameters, heap, size, node, port, first, count, begin, now,
):  # fmt: skip
    """Do what a port's timer says is due; return the heap's new size."""
    doors[port, at.A_TIMER] = at.NEVER
    tick(ports, flows, marks, control, parameters, order, doors, run, settings, port, now)
    again(ports, queues, doors, settings, port, now)
    if settings[at.C_PERIOD]:
        compute_pauses(
            ports, queues, nodes, ahead, holds, doors, store, chain, settings, node, port, now
        )
    if settings[at.C_WATCHDOG]:
        watch(ports, queues, nodes, doors, guards, store, chain, run, settings, node, port, now)
        if run[at.X_STARTED]:
            run[at.X_STARTED] = 0
            size = push_wakes(doors, heap, size, first, count, begin, now)
    if len(slows) > 0:
        change_rate(ports, doors, slows, port, now)
    if settings[at.C_CC] == at.RCC:
        pull(ports, pulls, doors, store, chain, run, settings, port, now)
    return size


@part
def settle(
    ports, queues, nodes, flows, marks, control, harms, order, edges, waiting, hops, back, spans,
    pulls, ahead, guards, slows, holds, doors, due, store, chain, run, settings, parameters, heap,
    node,
):  # fmt: skip
    """Compute all events of one node in this window."""
    begin, until = run[at.X_NOW], run[at.X_UNTIL]
    first, count = nodes[node, at.N_FIRST], nodes[node, at.N_PORTS]
    size = 0
    for index in range(count):
        port = first + index
        for rank, when in (
            (RANK_WAKE, doors[port, at.A_WAKE]),
            (RANK_ARRIVAL, store[doors[port, at.W_HEAD], at.F_TIME]),
            (RANK_TIMER, doors[port, at.A_TIMER]),
        ):
            if when < until:
                size = push(heap, size, (when - begin) << TIME_SHIFT | rank << RANK_SHIFT | index)
    while size > 0:
        if size > len(heap) - count - 8:
            run[at.X_FAULT] = 1
        if run[at.X_FAULT]:
            return
        key = heap[0]
        # What is pushed meanwhile stays below; then comes what takes this event's place.
        heap[0] = -1
        follows = at.NEVER
        now = begin + (key >> TIME_SHIFT)
        rank = key >> RANK_SHIFT & 3
        port = first + (key & INDEX)
        target = -1
        sooner = -1
        tell = -1
        if rank == RANK_ARRIVAL:
            head = doors[port, at.W_HEAD]
            flow, place, stamp = (
                store[head, at.F_FLOW],
                store[head, at.F_PLACE],
                store[head, at.F_STAMP],
            )
            if store.shape[1] > at.FRAME:
                recall(store, run, head)
            head = take(chain, run, head)
            doors[port, at.W_HEAD] = head
            coming = store[head, at.F_TIME]
            if coming < until:
                follows = (coming - begin) << TIME_SHIFT | RANK_ARRIVAL << RANK_SHIFT | port - first
            run[at.X_EVENTS] += 1
            run[at.X_LAST] = max(run[at.X_LAST], now)
            lost = False
            if now >= doors[port, at.W_HARM]:
                lost = perishes(ports, doors, harms, run, settings, port, now, place, stamp)
            paused = 0
            if not lost:
                target, sooner, paused = arrive(
                    ports, queues, nodes, flows, marks, control, hops, back, spans, pulls,
                    ahead, guards, holds, doors, due, store, chain, run, settings, parameters, node,
                    port, now, flow, place, stamp,
                )  # fmt: skip
            if run[at.X_DONE]:
                tell_followers(
                    ports, flows, order, doors, due, edges, waiting, run, settings, first, count,
                    now,
                )  # fmt: skip
            if run[at.X_STARTED]:
                size = push_timers(doors, run, heap, size, first, count, begin, until)
            if paused:
                tell = port
                queue = port * settings[at.C_CLASSES] + (place >> 2 & 7)
                size = arm(ports, doors, heap, size, first, count, until, begin, queue, now)
        elif rank == RANK_WAKE:
            if doors[port, at.A_WAKE] == now:
                doors[port, at.A_WAKE] = at.NEVER
                if ports[port, at.P_FREE] <= now and ports[port, at.P_OWED] >= 0:
                    tell = release(ports, queues, nodes, doors, settings, node, port, now)
                run[at.X_EVENTS] += 1
                target = port
        elif doors[port, at.A_TIMER] == now:
            size = alarm(
                ports, queues, nodes, flows, marks, control, order, pulls, ahead, guards, slows,
                holds, doors, store, chain, run, settings, parameters, heap, size, node, port,
                first, count, begin, now,
            )  # fmt: skip
            run[at.X_EVENTS] += 1
            target = port
        if target >= 0:
            before, timer_before = doors[target, at.A_WAKE], doors[target, at.A_TIMER]
            if rank != RANK_ARRIVAL:
                timer_before = at.NEVER
            serve(
                ports, queues, nodes, flows, marks, control, ahead, holds, doors, due, store,
                chain, run, settings, parameters, node, target, now,
            )  # fmt: skip
            if doors[target, at.A_WAKE] < before:
                sooner = target
            timer = doors[target, at.A_TIMER]
            if timer < timer_before and timer < until:
                key = (timer - begin) << TIME_SHIFT | RANK_TIMER << RANK_SHIFT | target - first
                size = push(heap, size, key)
        if tell >= 0 and tell != target:
            if lower_wake(doors, tell, now) >= 0:
                size = push(heap, size, (now - begin) << TIME_SHIFT | tell - first)
            timer = doors[tell, at.A_TIMER]
            if timer < until:
                key = (timer - begin) << TIME_SHIFT | RANK_TIMER << RANK_SHIFT | tell - first
                size = push(heap, size, key)
        if sooner >= 0:
            wake = doors[sooner, at.A_WAKE]
            if wake < until:
                key = (wake - begin) << TIME_SHIFT | sooner - first
                if follows == at.NEVER:
                    follows = key
                else:
                    size = push(heap, size, key)
        if follows == at.NEVER:
            size -= 1
            follows = heap[size]
        settle_top(heap, size, follows)
    coming = at.NEVER
    for port in range(first, first + count):
        coming = min(coming, doors[port, at.A_WAKE], doors[port, at.A_TIMER])
        coming = min(coming, store[doors[port, at.W_HEAD], at.F_TIME])
    due[node] = coming


@part
def fetch_rows(ports, queues, nodes, doors, settings, node):
    """Have a node's rows on their way to the cache while those before it are settled."""
    first = nodes[node, at.N_FIRST]
    classes = settings[at.C_CLASSES]
    for port in range(first, first + nodes[node, at.N_PORTS]):
        prefetch(ports, port, 0)
        prefetch(ports, port, 8)
        prefetch(doors, port, 0)
        for queue in range(port * classes, port * classes + classes):
            prefetch(queues, queue, 0)
            prefetch(queues, queue, 8)


@part
def fetch_frames(ports, queues, nodes, doors, store, settings, node):
    """Have the frames that come next, and the places that the next go to, on their way too."""
    first = nodes[node, at.N_FIRST]
    classes = settings[at.C_CLASSES]
    for port in range(first, first + nodes[node, at.N_PORTS]):
        prefetch(store, doors[port, at.W_HEAD], 0)
        prefetch(store, doors[port, at.W_HEAD] + 2, 0)
        prefetch(store, ports[port, at.P_END], 0)
        for queue in range(port * classes, port * classes + classes):
            if queues[queue, at.Q_COUNT] > 0:
                prefetch(store, queues[queue, at.Q_HEAD], 0)
                prefetch(store, queues[queue, at.Q_HEAD] + 2, 0)
                prefetch(store, queues[queue, at.Q_TAIL] + 1, 0)


@indexed_from_zero
@engine
def run_windows(
    ports, queues, nodes, flows, marks, control, harms, order, edges, waiting, hops, back, spans,
    pulls, ahead, guards, slows, holds, doors, due, store, chain, run, settings, parameters, heap,
    horizon, budget,
):  # fmt: skip
    """Compute windows until all flows have finished, nothing is left to happen, or a halt.

    Returns ENDED, STUCK (no event left), RUNNING (`horizon` ps or `budget` events reached), or
    FULL: the frame store must grow; call again after that. FAULT: begin again with more room.
    """
    stop = run[at.X_EVENTS] + budget
    reserve = run[at.X_RESERVE]
    while True:
        if run[at.X_NODE] == 0:
            begin = at.NEVER
            for node in range(len(due)):
                begin = min(begin, due[node])
            if begin >= at.NEVER or begin > horizon or run[at.X_EVENTS] > stop:
                reconcile_all(ports, queues, nodes, min(begin - 1, horizon))
            if begin >= at.NEVER:
                return at.STUCK if run[at.X_OPEN] else at.ENDED
            if begin > horizon or run[at.X_EVENTS] > stop:
                return at.RUNNING
            run[at.X_NOW] = begin
            run[at.X_UNTIL] = min(begin + settings[at.C_WINDOW], horizon + 1)
        for node in range(run[at.X_NODE], len(due)):
            if due[node] < run[at.X_UNTIL]:
                if node + 2 < len(due):
                    fetch_rows(ports, queues, nodes, doors, settings, node + 2)
                    fetch_frames(ports, queues, nodes, doors, store, settings, node + 1)
                if run[at.X_LEFT] < reserve:
                    run[at.X_NODE] = node
                    return at.FULL
                settle(
                    ports, queues, nodes, flows, marks, control, harms, order, edges, waiting, hops,
                    back, spans, pulls, ahead, guards, slows, holds, doors, due, store, chain, run,
                    settings, parameters, heap, node,
                )  # fmt: skip
                if run[at.X_FAULT]:
                    return at.FAULT
        run[at.X_NODE] = 0


def warm() -> None:
    """Compile the loop, by running one packet over one cable."""
    from ctestbed.transport.packet.engine import load_kernel

    load_kernel()
