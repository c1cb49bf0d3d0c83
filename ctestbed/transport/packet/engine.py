"""The packet engine: packs a problem, runs the kernels in slices, and unpacks what came out."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeAlias

import numpy as np

from ctestbed.core.interrupt import wish_to_stop
from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.memory import require
from ctestbed.transport.packet.pack import CHUNK, State, grow, pack
from ctestbed.transport.packet.problem import (
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketOutcome,
    PacketSettings,
    PortRecord,
    Sights,
    one_cable,
)
from ctestbed.transport.packet.stillness import next_look, patience_of, stands_still

Loop: TypeAlias = Callable[..., int]
Notify: TypeAlias = Callable[[int, int, int], None]
SLICE = 2_000_000
"""Events between two looks at the keyboard: some tenths of a second."""


@cache
def load_kernel() -> Loop:
    """Return the loop, compiled or loaded: no run's time holds that.

    It takes a state, a horizon, and how many events it may settle before it returns.
    """
    from ctestbed.transport.packet.kernels import run_windows
    from ctestbed.transport.packet.kernels_sight import look

    def loop(state: State, horizon: int, budget: int) -> int:
        code: int = at.RUNNING
        stop = int(state.run[at.X_EVENTS]) + budget
        while code == at.RUNNING and state.run[at.X_EVENTS] <= stop:
            until = int(state.watch[at.Z_AT])
            code = run_windows(*state.arguments(), min(horizon, until), budget)
            if until < at.NEVER:
                look(*state.looked_at(), horizon)
            if until >= horizon:
                break
        return code

    state = pack(*one_cable(1))
    loop(state, at.NEVER - 1, SLICE)
    look(*state.looked_at(), at.NEVER - 1)
    return loop


def simulate(
    network: PacketNetwork,
    flows: PacketFlows,
    limits: LinkClassLimits,
    settings: PacketSettings,
    horizon: int = at.NEVER - 1,
    notify: Notify | None = None,
) -> PacketOutcome:
    """Run until all flows have finished, nothing is left to happen, or `horizon` ps.

    Ctrl-C ends the run where it is, and the outcome says so. `notify` hears now and then of the
    simulated ps, the events so far, and the flows that are not finished.

    Raises:
        EnvironmentLacksError: the tables need more memory than there is.
    """
    loop = load_kernel()
    require(network, flows, settings)
    patience = patience_of(settings, limits)
    room = 1
    while True:
        state = pack(network, flows, limits, settings, room)
        code = at.FULL
        upto = min(horizon, patience)
        began = time.process_time()
        with wish_to_stop() as wish:
            while code in {at.FULL, at.RUNNING} and not wish.stop:
                code = loop(state, upto, SLICE)
                if code == at.FULL:
                    grow(state, max(len(state.chain), int(state.run[at.X_RESERVE])))
                if code == at.RUNNING and state.due.min() > upto:
                    if upto >= horizon:
                        break
                    code, upto = _look(state, upto, patience)
                    upto = min(horizon, upto)
                if notify is not None:
                    run = state.run
                    notify(*(int(run[row]) for row in (at.X_NOW, at.X_EVENTS, at.X_OPEN)))
            cut = wish.stop and code in {at.FULL, at.RUNNING}
        if code != at.FAULT:
            outcome = _unpack(state, code, time.process_time() - began)
            return replace(outcome, interrupted=cut)
        room *= 4


def _look(state: State, upto: int, patience: int) -> tuple[int, int]:
    """Tell whether a run stands still at `upto`, and until when to go on if not."""
    starts, last = state.flows[:, at.S_START], int(state.run[at.X_LAST])
    if stands_still(starts, upto, last, patience):
        heads = state.store[state.doors[:, at.W_HEAD], at.F_TIME]
        if min(int(heads.min()), int(state.doors[:, at.A_WAKE].min())) >= at.NEVER:
            return (at.STUCK if state.run[at.X_OPEN] else at.ENDED), upto
    return at.RUNNING, next_look(starts, upto, last, patience)


def _unpack(state: State, code: int, cpu: float) -> PacketOutcome:
    flows, run = state.flows, state.run
    begun = flows[:, at.S_START]
    return PacketOutcome(
        np.where(begun < at.NEVER, begun, -1),
        flows[:, at.S_FINISH].copy(),
        flows[:, at.R_DONE].copy(),
        flows[:, at.S_RESENT].copy(),
        ended=int(run[at.X_OPEN]) == 0,
        stuck=code == at.STUCK,
        now=int(run[at.X_LAST]),
        lost=int(run[at.X_LOST]),
        trimmed=int(run[at.X_TRIMMED]),
        perished=int(run[at.X_PERISHED]),
        erred=int(run[at.X_ERRED]),
        watched=int(run[at.X_WATCHED]),
        expired=int(run[at.X_EXPIRED]),
        data_hops=int(run[at.X_DATA_HOPS]),
        control_hops=int(run[at.X_CONTROL_HOPS]),
        ports=_record(state),
        sights=_sights(state) if len(state.looks) else None,
        waits=_waits(state) if code == at.STUCK else (),
        events=int(run[at.X_EVENTS]),
        cpu=cpu,
    )


def _waits(state: State) -> tuple[tuple[int, int], ...]:
    """Return which waiting links wait for which, by the frames that wait in each queue."""
    classes = int(state.settings[at.C_CLASSES])
    found = set()
    for queue in np.flatnonzero(state.queues[:, at.Q_COUNT]).tolist():
        port, klass = divmod(queue, classes)
        slot = int(state.queues[queue, at.Q_HEAD])
        for _ in range(int(state.queues[queue, at.Q_COUNT])):
            entered = int(state.store[slot, at.F_PLACE]) >> 8 & 0xFFFFFF
            if _is_full(state, entered * classes + klass):
                came_by = state.link_of_port[state.ports[entered, at.P_PEER]]
                found.add((int(came_by), int(state.link_of_port[port])))
            slot += 1
            if slot % CHUNK == 0:
                slot = int(state.chain[slot // CHUNK - 1]) * CHUNK
    return tuple(sorted(found))


def _is_full(state: State, queue: int) -> bool:
    row, settings = state.queues[queue], state.settings
    frame = settings[at.C_HEADER] + settings[at.C_PAYLOAD]
    full = settings[at.C_CREDIT] and row[at.Q_IN] + frame > row[at.Q_ROOM]
    return bool(row[at.Q_OFF] or full)


def _record(state: State) -> PortRecord:
    """Sort what the ports counted by directed link; ingress figures lie with the receiver."""
    count, classes = len(state.link_of_port), int(state.settings[at.C_CLASSES])
    rows = state.queues.reshape(count, -1, at.QUEUE)
    holds = state.holds.reshape(count, -1, at.HOLD)
    order = np.argsort(state.link_of_port)
    peer = state.ports[order, at.P_PEER]
    leaving, arriving = rows[order], rows[peer]
    cause = holds[peer, :, at.J_CAUSE]
    since = holds[order, :, at.J_SINCE]
    still = np.where(since < at.NEVER, np.maximum(0, state.run[at.X_LAST] - since), 0)
    guards = state.guards
    if not len(guards):
        guards = np.zeros((len(state.queues), at.GUARD), np.int64)
        guards[:, at.B_FIRST] = at.NEVER
    guards = guards.reshape(count, -1, at.GUARD)[order]
    return PortRecord(
        links=state.link_of_port[order],
        waiting_max=leaving[:, :, at.Q_MAX],
        entered_max=arriving[:, :, at.Q_MAX_IN],
        headroom_max=arriving[:, :, at.Q_MAX_OVER],
        drops=arriving[:, :, at.Q_DROPS],
        pauses=arriving[:, :, at.Q_PAUSES],
        paused=leaving[:, :, at.Q_PAUSE_TIME],
        marks=leaving[:, :, at.Q_MARKS],
        sent_bytes=leaving[:, :, at.Q_SENT],
        sent_frames=leaving[:, :, at.Q_FRAMES],
        first_drop=arriving[:, :, at.Q_FIRST],
        watchdog_drops=guards[:, :, at.B_DROPS],
        watchdog_first=guards[:, :, at.B_FIRST],
        first_pause=holds[peer, :, at.J_FIRST],
        cause=np.where(cause < 0, -1, state.link_of_port[cause // classes]),
        stalled=holds[order, :, at.J_STALL] + still,
    )


def _sights(state: State) -> Sights:
    """Sort what was seen by directed link."""
    kept = int(state.watch[at.Z_KEPT])
    seen = state.seen[:kept, np.argsort(state.link_of_port)]
    looks = state.looks[:kept]
    return Sights(int(state.watch[at.Z_STEP]), seen >> 1, (seen & 1).astype(bool), *looks.T)
