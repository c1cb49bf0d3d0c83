"""The rows of congestion control: from the laws' parameters to what the kernels read."""

from typing import Final

import numpy as np

from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.laws import BIT_PS, Column, Tuning, tune
from ctestbed.transport.packet.problem import PacketFlows, PacketNetwork, PacketSettings

LAWS: Final = {
    "none": at.NO_CONTROL,
    "dcqcn": at.DCQCN,
    "hpcc": at.HPCC,
    "swift": at.SWIFT,
    "nscc": at.NSCC,
    "rcc": at.RCC,
}


def control_rows(network: PacketNetwork, flows: PacketFlows, settings: PacketSettings) -> Column:
    """Return a row per flow, as it is before its first packet."""
    first = flows.first_path
    line = network.rate[network.links[network.offsets[first]]].astype(np.float64)
    law = settings.congestion
    tuning = None if law in {"none", "dcqcn"} else tune(network, flows, settings)
    hops = int(tuning.switches.max(initial=0)) if tuning and law == "hpcc" else 0
    rows = np.zeros((len(line), at.CONTROL + at.HOP * hops), np.float64)
    rows[:, [at.K_RATE, at.K_LINE]] = line[:, None]
    if tuning is None:
        rows[:, at.K_TARGET] = line
        rows[:, at.K_ALPHA] = 1.0
        rows[:, [at.K_ALPHA_AT, at.K_RISE_AT]] = float(at.NEVER)
        return rows
    rows[:, at.K_BASE] = tuning.base
    frame = float(settings.payload + settings.header)
    if law == "hpcc":
        hpcc = settings.hpcc
        most = np.maximum(tuning.filled, frame)
        rows[:, [at.K_WINDOW, at.K_MOST, at.H_REFERENCE]] = most[:, None]
        rows[:, at.H_STEP] = most * (1.0 - hpcc.utilisation) / hpcc.flows
        rows[:, at.H_USE] = hpcc.utilisation
        for hop in range(hops):
            link = np.minimum(network.offsets[first] + hop + 1, len(network.links) - 1)
            rows[:, at.CONTROL + at.HOP * hop + at.HOP_RATE] = network.rate[network.links[link]]
    elif law == "rcc":
        rows[:, [at.K_WINDOW, at.K_MOST]] = tuning.unasked(frame)[:, None]
    elif law == "swift":
        _swift_rows(rows, tuning, settings, frame)
    else:
        most = np.maximum(settings.nscc.most * tuning.filled, frame)
        rows[:, [at.K_WINDOW, at.K_MOST]] = most[:, None]
    return rows


def _swift_rows(rows: Column, tuning: Tuning, settings: PacketSettings, frame: float) -> None:
    swift = settings.swift
    rest = tuning.base + swift.queueing + swift.per_hop * tuning.switches
    rows[:, at.W_REST] = rest
    rows[:, at.W_TOOK] = tuning.base
    most = swift.most * tuning.line * (rest + swift.scaling) / BIT_PS
    rows[:, at.K_MOST] = np.maximum(most, frame)
    rows[:, at.K_WINDOW] = np.maximum(tuning.filled, frame)


def set_windows(rows: Column, control: Column, settings: PacketSettings) -> None:
    """Give each flow the window that its law begins with."""
    if settings.congestion == "rcc":
        window = control[:, at.K_WINDOW].astype(np.int64)
        rows[:, at.S_WINDOW] = np.minimum(settings.max_in_flight, window)
    elif settings.congestion not in {"none", "dcqcn"}:
        packets = control[:, at.K_WINDOW] / (settings.payload + settings.header)
        packets = np.ceil(packets) if settings.congestion == "hpcc" else packets
        window = np.maximum(1, packets.astype(np.int64))
        rows[:, at.S_WINDOW] = np.minimum(settings.max_in_flight, window)


def parameters_row(network: PacketNetwork, flows: PacketFlows, settings: PacketSettings) -> Column:
    """Return the parameters of the law."""
    row = np.zeros(at.PARAMETERS, np.float64)
    dcqcn, hpcc, swift = settings.dcqcn, settings.hpcc, settings.swift
    values: dict[int, float] = {}
    if settings.congestion == "dcqcn":
        values = {
            at.D_G: dcqcn.g,
            at.D_RAI: dcqcn.additive_increase,
            at.D_HAI: dcqcn.hyper_increase,
            at.D_ALPHA_PERIOD: dcqcn.alpha_period,
            at.D_RISE_PERIOD: dcqcn.rise_period,
            at.D_RISE_BYTES: dcqcn.rise_bytes,
            at.D_FAST: dcqcn.fast_recovery,
            at.D_LEAST: dcqcn.least_rate,
            at.D_NOTICE_PERIOD: dcqcn.notice_period,
        }
    elif settings.congestion == "hpcc":
        values = {at.D_USE: hpcc.utilisation, at.D_STAGES: hpcc.stages}
    elif settings.congestion == "swift":
        values = {
            at.D_INCREASE: swift.increase,
            at.D_DECREASE: swift.decrease,
            at.D_MOST_DECREASE: swift.most_decrease,
            at.D_SCALING: swift.scaling,
            at.D_SCALING_FROM: swift.scaling_from,
            at.D_SCALING_TO: swift.scaling_to,
            at.D_SMALLEST: swift.least,
            at.D_TIMEOUTS: swift.timeouts,
        }
    elif settings.congestion == "nscc":
        values = _nscc_parameters(tune(network, flows, settings), settings)
    for column, value in values.items():
        row[column] = value
    return row


def _nscc_parameters(tuning: Tuning, settings: PacketSettings) -> dict[int, float]:
    nscc = settings.nscc
    share = nscc.target if settings.trim else nscc.target_untrimmed
    return {
        at.N_TARGET: tuning.longest * share,
        at.N_LONGEST: tuning.longest,
        at.N_SCALE: tuning.widest / nscc.reference_window,
        at.N_DECREASE: nscc.decrease,
        at.N_MOST_DECREASE: nscc.most_decrease,
        at.N_AVERAGING: nscc.averaging,
        at.N_ADAPT_ABOVE: nscc.adapt_above,
        at.N_ADAPT_BELOW: nscc.adapt_below,
        at.N_PROPORTIONAL: nscc.proportional,
        at.N_FAIR: nscc.fair,
        at.N_ALWAYS: nscc.always,
        at.N_FAST: nscc.fast,
        at.N_FAST_BELOW: nscc.fast_below,
        at.N_ADJUST: nscc.adjust_packets,
        at.N_ROUND_TRIP: nscc.reference_round_trip,
    }
