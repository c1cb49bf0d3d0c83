"""Laws that set a window at the sender: HPCC, Swift, one like NSCC, and receiver credits.

`laws` has their parameters and sources, `reference_control` the same laws to be read.
"""

from math import sqrt

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at

BIT_PS = 8.0e12


@part
def pace_window(control, flow, now, size):
    """Return when a flow that sends `size` bytes now may send again, in ps."""
    if control[flow, at.K_RATE] >= control[flow, at.K_LINE]:
        return now
    return now + int(size * BIT_PS / control[flow, at.K_RATE])


@part
def set_window(flows, control, settings, flow):
    """Have the flow keep to its law's window, of a packet at least.

    HPCC's pace holds it to a part of a packet, so it may send while less is in flight.
    """
    if settings[at.C_CC] == at.RCC:
        # The window counts what was ever allowed; so what has come, or was asked for again, is off.
        packets = int(control[flow, at.K_WINDOW]) - flows[flow, at.S_RESENT]
        flows[flow, at.S_WINDOW] = min(settings[at.C_MOST], packets - flows[flow, at.S_ACKED])
        return
    frame = float(settings[at.C_PAYLOAD] + settings[at.C_HEADER])
    packets = int(control[flow, at.K_WINDOW] / frame)
    if settings[at.C_CC] == at.HPCC and packets * frame < control[flow, at.K_WINDOW]:
        packets += 1
    flows[flow, at.S_WINDOW] = min(settings[at.C_MOST], max(1, packets))


@indexed_from_zero
@inner
def respond(
    flows, control, parameters, run, settings, now, flow, number, kind, fresh, place, stamp
):
    """Have a flow's law take an answer, by which `fresh` packets are newly acknowledged."""
    upto = number + settings[at.C_RELIABILITY]
    gap = kind == at.NAK
    law = settings[at.C_CC]
    frame = float(settings[at.C_PAYLOAD] + settings[at.C_HEADER])
    if law == at.HPCC:
        if place & at.TRIMMED == 0:
            follow_use(flows, control, parameters, run, flow, upto, frame)
    elif law == at.RCC:
        pass
    elif law == at.SWIFT:
        hold_delay(control, parameters, now, flow, frame, fresh, gap, float(now - (stamp >> 16)))
    else:
        flying = flows[flow, at.S_NEXT] - flows[flow, at.S_ACKED] - flows[flow, at.S_REPAIR]
        weigh_both(
            control, parameters, now, flow, frame, fresh, gap, place & at.ECN != 0, flying,
            float(now - (stamp >> 16)),
        )  # fmt: skip
    set_window(flows, control, settings, flow)


@indexed_from_zero
@inner
def give_up(flows, control, parameters, settings, now, flow):
    """Have a flow's law take it that an answer did not come in time."""
    if settings[at.C_CC] == at.NSCC:
        control[flow, at.U_ADAPTING] = 1.0
    elif settings[at.C_CC] == at.RCC:
        repair = flows[flow, at.S_REPAIR]
        sent = flows[flow, at.S_NEXT] + flows[flow, at.S_RESENT] - repair
        more = control[flow, at.K_MOST]
        if repair > 0:
            more = min(more, float(repair))
        control[flow, at.K_WINDOW] = max(control[flow, at.K_WINDOW], sent + more)
        set_window(flows, control, settings, flow)
    elif settings[at.C_CC] == at.SWIFT:
        frame = float(settings[at.C_PAYLOAD] + settings[at.C_HEADER])
        packets = control[flow, at.K_WINDOW] / frame
        control[flow, at.W_LATE] += 1.0
        if control[flow, at.W_LATE] >= parameters[at.D_TIMEOUTS]:
            change_swift(control, parameters, now, flow, frame, packets, parameters[at.D_SMALLEST])
        elif now - control[flow, at.W_CUT] >= control[flow, at.W_TOOK]:
            less = packets * (1.0 - parameters[at.D_MOST_DECREASE])
            change_swift(control, parameters, now, flow, frame, packets, less)
        set_window(flows, control, settings, flow)


@indexed_from_zero
@inner
def take_pull(flows, control, settings, flow, number):
    """Let a flow send as many packets as its receiver has pulled in all, beside the others."""
    more = number - control[flow, at.C_PULLED]
    if more > 0.0:
        control[flow, at.C_PULLED] += more
        control[flow, at.K_WINDOW] += more
        set_window(flows, control, settings, flow)


# HPCC.


@indexed_from_zero
@inner
def tell(store, run, slot):
    """Write to a frame's slot what it carries along: that of the frame last taken up."""
    for column in range(at.FRAME, store.shape[1]):
        store[slot, column] = run[at.COUNTERS + column - at.FRAME]


@indexed_from_zero
@inner
def recall(store, run, slot):
    """Take up what the frame in a slot carries along."""
    for column in range(at.FRAME, store.shape[1]):
        run[at.COUNTERS + column - at.FRAME] = store[slot, column]


@indexed_from_zero
@inner
def note_port(queues, run, queue, now):
    """Have the frame that leaves by a switch port now carry along what that port is like."""
    place = at.COUNTERS + 1 + at.TELLING * run[at.COUNTERS]
    run[place] = queues[queue, at.Q_BYTES]
    run[place + 1] = queues[queue, at.Q_SENT]
    run[place + 2] = now
    run[at.COUNTERS] += 1


@indexed_from_zero
@inner
def follow_use(flows, control, parameters, run, flow, upto, frame):
    """HPCC: set the window by how full the fullest switch port on the path is."""
    use = 0.0
    took = 0.0
    base = control[flow, at.K_BASE]
    heard = control[flow, at.H_HEARD] > 0.0
    for hop in range(run[at.COUNTERS]):
        said = at.COUNTERS + 1 + at.TELLING * hop
        mine = at.CONTROL + at.HOP * hop
        waits = float(run[said])
        sent = float(run[said + 1])
        when = float(run[said + 2])
        apart = when - control[flow, mine + at.HOP_TIME]
        rate = control[flow, mine + at.HOP_RATE]
        if heard and apart > 0.0:
            load = (sent - control[flow, mine + at.HOP_SENT]) * BIT_PS / (apart * rate)
            load += min(waits, control[flow, mine + at.HOP_WAITS]) * BIT_PS / (rate * base)
            if load > use:
                use = load
                took = apart
        control[flow, mine + at.HOP_WAITS] = waits
        control[flow, mine + at.HOP_SENT] = sent
        control[flow, mine + at.HOP_TIME] = when
    if not heard:
        control[flow, at.H_HEARD] = 1.0
        control[flow, at.H_UPDATE] = flows[flow, at.S_NEXT]
        return
    share = min(took, base) / base
    use = (1.0 - share) * control[flow, at.H_USE] + share * use
    control[flow, at.H_USE] = use
    wanted = parameters[at.D_USE]
    stage = 0.0
    if use >= wanted or control[flow, at.H_STAGE] >= parameters[at.D_STAGES]:
        window = control[flow, at.H_REFERENCE] * wanted / max(use, at.LEAST_USE)
        window += control[flow, at.H_STEP]
    else:
        window = control[flow, at.H_REFERENCE] + control[flow, at.H_STEP]
        stage = control[flow, at.H_STAGE] + 1.0
    window = min(max(window, frame), control[flow, at.K_MOST])
    control[flow, at.K_WINDOW] = window
    if upto > control[flow, at.H_UPDATE]:
        control[flow, at.H_REFERENCE] = window
        control[flow, at.H_STAGE] = stage
        control[flow, at.H_UPDATE] = flows[flow, at.S_NEXT]
    control[flow, at.K_RATE] = min(window * BIT_PS / base, control[flow, at.K_LINE])


# Swift.


@indexed_from_zero
@inner
def hold_delay(control, parameters, now, flow, frame, fresh, gap, took):
    """Swift: set the window by a packet's round trip against the target."""
    packets = control[flow, at.K_WINDOW] / frame
    if not gap:
        control[flow, at.W_TOOK] = took
        control[flow, at.W_LATE] = 0.0
    scaling = parameters[at.D_SCALING]
    low = 1.0 / sqrt(parameters[at.D_SCALING_TO])
    high = 1.0 / sqrt(parameters[at.D_SCALING_FROM])
    more = scaling * (1.0 / sqrt(packets) - low) / (high - low)
    target = control[flow, at.W_REST] + max(0.0, min(more, scaling))
    may = now - control[flow, at.W_CUT] >= control[flow, at.W_TOOK]
    after = packets
    if gap:
        if may:
            after = packets * (1.0 - parameters[at.D_MOST_DECREASE])
    elif took < target:
        after = packets + parameters[at.D_INCREASE] * fresh / max(packets, 1.0)
    elif may:
        less = 1.0 - parameters[at.D_DECREASE] * (took - target) / took
        after = packets * max(less, 1.0 - parameters[at.D_MOST_DECREASE])
    change_swift(control, parameters, now, flow, frame, packets, after)


@indexed_from_zero
@inner
def change_swift(control, parameters, now, flow, frame, before, after):
    """Set a window of `after` packets, or the pace where that is less than one."""
    if after < before:
        control[flow, at.W_CUT] = now
    after = max(after, parameters[at.D_SMALLEST])
    window = min(after * frame, control[flow, at.K_MOST])
    control[flow, at.K_WINDOW] = window
    rate = control[flow, at.K_LINE]
    if window < frame:
        rate = min(window * BIT_PS / control[flow, at.W_TOOK], rate)
    control[flow, at.K_RATE] = rate


# NSCC.


@part
def bound(control, flow, frame, window):
    """Set a window between a packet and the most."""
    control[flow, at.K_WINDOW] = min(max(window, frame), control[flow, at.K_MOST])


@part
def weigh(control, parameters, flow, delay, marked):
    """Let a delay count in the average; one that no switch saw counts little."""
    if not marked and delay > parameters[at.N_TARGET]:
        delay = control[flow, at.K_BASE] * 0.25
    step = parameters[at.N_AVERAGING] * (delay - control[flow, at.U_AVERAGE])
    control[flow, at.U_AVERAGE] += step


@indexed_from_zero
@inner
def adapt(control, parameters, now, flow, frame, gap, marked, flying, delay):
    """Fall to what came through in a round trip, if that is little and something was lost.

    Returns True where the answer is to change nothing else.
    """
    done = False
    if control[flow, at.U_IGNORED] < control[flow, at.U_TO_IGNORE] and (marked or gap):
        done = True
    elif now > control[flow, at.U_ADAPT_AT]:
        late = delay > parameters[at.N_ADAPT_ABOVE] * parameters[at.N_TARGET]
        late = late or gap or control[flow, at.U_ADAPTING] > 0.0
        few = parameters[at.N_ADAPT_BELOW] * control[flow, at.K_MOST]
        if control[flow, at.U_ADAPT_AT] > 0.0 and late and control[flow, at.U_ACHIEVED] < few:
            control[flow, at.K_WINDOW] = max(control[flow, at.U_ACHIEVED], frame)
            control[flow, at.U_TO_IGNORE] = flying * frame
            control[flow, at.U_IGNORED] = 0.0
            control[flow, at.U_ADAPTING] = 0.0
            done = True
        control[flow, at.U_ACHIEVED] = 0.0
        control[flow, at.U_ADAPT_AT] = now + control[flow, at.K_BASE] + parameters[at.N_TARGET]
    if done:
        control[flow, at.U_PENDING] = 0.0
        control[flow, at.U_RECEIVED] = 0.0
    return done


@indexed_from_zero
@inner
def weigh_both(control, parameters, now, flow, frame, fresh, gap, marked, flying, took):
    """NSCC: set the window by a packet's mark and delay."""
    if gap:
        control[flow, at.U_IGNORED] += frame
        weigh(control, parameters, flow, parameters[at.N_LONGEST], True)
        control[flow, at.U_ADAPTING] = 1.0
        if not adapt(control, parameters, now, flow, frame, gap, marked, flying, 0.0):
            bound(control, flow, frame, control[flow, at.K_WINDOW] - frame)
        return
    news = fresh * frame
    control[flow, at.U_ACHIEVED] += news
    control[flow, at.U_RECEIVED] += news
    control[flow, at.U_IGNORED] += news
    delay = max(0.0, took - control[flow, at.K_BASE])
    weigh(control, parameters, flow, delay, marked)
    if adapt(control, parameters, now, flow, frame, gap, marked, flying, delay):
        return
    late = delay >= parameters[at.N_TARGET]
    if marked:
        if late:
            decrease(control, parameters, now, flow, frame)
    elif late:
        scale = parameters[at.N_SCALE]
        control[flow, at.U_PENDING] += parameters[at.N_FAIR] * frame * scale * news
    else:
        increase(control, parameters, flow, frame, news, delay)
    adjust(control, parameters, now, flow, frame)


@indexed_from_zero
@inner
def increase(control, parameters, flow, frame, news, delay):
    """Rise fast where nothing waits, or in proportion to what the delay leaves of its target."""
    scale = parameters[at.N_SCALE]
    if delay < parameters[at.N_FAST_BELOW]:
        control[flow, at.U_QUICK] += news
        if control[flow, at.U_QUICK] > control[flow, at.K_WINDOW] or control[flow, at.U_FAST] > 0.0:
            control[flow, at.U_FAST] = 1.0
            more = news * parameters[at.N_FAST] * scale
            bound(control, flow, frame, control[flow, at.K_WINDOW] + more)
            return
    else:
        control[flow, at.U_QUICK] = 0.0
    control[flow, at.U_FAST] = 0.0
    step = parameters[at.N_PROPORTIONAL] * frame * scale / parameters[at.N_ROUND_TRIP]
    control[flow, at.U_PENDING] += step * news * (parameters[at.N_TARGET] - delay)


@indexed_from_zero
@inner
def decrease(control, parameters, now, flow, frame):
    """Cut the window once a round trip, if the average delay too is above its target."""
    control[flow, at.U_FAST] = 0.0
    control[flow, at.U_QUICK] = 0.0
    average, target = control[flow, at.U_AVERAGE], parameters[at.N_TARGET]
    if average > target and now - control[flow, at.U_CUT] > control[flow, at.K_BASE]:
        less = 1.0 - parameters[at.N_DECREASE] * (average - target) / average
        less = max(less, 1.0 - parameters[at.N_MOST_DECREASE])
        bound(control, flow, frame, control[flow, at.K_WINDOW] * less)
        control[flow, at.U_CUT] = now


@indexed_from_zero
@inner
def adjust(control, parameters, now, flow, frame):
    """Make the increases that have gathered, every few packets or round trip."""
    rest = now - control[flow, at.U_ADJUSTED]
    longest = parameters[at.N_LONGEST]
    if control[flow, at.U_RECEIVED] > parameters[at.N_ADJUST] * frame or rest > longest:
        window = control[flow, at.K_WINDOW]
        window += control[flow, at.U_PENDING] / window
        if rest >= longest:
            window += parameters[at.N_ALWAYS] * frame * parameters[at.N_SCALE]
            control[flow, at.U_ADJUSTED] = now
        control[flow, at.U_PENDING] = 0.0
        control[flow, at.U_RECEIVED] = 0.0
        bound(control, flow, frame, window)


def warm() -> None:
    """Compiled with the kernels that call them."""
