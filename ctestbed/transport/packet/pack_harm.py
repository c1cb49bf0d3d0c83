"""Rows of what goes wrong and of what guards against it: losses, storms, watchdogs, slow links."""

import numpy as np

from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.problem import Column, Harm, PacketSettings


def harm_rows(
    settings: PacketSettings, port_of_link: Column, ports: Column, doors: Column, queues: Column
) -> Column:
    """Set what storms pause, and return when wires lose, sorted by the ports they come to."""
    doors[:, at.W_HARM] = at.NEVER
    harm = settings.harm
    if harm is None:
        return np.zeros((1, at.HARM), np.int64)
    for link, klass, begin, until in harm.storms.tolist():
        port = int(port_of_link[link])
        if port >= 0 and klass < settings.classes:
            which = range(settings.classes) if klass < 0 else range(klass, klass + 1)
            rows = [port * settings.classes + each for each in which]
            queues[rows, at.Q_PAUSED], queues[rows, at.Q_UNTIL] = begin, until
    sender = port_of_link[harm.losses[:, 0]]
    losses = harm.losses[sender >= 0]
    port = ports[sender[sender >= 0], at.P_PEER]
    turn = np.lexsort((losses[:, 1], port))
    first = np.searchsorted(port[turn], np.arange(len(ports) + 1))
    doors[:, at.W_HARMS], doors[:, at.W_HARMS_END] = first[:-1], first[1:]
    np.minimum.at(doors[:, at.W_HARM], port, losses[:, 1])
    spans = np.zeros((len(losses) + 1, at.HARM), np.int64)
    spans[:-1] = losses[turn, 1:]
    return spans


def guard_rows(settings: PacketSettings, doors: Column, queues: Column) -> Column:
    """Return the watchdogs of all classes of ports, set on those that are paused from the start."""
    if settings.watchdog is None:
        return np.zeros((0, at.GUARD), np.int64)
    rows = np.zeros((len(queues), at.GUARD), np.int64)
    rows[:, [at.B_AT, at.B_FIRST]] = at.NEVER
    paused = np.flatnonzero(queues[:, at.Q_UNTIL] > 0)
    rows[paused, at.B_AT] = queues[paused, at.Q_PAUSED] + settings.watchdog.after
    np.minimum.at(doors[:, at.A_TIMER], paused // settings.classes, rows[paused, at.B_AT])
    return rows


def slow_rows(harm: Harm | None, port_of_link: Column, ports: Column, doors: Column) -> Column:
    """Return when which port sends at another rate, in order of time."""
    slows = np.zeros((0, 3), np.int64) if harm is None else harm.slows
    slows = slows[port_of_link[slows[:, 0]] >= 0]
    slows = slows[np.argsort(slows[:, 1], kind="stable")]
    rows = np.zeros((len(slows), at.SLOW), np.int64)
    rows[:, at.L_PORT] = port = port_of_link[slows[:, 0]]
    rows[:, at.L_TIME] = slows[:, 1]
    rows[:, at.L_PACE] = np.where(slows[:, 2] > 0, -slows[:, 2], ports[port, at.P_PACE])
    np.minimum.at(doors[:, at.A_TIMER], port, slows[:, 1])
    return rows
