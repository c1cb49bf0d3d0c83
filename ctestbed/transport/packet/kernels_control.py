"""Rate control at the sender: DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 3.1).

Its timers cause no events: what they would have done by now is done when the rate is next needed.
"""

from ctestbed.core.jit import indexed_from_zero, inner, part
from ctestbed.transport.packet import kernels_layout as at

BIT_PS = 8.0e12
"""Bits a byte times ps a second: a byte at r bit/s lasts BIT_PS / r ps."""


@part
def rise(control, parameters, flow):
    """Raise the rate one step: half way back, then by the additive, then the hyper increase."""
    times, rounds = control[flow, at.K_TIMES], control[flow, at.K_ROUNDS]
    fast = parameters[at.D_FAST]
    if times > fast and rounds > fast:
        steps = min(times, rounds) - fast
        control[flow, at.K_TARGET] += steps * parameters[at.D_HAI]
    elif times > fast or rounds > fast:
        control[flow, at.K_TARGET] += parameters[at.D_RAI]
    control[flow, at.K_TARGET] = min(control[flow, at.K_TARGET], control[flow, at.K_LINE])
    middle = (control[flow, at.K_RATE] + control[flow, at.K_TARGET]) * 0.5
    control[flow, at.K_RATE] = min(middle, control[flow, at.K_LINE])


@part
def catch_up(control, parameters, flow, now):
    """Do what the flow's timers have done since they were last looked at."""
    while control[flow, at.K_ALPHA_AT] <= now:
        control[flow, at.K_ALPHA] *= 1.0 - parameters[at.D_G]
        control[flow, at.K_ALPHA_AT] += parameters[at.D_ALPHA_PERIOD]
    while control[flow, at.K_RISE_AT] <= now:
        control[flow, at.K_TIMES] += 1.0
        control[flow, at.K_RISE_AT] += parameters[at.D_RISE_PERIOD]
        rise(control, parameters, flow)
        if control[flow, at.K_RATE] >= control[flow, at.K_LINE]:
            control[flow, at.K_RISE_AT] = 2.0**62


@indexed_from_zero
@inner
def notice(control, parameters, flow, now):
    """Cut the rate on a congestion notice."""
    catch_up(control, parameters, flow, now)
    control[flow, at.K_TARGET] = control[flow, at.K_RATE]
    lower = control[flow, at.K_RATE] * (1.0 - control[flow, at.K_ALPHA] * 0.5)
    control[flow, at.K_RATE] = max(lower, parameters[at.D_LEAST])
    g = parameters[at.D_G]
    control[flow, at.K_ALPHA] = (1.0 - g) * control[flow, at.K_ALPHA] + g
    control[flow, at.K_ALPHA_AT] = now + parameters[at.D_ALPHA_PERIOD]
    control[flow, at.K_RISE_AT] = now + parameters[at.D_RISE_PERIOD]
    control[flow, at.K_TIMES] = 0.0
    control[flow, at.K_ROUNDS] = 0.0
    control[flow, at.K_BYTES] = 0.0


@indexed_from_zero
@inner
def pace(control, parameters, flow, now, size):
    """Return when a flow that sends `size` bytes now may send again, in ps."""
    catch_up(control, parameters, flow, now)
    if control[flow, at.K_RATE] >= control[flow, at.K_LINE]:
        return now
    control[flow, at.K_BYTES] += size
    if control[flow, at.K_BYTES] >= parameters[at.D_RISE_BYTES]:
        control[flow, at.K_BYTES] -= parameters[at.D_RISE_BYTES]
        control[flow, at.K_ROUNDS] += 1.0
        rise(control, parameters, flow)
    return now + int(size * BIT_PS / control[flow, at.K_RATE])


def warm() -> None:
    """Compiled with the kernels that call them."""
