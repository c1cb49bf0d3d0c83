"""The laws of congestion control in plain Python: DCQCN, HPCC, Swift, and one like NSCC.

DCQCN's timers are no events: what they would have done is done when the rate is next needed.
"""

from typing import Final

from ctestbed.transport.packet.kernels_layout import NEVER
from ctestbed.transport.packet.pack import spread_law
from ctestbed.transport.packet.problem import DCQCN, PacketSettings
from ctestbed.transport.packet.reference_state import Flow

BIT_PS: Final = 8.0e12


def catch_up(flow: Flow, dcqcn: DCQCN, now: int) -> None:
    """Do what DCQCN's timers have done by now."""
    while flow.alpha_at <= now:
        flow.alpha *= 1.0 - dcqcn.g
        flow.alpha_at += dcqcn.alpha_period
    while flow.rise_at <= now:
        flow.times += 1.0
        flow.rise_at += dcqcn.rise_period
        rise(flow, dcqcn)
        if flow.rate >= flow.line:
            flow.rise_at = float(NEVER)


def rise(flow: Flow, dcqcn: DCQCN) -> None:
    """Raise DCQCN's rate one step."""
    past = min(flow.times, flow.rounds) - dcqcn.fast_recovery
    if past > 0:
        flow.target += past * dcqcn.hyper_increase
    elif max(flow.times, flow.rounds) > dcqcn.fast_recovery:
        flow.target += dcqcn.additive_increase
    flow.target = min(flow.target, flow.line)
    flow.rate = min((flow.rate + flow.target) * 0.5, flow.line)


def notice(flow: Flow, dcqcn: DCQCN, now: int) -> None:
    """Cut DCQCN's rate on a congestion notice."""
    catch_up(flow, dcqcn, now)
    flow.target = flow.rate
    flow.rate = max(flow.rate * (1.0 - flow.alpha * 0.5), dcqcn.least_rate)
    flow.alpha = (1.0 - dcqcn.g) * flow.alpha + dcqcn.g
    flow.alpha_at = now + dcqcn.alpha_period
    flow.rise_at = now + dcqcn.rise_period
    flow.times = flow.rounds = flow.towards = 0.0


def pace(flow: Flow, settings: PacketSettings, now: int) -> int:
    """Return when a flow that sends a full packet now may send again."""
    size = settings.header + settings.payload
    if settings.congestion == "dcqcn":
        catch_up(flow, settings.dcqcn, now)
        if flow.rate < flow.line:
            flow.towards += size
            if flow.towards >= settings.dcqcn.rise_bytes:
                flow.towards -= settings.dcqcn.rise_bytes
                flow.rounds += 1.0
                rise(flow, settings.dcqcn)
            return now + int(size * BIT_PS / flow.rate)
    elif settings.congestion != "none" and flow.rate < flow.line:
        return now + int(size * BIT_PS / flow.rate)
    return now


def follow(
    flow: Flow, settings: PacketSettings, number: int, now: int, sent: int, *,
    lost: bool, marked: bool,
) -> None:  # fmt: skip
    """Let a window law take an answer: packet `number` came, or was lost, sent at `sent`."""
    if settings.congestion in {"none", "dcqcn"} or flow.finish >= 0:
        return
    delay = float(now - sent)
    if settings.congestion == "hpcc":
        if not lost and number >= 0:
            _hpcc(flow, settings, number)
    elif settings.congestion == "swift":
        _swift(flow, settings, now, delay, lost=lost)
    else:
        _nscc(flow, settings, now, delay, lost=lost, marked=marked)
    flow.window = max(1, int(flow.wide / flow.frame))


def _utilisation(flow: Flow, number: int) -> float:
    most, over = 0.0, 0.0
    for hop in range(1, flow.hops):
        new = flow.telemetry[number % flow.slots, hop]
        if hop in flow.seen_before:
            old = flow.seen_before[hop]
            span = float(new.time - old.time)
            if span > 0.0:
                rate = float(new.rate)
                queue = float(min(new.queue, old.queue))
                use = queue * BIT_PS / (rate * flow.base)
                use += float(new.sent - old.sent) * BIT_PS / (rate * span)
                if use > most:
                    most, over = use, span
        flow.seen_before[hop] = new
    share = min(over, flow.base) / flow.base
    flow.use = (1.0 - share) * flow.use + share * most
    return flow.use


def _hpcc(flow: Flow, settings: PacketSettings, number: int) -> None:
    hpcc = settings.hpcc
    use = _utilisation(flow, number)
    more = flow.widest * (1.0 - hpcc.eta) / hpcc.sharers
    fast = use >= hpcc.eta or flow.stage >= hpcc.stages
    scale = max(use / hpcc.eta, 0.01) if fast else 1.0
    window = flow.reference / scale + more
    window = min(max(window, flow.frame), flow.widest)
    if number >= flow.last_change:
        flow.last_change = float(flow.following)
        flow.stage = 0.0 if fast else flow.stage + 1.0
        flow.reference = window
    flow.wide = window
    flow.rate = min(window * BIT_PS / flow.base, flow.line)


def _swift(flow: Flow, settings: PacketSettings, now: int, delay: float, *, lost: bool) -> None:
    swift = settings.swift
    alpha, off = spread_law(swift)
    window = flow.wide / flow.frame
    target = flow.target + min(max(alpha / window**0.5 - off, 0.0), swift.spread)
    may_cut = now - flow.last_change >= delay
    if not lost and delay < target:
        window += swift.rise / max(window, 1.0)
    elif may_cut:
        most = 1.0 - swift.most_cut
        window *= most if lost else max(1.0 - swift.beta * (delay - target) / delay, most)
        flow.last_change = float(now)
    window = min(max(window, swift.spread_least), flow.widest / flow.frame)
    flow.wide = window * flow.frame
    flow.rate = flow.line if window >= 1.0 else window * flow.frame * BIT_PS / max(delay, 1.0)


def _nscc(
    flow: Flow, settings: PacketSettings, now: int, delay: float, *, lost: bool, marked: bool
) -> None:
    nscc = settings.nscc
    waited = max(delay - flow.base, 0.0)
    target = nscc.target * flow.base
    window = flow.wide
    if lost:
        flow.lost = True
    else:
        flow.got += flow.frame
        flow.waited += (waited - flow.waited) * nscc.smooth
    if now >= flow.last_change + flow.base + target:
        if flow.lost:
            window = min(window, max(flow.got, flow.frame))
        flow.last_change, flow.got, flow.lost = float(now), 0.0, False
    if not lost:
        if not marked and waited < target:
            window += nscc.gain * flow.frame * flow.frame / window * (target - waited) / target
        elif not marked:
            window += nscc.fair * flow.frame * flow.frame / window
        elif waited >= target and now - flow.cut_at >= flow.base and flow.waited > target:
            window *= max(1.0 - nscc.beta * ((flow.waited - target) / flow.waited), 0.5)
            flow.cut_at = float(now)
    flow.wide = min(max(window, flow.frame), flow.widest)
