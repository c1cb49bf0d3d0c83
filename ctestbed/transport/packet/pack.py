"""From arrays that people understand to the rows that the kernels walk, and back."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ctestbed.transport.packet import kernels_layout as at
from ctestbed.transport.packet.computed import computed_limits, is_long, known_ahead
from ctestbed.transport.packet.credits import buffers
from ctestbed.transport.packet.pack_control import (
    LAWS,
    control_rows,
    parameters_row,
    set_windows,
)
from ctestbed.transport.packet.pack_harm import guard_rows, harm_rows, slow_rows
from ctestbed.transport.packet.problem import (
    BIT_TIMES_OF_QUANTUM,
    Column,
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketSettings,
    Watchdog,
)
from ctestbed.transport.packet.sight import plan_looks

PS_PER_SECOND: Final = 10**12
CHUNK: Final = 8
_LINE_WORDS: Final = 8
_FIRST_CHUNKS: Final = 8192
"""Chunks of frames to begin with: 2 MiB that are touched only as they are used."""


@dataclass(slots=True)
class State:
    """Everything a run changes, and the maps back to links and flows."""

    ports: Column
    queues: Column
    nodes: Column
    flows: Column
    marks: Column
    control: Column
    harms: Column
    order: Column
    edges: Column
    waiting: Column
    hops: Column
    back: Column
    spans: Column
    pulls: Column
    ahead: Column
    guards: Column
    slows: Column
    holds: Column
    doors: Column
    due: Column
    store: Column
    chain: Column
    run: Column
    settings: Column
    parameters: Column
    heap: Column
    link_of_port: Column
    seen: Column
    looks: Column
    watch: Column

    def arguments(self) -> tuple[Column, ...]:
        """Return the arrays in the order that the kernels take them."""
        return (
            self.ports, self.queues, self.nodes, self.flows, self.marks, self.control,
            self.harms, self.order, self.edges, self.waiting, self.hops, self.back, self.spans,
            self.pulls, self.ahead, self.guards, self.slows, self.holds, self.doors,
            self.due, self.store, self.chain, self.run, self.settings, self.parameters,
            self.heap,
        )  # fmt: skip

    def looked_at(self) -> tuple[Column, ...]:
        """Return the arrays that a look at all ports takes."""
        return (
            self.queues, self.holds, self.seen, self.looks, self.watch, self.due, self.run,
            self.settings,
        )  # fmt: skip


def pack(
    network: PacketNetwork,
    flows: PacketFlows,
    limits: LinkClassLimits,
    settings: PacketSettings,
    room: int = 1,
) -> State:
    """Lay out the links that paths use, node by node, and the flows.

    `room` multiplies what one window of one node may need: more where less was not enough.
    """
    used = np.unique(network.links)
    both = np.union1d(used, used ^ 1)
    link_of_port = both[np.lexsort((both, network.tail[both]))]
    _, node_of_port, counts = np.unique(
        network.tail[link_of_port], return_inverse=True, return_counts=True
    )
    port_of_link = np.full(len(network.tail), -1, np.int64)
    port_of_link[link_of_port] = np.arange(len(link_of_port))
    ports = _port_rows(network, link_of_port, port_of_link, node_of_port)
    rows, order = _flow_rows(network, flows, ports, port_of_link)
    _cut(rows, flows.sizes, settings)
    edges, waiting = _wait_rows(flows, rows)
    control = control_rows(network, flows, settings)
    set_windows(rows, control, settings)
    hops = _hops(network, port_of_link, settings.ttl)
    doors = _door_rows(settings, ports, rows, order)
    queues = _queue_rows(computed_limits(network, limits, settings), link_of_port, settings)
    if settings.flow_control == "cbfc":
        _give_credit(buffers(network, limits), link_of_port, settings, queues)
    harms = harm_rows(settings, port_of_link, ports, doors, queues)
    guards = guard_rows(settings, doors, queues)
    slows = slow_rows(settings.harm, port_of_link, ports, doors)
    due = _due(node_of_port, doors)
    control_time = -(-settings.control * 8 * PS_PER_SECOND // ports[:, at.P_RATE])
    window = int((control_time + ports[:, at.P_DELAY]).min())
    frames = _frames_of_window(window, control_time, node_of_port)
    wide = _telling(rows, settings)
    run = np.zeros(at.COUNTERS + wide, np.int64)
    run[at.X_OPEN] = len(rows)
    run[at.X_RESERVE] = room * (2 * frames // CHUNK + 4 * int(counts.max()) + 64)
    state = State(
        aligned(ports), aligned(queues),
        aligned(_node_rows(settings, counts)), aligned(rows), _marks(rows, settings),
        control, harms, order, edges, waiting, hops,
        np.where(hops >= 0, ports[hops, at.P_PEER], -1).astype(np.int32),
        _spans(flows, rows, hops) if settings.adaptive else np.zeros(0, np.int32),
        _pull_rows(rows, control, len(ports), settings),
        _ahead_rows(network, settings, link_of_port), guards, slows, _hold_rows(len(queues)),
        aligned(doors),
        due, np.zeros((0, at.FRAME + wide), np.int64), np.zeros(0, np.int64), run,
        _settings_row(settings, window), parameters_row(network, flows, settings),
        np.zeros(room * (8 * frames + 128) + 2 * int(counts.max()), np.int64), link_of_port,
        *_look_rows(network, flows, settings, len(ports)),
    )  # fmt: skip
    _lay_wires(state)
    return state


def _due(node_of_port: Column, doors: Column) -> Column:
    """Return when each node's first alarm goes off."""
    due = np.full(int(node_of_port.max()) + 1, at.NEVER, np.int64)
    np.minimum.at(due, node_of_port, doors[:, at.A_TIMER])
    return due


def _telling(rows: Column, settings: PacketSettings) -> int:
    """Return the words that a frame carries beside its record."""
    if settings.congestion != "hpcc":
        return 0
    return 1 + at.TELLING * int(rows[:, at.S_STRIDE].max(initial=1))


def _lay_wires(state: State) -> None:
    """Make the frame store, and give each wire a chunk of it."""
    wires, run = len(state.ports), state.run
    grow(state, wires + max(_FIRST_CHUNKS, 2 * int(run[at.X_RESERVE])))
    state.store[: wires * CHUNK : CHUNK, at.F_TIME] = at.NEVER
    run[at.X_FREE] = wires
    run[at.X_LEFT] -= wires


def _port_rows(
    network: PacketNetwork, link_of_port: Column, port_of_link: Column, node_of_port: Column
) -> Column:
    peer = port_of_link[link_of_port ^ 1]
    rate = network.rate[link_of_port]
    rows = np.zeros((len(link_of_port), at.PORT), np.int64)
    rows[:, at.P_PEER] = peer
    rows[:, at.P_LINK] = link_of_port
    rows[:, at.P_PEER_NODE] = node_of_port[peer]
    per_byte = np.where(8 * PS_PER_SECOND % rate == 0, 8 * PS_PER_SECOND // rate, 0)
    delay = network.delay[link_of_port]
    fits = (per_byte > 0) & (per_byte >> at.PACE_SHIFT == 0) & (delay >> 62 - at.PACE_SHIFT == 0)
    rows[:, at.P_PACE] = np.where(fits, delay << at.PACE_SHIFT | per_byte, 0)
    rows[:, at.P_END] = peer * CHUNK
    rows[:, at.P_RATE] = rate
    rows[:, at.P_DELAY] = delay
    rows[:, [at.P_OWED, at.P_RING]] = -1
    return rows


def _node_rows(settings: PacketSettings, counts: Column) -> Column:
    rows = np.zeros((len(counts), at.NODE), np.int64)
    rows[:, at.N_FIRST] = np.cumsum(counts) - counts
    rows[:, at.N_PORTS] = counts
    rows[:, at.N_SHARED] = settings.shared
    rows[:, at.N_POOL_SIZE] = settings.headroom_pool
    return rows


def _door_rows(settings: PacketSettings, ports: Column, flows: Column, order: Column) -> Column:
    rows = np.zeros((len(ports), at.DOOR), np.int64)
    rows[:, [at.A_WAKE, at.A_TIMER]] = at.NEVER
    # Each wire begins with a chunk of its own, the sender's end and the receiver's in it.
    rows[:, at.W_HEAD] = np.arange(len(ports)) * CHUNK
    bits = settings.pause_quanta * BIT_TIMES_OF_QUANTUM
    rates, which = np.unique(ports[:, at.P_RATE], return_inverse=True)
    spans = np.array([bits * PS_PER_SECOND // rate for rate in rates.tolist()], np.int64)
    rows[:, at.A_SPAN] = spans[which.reshape(-1)]
    sends = ports[:, at.P_START] < ports[:, at.P_STOP]
    rows[sends, at.A_TIMER] = flows[order[ports[sends, at.P_START]], at.S_START]
    return rows


def _frames_of_window(window: int, control_time: Column, node_of_port: Column) -> int:
    """Return how many frames can come to, or leave, the busiest node in one window."""
    frames = window // control_time + 2
    return int(np.bincount(node_of_port, weights=frames).max())


def aligned(rows: Column) -> Column:
    """Return a copy that begins on a cache line, so that a row of 64 bytes touches one."""
    copy = _room(rows.shape)
    copy[...] = rows
    return copy


def _room(shape: tuple[int, ...]) -> Column:
    """Return zeros that begin on a cache line; pages that are not written to take no memory."""
    room = np.zeros(int(np.prod(shape)) + _LINE_WORDS, np.int64)
    skip = -room.ctypes.data % (8 * _LINE_WORDS) // 8
    return room[skip : skip + room.size - _LINE_WORDS].reshape(shape)


def grow(state: State, chunks: int) -> None:
    """Add chunks to the frame store."""
    old = len(state.chain)
    store = _room(((old + chunks) * CHUNK, state.store.shape[1]))
    store[: len(state.store)] = state.store
    state.store = store
    chain = np.arange(old + 1, old + chunks + 1)
    chain[-1] = state.run[at.X_FREE] if state.run[at.X_LEFT] else -1
    state.chain = np.concatenate([state.chain, chain])
    state.run[at.X_FREE] = old
    state.run[at.X_LEFT] += chunks


def _flow_rows(
    network: PacketNetwork, flows: PacketFlows, words: Column, port_of_link: Column
) -> tuple[Column, Column]:
    count = len(flows.sizes)
    rows = np.zeros((count, at.FLOW), np.int64)
    first_link = network.links[network.offsets[flows.first_path]]
    port = port_of_link[first_link]
    rows[:, at.S_HOPS] = network.offsets[flows.first_path] + flows.first_path + 1
    rows[:, at.S_CLASS] = flows.classes
    starts = flows.starts
    if flows.after is not None:
        starts = np.where(flows.after.needs > 0, at.NEVER, starts)
    rows[:, at.S_START] = starts
    rows[:, at.S_FINISH] = -1
    rows[:, at.R_DONE] = -1
    rows[:, at.S_DEADLINE] = at.NEVER
    rows[:, at.S_PATHS] = flows.paths
    rows[:, at.S_PORT] = port
    length = network.offsets[flows.first_path + 1] - network.offsets[flows.first_path]
    rows[:, at.S_STRIDE] = length + 1
    order = np.lexsort((np.arange(count), starts, port))
    first = np.searchsorted(port[order], np.arange(len(words) + 1))
    words[:, at.P_START], words[:, at.P_STOP] = first[:-1], first[1:]
    return rows, order.astype(np.int64)


def _wait_rows(flows: PacketFlows, rows: Column) -> tuple[Column, Column]:
    """Return who waits for whom, and what each flow that waits knows; have `rows` point at both."""
    after = flows.after
    if after is None:
        return np.full((1, at.EDGE), -1, np.int64), np.zeros((1, at.WAIT), np.int64)
    counts = np.diff(after.offsets)
    follower = np.repeat(np.arange(len(rows)), counts)
    turn = np.argsort(after.flows, kind="stable")
    edges = np.full((len(turn) + 1, at.EDGE), -1, np.int64)
    edges[:-1, at.E_OF] = after.flows[turn]
    edges[:-1, at.E_FOLLOWER] = follower[turn]
    edges[:-1, at.E_RECEIPT] = after.receipt[turn]
    rows[:, at.S_EDGES] = np.searchsorted(edges[:-1, at.E_OF], np.arange(len(rows)))
    waits = np.flatnonzero(after.needs > 0)
    waiting = np.zeros((len(waits) + 1, at.WAIT), np.int64)
    waiting[:-1, at.V_FIRST] = after.offsets[waits]
    waiting[:-1, at.V_NEEDS] = after.needs[waits]
    waiting[:-1, at.V_DELAY] = flows.starts[waits]
    rows[:, at.S_WAIT] = len(waits)
    rows[waits, at.S_WAIT] = np.arange(len(waits))
    return edges, waiting


def _pull_rows(rows: Column, control: Column, ports: int, settings: PacketSettings) -> Column:
    """Return what receivers know: nothing of ports, and how much of each flow is to be pulled."""
    if settings.congestion != "rcc":
        return np.zeros((0, at.PULL), np.int64)
    pulls = np.zeros((ports + len(rows), at.PULL), np.int64)
    pulls[:ports, at.Y_RING] = -1
    pulls[ports:, at.Y_WANTED] = np.maximum(0, rows[:, at.S_TOTAL] - control[:, at.K_MOST])
    return pulls


def _cut(rows: Column, sizes: Column, settings: PacketSettings) -> None:
    """Cut each flow into packets of `payload` bytes and a last one of the rest."""
    packets = -(-sizes // settings.payload)
    data, parity = settings.code
    groups = -(-packets // data) if data else 0
    rows[:, at.S_TOTAL] = packets + groups * parity
    rows[:, at.S_LAST] = sizes - (packets - 1) * settings.payload
    rows[:, at.S_WINDOW] = settings.max_in_flight
    if settings.reliability == "sr":
        # A byte for each packet, and two for each group of a code.
        known = rows[:, at.S_TOTAL] + 2 * groups
        rows[:, at.S_BITS] = np.cumsum(known) - known


def _marks(rows: Column, settings: PacketSettings) -> Column:
    """Return the bytes in which packets, and groups of a code, are marked."""
    if settings.reliability != "sr":
        return np.zeros(1, np.uint8)
    size = sum(settings.code)
    groups = -(-rows[:, at.S_TOTAL] // size) if size else np.zeros(1, np.int64)
    return np.zeros(int(rows[:, at.S_TOTAL].sum() + 2 * groups.sum()), np.uint8)


def _hops(network: PacketNetwork, port_of_link: Column, ttl: int) -> Column:
    """Return the ports of all paths, EXPIRES where a frame may go no further, -1 elsewhere."""
    paths = len(network.offsets) - 1
    hops = np.full(len(network.links) + paths + 1, -1, np.int64)
    path_of = np.repeat(np.arange(paths), np.diff(network.offsets))
    hops[np.arange(len(network.links)) + path_of + 1] = port_of_link[network.links]
    if ttl:
        longer = np.flatnonzero(np.diff(network.offsets) > ttl)
        hops[network.offsets[longer] + longer + 1 + ttl] = at.EXPIRES
    return hops.astype(np.int32)


def _spans(flows: PacketFlows, rows: Column, hops: Column) -> Column:
    """Return, at each place of `hops`, how many paths of its flow come to there the same way.

    That is so at the first of them; at the others it is fewer. Paths of a flow are sorted.
    """
    spans = np.ones(len(hops), np.int32)
    for stride in np.unique(rows[:, at.S_STRIDE]).tolist():
        mine = np.flatnonzero(rows[:, at.S_STRIDE] == stride)
        counts = flows.paths[mine]
        turn = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.repeat(rows[mine, at.S_HOPS], counts) + turn * stride
        # New where a path's way so far differs from the one before, of the same flow.
        new = turn == 0
        for hop in range(stride - 1):
            port = hops[first + hop]
            new = new | (port != np.roll(port, 1))
            begins = np.flatnonzero(new)
            spans[first[begins] + hop] = np.diff(begins, append=len(new))
    return spans


def _queue_rows(limits: LinkClassLimits, link_of_port: Column, settings: PacketSettings) -> Column:
    rows = np.zeros((len(link_of_port), settings.classes, at.QUEUE), np.int64)
    arriving = link_of_port ^ 1
    for column, values, links in (
        (at.Q_XOFF, limits.xoff, arriving),
        (at.Q_XON, limits.xon, arriving),
        (at.Q_ROOM, limits.headroom, arriving),
        (at.Q_LIMIT, limits.queue, link_of_port),
    ):
        rows[:, :, column] = values[links][:, None]
    if limits.blocked is not None:
        rows[:, :, at.Q_UNTIL] = limits.blocked[link_of_port][:, None]
    rows[:, :, at.Q_ASK] = at.NEVER
    rows[:, :, at.Q_FIRST] = at.NEVER
    return rows.reshape(-1, at.QUEUE)


def _ahead_rows(network: PacketNetwork, settings: PacketSettings, link_of_port: Column) -> Column:
    """Return what receivers of long links know; no rows where none computes pauses."""
    if settings.flow_control != "bifrost":
        return np.zeros((0, at.AHEAD), np.int64)
    rows = np.zeros((len(link_of_port), settings.classes, at.AHEAD), np.int64)
    arriving = link_of_port ^ 1
    period, first = known_ahead(network, settings)
    rows[:, :, at.G_NEXT] = at.NEVER
    rows[:, :, at.G_PERIOD] = period[arriving][:, None]
    rows[:, :, at.G_FIRST] = first[arriving][:, None]
    rows[:, :, at.G_LONG] = is_long(network, settings)[arriving][:, None]
    return rows.reshape(-1, at.AHEAD)


def _look_rows(
    network: PacketNetwork, flows: PacketFlows, settings: PacketSettings, ports: int
) -> tuple[Column, Column, Column]:
    """Return what is seen of each port and of all, and when to look."""
    step, looks = plan_looks(network, flows, settings)
    sums = np.zeros((looks, at.LOOK), np.int64)
    return np.zeros((looks, ports), np.uint32), sums, np.array([step, step, 0])


def _hold_rows(count: int) -> Column:
    rows = np.zeros((count, at.HOLD), np.int64)
    rows[:, [at.J_FIRST, at.J_SINCE]] = at.NEVER
    rows[:, at.J_CAUSE] = -1
    return rows


def _give_credit(
    room: Column, link_of_port: Column, settings: PacketSettings, queues: Column
) -> None:
    """Let each port send what its peer has room for; lossy classes need no credit."""
    rows = queues.reshape(len(link_of_port), settings.classes, at.QUEUE)
    for klass in range(settings.classes):
        lossless = settings.lossless >> klass & 1
        rows[:, klass, at.Q_ALLOWED] = room[link_of_port] if lossless else at.NEVER
        rows[:, klass, at.Q_ROOM] = room[link_of_port ^ 1] if lossless else at.NEVER
        if lossless:
            rows[:, klass, [at.Q_FREED, at.Q_SAID]] = 0


def _settings_row(settings: PacketSettings, window: int) -> Column:
    row = np.zeros(at.SETTINGS, np.int64)
    watchdog = settings.watchdog or Watchdog(0, 0)
    for column, value in {
        at.C_CLASSES: settings.classes,
        at.C_PAYLOAD: settings.payload,
        at.C_HEADER: settings.header,
        at.C_CONTROL: settings.control,
        at.C_WINDOW: window,
        at.C_LOSSLESS: settings.lossless,
        at.C_RESPONSE: settings.pause_response,
        at.C_ALPHA: settings.alpha[0],
        at.C_ALPHA_OF: settings.alpha[1],
        at.C_RETRY: settings.retry,
        at.C_ACK_EVERY: settings.ack_every,
        at.C_RELIABILITY: int(settings.reliability == "sr"),
        at.C_SPRAY: int(settings.spray) * (2 if settings.drawn_paths else 1),
        at.C_FLOWLET: settings.flowlet_gap,
        at.C_KMIN: settings.mark_from,
        at.C_KMAX: settings.mark_all,
        at.C_PMAX: settings.mark_share,
        at.C_SEED: settings.seed,
        at.C_INORDER: int(not settings.overtakes),
        at.C_ADAPTIVE: int(settings.adaptive),
        at.C_DATA: settings.code[0],
        at.C_PARITY: settings.code[1],
        at.C_PERIOD: settings.pause_period if settings.flow_control == "bifrost" else 0,
        at.C_TRIM: int(settings.trim),
        at.C_CC: LAWS[settings.congestion],
        at.C_MOST: settings.max_in_flight,
        at.C_HYSTERESIS: settings.hysteresis,
        at.C_WATCHDOG: watchdog.after,
        at.C_RESTORE: min(watchdog.restore, at.NEVER - 1),
        at.C_IGNORES: int(watchdog.forward),
        at.C_CREDIT: int(settings.flow_control == "cbfc"),
        at.C_EAGER: int(settings.alpha[0] > 0 or settings.flow_control == "cbfc"),
    }.items():
        row[column] = value
    return row
