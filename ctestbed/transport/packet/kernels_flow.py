"""The two ends of a flow: what a data packet, an acknowledgement and a timer make of it."""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.kernels_code import know_group
from ctestbed.transport.packet.kernels_port import enter_ring, leave_ring
from ctestbed.transport.packet.kernels_window import give_up, respond, take_pull


@indexed_from_zero
@inner
def receive_in_order(flows, run, settings, now, flow, number, urgent):
    """Take a data packet, go-back-N: one out of order is thrown away, its gap reported once.

    Returns the kind of answer, -1 if none.
    """
    expected = flows[flow, at.R_EXPECT]
    if number == expected:
        flows[flow, at.R_EXPECT] = expected + 1
        flows[flow, at.R_SEEN] = 0
        flows[flow, at.R_UNACKED] += 1
        if expected + 1 == flows[flow, at.S_TOTAL]:
            flows[flow, at.R_DONE] = now
            run[at.X_DONE] = 2 * flow + 2
        elif flows[flow, at.R_UNACKED] < settings[at.C_ACK_EVERY] and not urgent:
            return -1
    elif number > expected:
        if flows[flow, at.R_SEEN] > 0:
            return -1
        flows[flow, at.R_SEEN] = number + 1
        run[at.X_NAKS] += 1
        return at.NAK
    flows[flow, at.R_UNACKED] = 0
    return at.ACK


@indexed_from_zero
@inner
def receive_any(flows, marks, run, now, flow, number):
    """Take a data packet, selective repeat: each counts once, in any order.

    Returns the first number of a gap that shows now: `number` itself if there is none.
    """
    place = flows[flow, at.S_BITS] + number
    if marks[place] & at.HAVE == 0:
        marks[place] |= at.HAVE
        flows[flow, at.R_COUNT] += 1
        if flows[flow, at.R_COUNT] == flows[flow, at.S_TOTAL]:
            flows[flow, at.R_DONE] = now
            run[at.X_DONE] = 2 * flow + 2
    seen = flows[flow, at.R_SEEN]
    if number < seen:
        return number
    flows[flow, at.R_SEEN] = number + 1
    return seen


@part
def settle_window(ports, flows, flow):
    """Let a held flow send again if its window allows; return True if it may."""
    if flows[flow, at.S_STATE] != at.HELD:
        return False
    following = flows[flow, at.S_NEXT]
    repair = flows[flow, at.S_REPAIR]
    if following >= flows[flow, at.S_TOTAL] and repair == 0:
        return False
    if following - flows[flow, at.S_ACKED] - repair >= flows[flow, at.S_WINDOW]:
        return False
    enter_ring(ports, flows, flows[flow, at.S_PORT], flow)
    return True


@part
def hold(ports, flows, flow):
    """Let a flow wait whose window has shrunk below what is in flight."""
    if flows[flow, at.S_STATE] == at.READY:
        following = flows[flow, at.S_NEXT]
        repair = flows[flow, at.S_REPAIR]
        all_sent = following >= flows[flow, at.S_TOTAL] and repair == 0
        ahead = following - flows[flow, at.S_ACKED] - repair
        if all_sent or ahead >= flows[flow, at.S_WINDOW]:
            leave_ring(ports, flows, flows[flow, at.S_PORT], flow)


@part
def finish(ports, flows, run, now, flow):
    """Note that a flow's sender knows that all has come."""
    if flows[flow, at.S_STATE] == at.READY:
        leave_ring(ports, flows, flows[flow, at.S_PORT], flow)
    flows[flow, at.S_STATE] = at.DONE
    flows[flow, at.S_FINISH] = now
    flows[flow, at.S_DEADLINE] = at.NEVER
    run[at.X_OPEN] -= 1
    run[at.X_DONE] = 2 * flow + 1


@part
def know(flows, marks, settings, flow, number, more):
    """Note that a packet has come, and more beside it, as in `F_PLACE`.

    Returns True if that makes all groups of a code whole.
    """
    whole = False
    each = number
    if more & at.RANGE:
        each -= more ^ at.RANGE
    while True:
        packet = flows[flow, at.S_BITS] + each
        if marks[packet] & at.KNOWN == 0:
            if marks[packet] & at.LACKS:
                flows[flow, at.S_REPAIR] -= 1
            marks[packet] = marks[packet] & at.UNTOLD | at.HAVE | at.KNOWN
            flows[flow, at.S_ACKED] += 1
            if settings[at.C_DATA] and know_group(flows, marks, settings, flow, each):
                whole = True
        if more == 0 or (more & at.RANGE and each == number):
            return whole
        each += 1
        if more & at.RANGE == 0:
            while more & 1 == 0:
                more >>= 1
                each += 1
            more >>= 1


@indexed_from_zero
@inner
def acknowledge(
    ports, flows, marks, control, parameters, run, settings, now, flow, number, kind, place, stamp
):
    """Take an answer at the sender; return True if the flow may have something to send.

    Go-back-N: all below `number` has come, and with NAK nothing behind. Selective repeat: packet
    `number` has come, and those that its place says, or with NAK it has not.
    """
    if flows[flow, at.S_STATE] == at.DONE:
        return False
    before = flows[flow, at.S_ACKED]
    if settings[at.C_RETRY] < at.NEVER:
        flows[flow, at.S_DEADLINE] = now + settings[at.C_RETRY]
    if settings[at.C_RELIABILITY]:
        if kind == at.NAK:
            ask_again(flows, marks, run, flow, number)
        elif know(flows, marks, settings, flow, number, place >> 8 & at.MORE):
            finish(ports, flows, run, now, flow)
            return False
    else:
        flows[flow, at.S_ACKED] = max(flows[flow, at.S_ACKED], number)
        if kind == at.NAK or flows[flow, at.S_NEXT] < flows[flow, at.S_ACKED]:
            rewind(flows, run, flow)
    if settings[at.C_DATA] == 0 and flows[flow, at.S_ACKED] == flows[flow, at.S_TOTAL]:
        finish(ports, flows, run, now, flow)
        return False
    if settings[at.C_CC] >= at.HPCC:
        fresh = flows[flow, at.S_ACKED] - before
        respond(
            flows, control, parameters, run, settings, now, flow, number, kind, fresh, place, stamp
        )
        hold(ports, flows, flow)
    elif settings[at.C_RELIABILITY]:
        # What was to be sent again may have come after all, and there may be nothing else.
        hold(ports, flows, flow)
    return settle_window(ports, flows, flow)


@indexed_from_zero
@inner
def be_pulled(ports, flows, control, settings, flow, number):
    """Take a credit at the sender; return True if the flow may have something to send."""
    if flows[flow, at.S_STATE] == at.DONE:
        return False
    take_pull(flows, control, settings, flow, number)
    return settle_window(ports, flows, flow)


@part
def ask_again(flows, marks, run, flow, number):
    """Have packet `number` sent again, unless that is known to be needless."""
    place = flows[flow, at.S_BITS] + number
    if marks[place] & (at.KNOWN | at.LACKS) == 0 and number < flows[flow, at.S_NEXT]:
        marks[place] |= at.LACKS
        flows[flow, at.S_REPAIR] += 1
        flows[flow, at.S_SCAN] = min(flows[flow, at.S_SCAN], number)
        flows[flow, at.S_RESENT] += 1
        run[at.X_RESENT] += 1


@part
def rewind(flows, run, flow):
    """Go back to the first packet that is not acknowledged."""
    again = flows[flow, at.S_NEXT] - flows[flow, at.S_ACKED]
    if again > 0:
        flows[flow, at.S_RESENT] += again
        run[at.X_RESENT] += again
    flows[flow, at.S_NEXT] = flows[flow, at.S_ACKED]


@part
def retry(ports, flows, marks, control, parameters, run, settings, now, flow):
    """Send again all that was not acknowledged in time."""
    flows[flow, at.S_DEADLINE] = at.NEVER
    if settings[at.C_RELIABILITY]:
        for number in range(flows[flow, at.S_NEXT]):
            ask_again(flows, marks, run, flow, number)
    else:
        rewind(flows, run, flow)
    if settings[at.C_CC] >= at.HPCC:
        give_up(flows, control, parameters, settings, now, flow)
    settle_window(ports, flows, flow)


@indexed_from_zero
@inner
def tick(ports, flows, marks, control, parameters, order, doors, run, settings, port, now):
    """Begin this port's flows that are due, and send again what was not acknowledged in time.

    `order` lists each port's flows by start. Sets the port's next timer.
    """
    index = ports[port, at.P_START]
    stop = ports[port, at.P_STOP]
    while index < stop and flows[order[index], at.S_START] <= now:
        enter_ring(ports, flows, port, order[index])
        index += 1
    ports[port, at.P_START] = index
    coming = flows[order[index], at.S_START] if index < stop else at.NEVER
    if settings[at.C_RETRY] < at.NEVER:
        back = index - 1
        while back >= 0 and flows[order[back], at.S_PORT] == port:
            flow = order[back]
            if flows[flow, at.S_DEADLINE] <= now:
                retry(ports, flows, marks, control, parameters, run, settings, now, flow)
            coming = min(coming, flows[flow, at.S_DEADLINE])
            back -= 1
    doors[port, at.A_TIMER] = min(doors[port, at.A_TIMER], coming)


def warm() -> None:
    """Compiled with the kernels that call them."""
