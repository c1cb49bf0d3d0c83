"""Window laws at the sender: HPCC, Swift, and one in the manner of UEC's NSCC.

Each acknowledgement may change a flow's window, in bytes with headers; what may be in flight is
counted in packets, and where less than the line rate is wanted the next packet is put off.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_control import BIT_PS


@indexed_from_zero
@inner
def record(telemetry, flows, ports, queues, flow, number, place, out, queue, now):
    """Note what a data packet sees at a switch's port as it leaves: HPCC's telemetry."""
    length = flows[flow, at.S_STRIDE] - 1
    hop = (place - flows[flow, at.S_HOPS]) % flows[flow, at.S_STRIDE]
    row = flows[flow, at.S_SEEN_AT] + length * (1 + number % flows[flow, at.S_SLOTS]) + hop
    telemetry[row, at.T_QUEUE] = queues[queue, at.Q_BYTES]
    telemetry[row, at.T_SENT] = queues[queue, at.Q_SENT]
    telemetry[row, at.T_TIME] = now
    telemetry[row, at.T_RATE] = ports[out, at.P_RATE]


@part
def busiest(telemetry, flows, control, flow, number):
    """Return HPCC's smoothed utilisation after the telemetry of packet `number`; keep that."""
    length = flows[flow, at.S_STRIDE] - 1
    last = flows[flow, at.S_SEEN_AT]
    this = last + length * (1 + number % flows[flow, at.S_SLOTS])
    base = control[flow, at.K_BASE]
    most, over = 0.0, 0.0
    for hop in range(1, length):
        old, new = last + hop, this + hop
        span = float(telemetry[new, at.T_TIME] - telemetry[old, at.T_TIME])
        if telemetry[old, at.T_RATE] > 0 and span > 0.0:
            rate = float(telemetry[new, at.T_RATE])
            queue = float(min(telemetry[new, at.T_QUEUE], telemetry[old, at.T_QUEUE]))
            sent = float(telemetry[new, at.T_SENT] - telemetry[old, at.T_SENT])
            use = queue * BIT_PS / (rate * base) + sent * BIT_PS / (rate * span)
            if use > most:
                most, over = use, span
        for column in range(at.TELEMETRY):
            telemetry[old, column] = telemetry[new, column]
    share = min(over, base) / base
    control[flow, at.K_USE] = (1.0 - share) * control[flow, at.K_USE] + share * most
    return control[flow, at.K_USE]


@part
def follow_hpcc(telemetry, flows, control, parameters, flow, number):
    """React as HPCC does (Li et al., SIGCOMM 2019, algorithm 1)."""
    use = busiest(telemetry, flows, control, flow, number)
    more = control[flow, at.K_MOST] * (1.0 - parameters[at.D_ETA]) / parameters[at.D_SHARERS]
    stage = control[flow, at.K_STAGE]
    fast = use >= parameters[at.D_ETA] or stage >= parameters[at.D_STAGES]
    window = control[flow, at.K_REFERENCE] + more
    if fast:
        window = control[flow, at.K_REFERENCE] / max(use / parameters[at.D_ETA], 0.01) + more
    window = min(max(window, control[flow, at.K_FRAME]), control[flow, at.K_MOST])
    if number >= control[flow, at.K_LAST]:
        control[flow, at.K_LAST] = float(flows[flow, at.S_NEXT])
        control[flow, at.K_STAGE] = 0.0 if fast else stage + 1.0
        control[flow, at.K_REFERENCE] = window
    control[flow, at.K_WINDOW] = window
    control[flow, at.K_RATE] = min(
        window * BIT_PS / control[flow, at.K_BASE], control[flow, at.K_LINE]
    )


@part
def follow_swift(control, parameters, flow, now, delay, lost):
    """React as Swift does (Kumar et al., SIGCOMM 2020, algorithm 1), windows in packets inside."""
    frame = control[flow, at.K_FRAME]
    window = control[flow, at.K_WINDOW] / frame
    spread = parameters[at.D_FS_ALPHA] / window**0.5 - parameters[at.D_FS_OFF]
    target = control[flow, at.K_TARGET] + min(max(spread, 0.0), parameters[at.D_FS_RANGE])
    may_cut = now - control[flow, at.K_LAST] >= delay
    if lost:
        if may_cut:
            window *= 1.0 - parameters[at.D_MOST_CUT]
            control[flow, at.K_LAST] = float(now)
    elif delay < target:
        window += parameters[at.D_RISE] / max(window, 1.0)
    elif may_cut:
        cut = parameters[at.D_BETA] * (delay - target) / delay
        window *= max(1.0 - cut, 1.0 - parameters[at.D_MOST_CUT])
        control[flow, at.K_LAST] = float(now)
    window = min(max(window, parameters[at.D_FS_LEAST]), control[flow, at.K_MOST] / frame)
    control[flow, at.K_WINDOW] = window * frame
    control[flow, at.K_RATE] = control[flow, at.K_LINE]
    if window < 1.0:
        control[flow, at.K_RATE] = window * frame * BIT_PS / max(delay, 1.0)


@part
def follow_nscc(control, parameters, flow, now, delay, lost, marked):
    """React by ECN and delay, in the manner of UEC's NSCC: four cases, and a quick adaptation."""
    frame, base = control[flow, at.K_FRAME], control[flow, at.K_BASE]
    waited = max(delay - base, 0.0)
    target = parameters[at.D_TARGET] * base
    window = control[flow, at.K_WINDOW]
    if not lost:
        control[flow, at.K_GOT] += frame
        control[flow, at.K_DELAY] += (waited - control[flow, at.K_DELAY]) * parameters[at.D_SMOOTH]
    else:
        control[flow, at.K_LOST] = 1.0
    if now >= control[flow, at.K_LAST] + base + target:
        # Once per round trip, if packets were lost: what came through is what fits.
        if control[flow, at.K_LOST] > 0.0:
            window = min(window, max(control[flow, at.K_GOT], frame))
        control[flow, at.K_LAST] = float(now)
        control[flow, at.K_GOT] = 0.0
        control[flow, at.K_LOST] = 0.0
    if not lost:
        if waited < target and not marked:
            window += parameters[at.D_GAIN] * frame * frame / window * (target - waited) / target
        elif not marked:
            window += parameters[at.D_FAIR] * frame * frame / window
        elif (
            waited >= target
            and now - control[flow, at.K_CUT] >= base
            and control[flow, at.K_DELAY] > target
        ):
            over = (control[flow, at.K_DELAY] - target) / control[flow, at.K_DELAY]
            window *= max(1.0 - parameters[at.D_BETA] * over, 0.5)
            control[flow, at.K_CUT] = float(now)
    control[flow, at.K_WINDOW] = min(max(window, frame), control[flow, at.K_MOST])


@indexed_from_zero
@inner
def follow(telemetry, flows, control, parameters, settings, flow, number, now, place, stamp, lost):
    """Let a flow's law take an answer: packet `number` came, or `lost`, sent at `stamp`."""
    if flows[flow, at.S_STATE] == at.DONE:
        return
    delay = float(now - (stamp >> 16))
    law = settings[at.C_CC]
    if law == at.HPCC:
        if not lost and number >= 0:
            follow_hpcc(telemetry, flows, control, parameters, flow, number)
    elif law == at.SWIFT:
        follow_swift(control, parameters, flow, now, delay, lost)
    else:
        follow_nscc(control, parameters, flow, now, delay, lost, place & at.ECN > 0)
    window = int(control[flow, at.K_WINDOW] / control[flow, at.K_FRAME])
    flows[flow, at.S_WINDOW] = max(1, window)


@indexed_from_zero
@inner
def put_off(control, flow, now, size):
    """Return when a flow that sends `size` bytes now may send again."""
    if control[flow, at.K_RATE] >= control[flow, at.K_LINE]:
        return now
    return now + int(size * BIT_PS / control[flow, at.K_RATE])


def warm() -> None:
    """Compiled with the kernels that call them."""
