"""Problems for the packet engines: named ones, and random ones of two leaves and two spines."""

from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from ctestbed.transport.packet.problem import (
    Harm,
    LinkClassLimits,
    PacketFlows,
    PacketNetwork,
    PacketSettings,
    PacketWaits,
    Watchdog,
)

NEVER = 2**62
Problem: TypeAlias = tuple[PacketNetwork, PacketFlows, LinkClassLimits, PacketSettings]


def column(*values: int) -> Any:
    return np.array(values, np.int64)


def chain(
    links: list[tuple[int, int]], size: int, settings: PacketSettings, **limits: int
) -> Problem:
    """One flow over cables of (bit/s, ps) in a row; `limits` are of every link."""
    count = len(links)
    nodes = range(count)
    network = PacketNetwork(
        column(*(node + end for node in nodes for end in (0, 1))),
        column(*(node + 1 - end for node in nodes for end in (0, 1))),
        column(*(rate for rate, _ in links for _ in (0, 1))),
        column(*(delay for _, delay in links for _ in (0, 1))),
        column(0, count),
        column(*(2 * node for node in nodes)),
    )
    flows = PacketFlows(column(size), column(0), column(0), column(0), column(1))
    return network, flows, every_link(2 * count, **limits), settings


def every_link(
    count: int, xoff: int = NEVER, xon: int | None = None, room: int = NEVER, queue: int = NEVER
) -> LinkClassLimits:
    """The same limits at every link."""
    values = (xoff, xoff * 89 // 100 if xon is None else xon, room, queue)
    return LinkClassLimits(*(np.full(count, value, np.int64) for value in values))


@st.composite
def harms(draw: st.DrawFn, cables: int, classes: int, used: list[int]) -> Harm:
    """Any losses and storms on directed links of so many cables, more often on those in use."""
    link = st.sampled_from(used) | st.integers(0, 2 * cables - 1)
    time = st.sampled_from([0, 1, 10**6, 3 * 10**6, 20 * 10**6, NEVER])
    span = st.tuples(time, time).filter(lambda pair: pair[0] < pair[1])
    losses = st.tuples(link, span, st.sampled_from([2**32, 2**31, 2**28]))
    storms = st.tuples(link, st.just(-1) | st.integers(-1, classes + 3), span)
    slows = st.tuples(link, time, st.sampled_from([0, 10**9, 3 * 10**9, 70 * 10**9]))
    rows = (
        [(d, *s, p) for d, s, p in draw(st.lists(losses, max_size=4))],
        [(d, k, *s) for d, k, s in draw(st.lists(storms, max_size=3))],
        draw(st.lists(slows, max_size=4)),
    )
    return Harm(
        *(
            np.array(r, np.int64).reshape(-1, width)
            for r, width in zip(rows, (4, 4, 3), strict=True)
        )
    )


watchdogs = st.builds(
    Watchdog,
    st.sampled_from([1, 10**5, 10**6, 20 * 10**6]),
    st.sampled_from([0, 10**6, 50 * 10**6, NEVER]),
    st.booleans(),
)


@st.composite
def waits(draw: st.DrawFn, count: int) -> PacketWaits:
    """Any flows that wait for any others, also in circles and for themselves."""
    flow = st.integers(0, count - 1)
    groups = draw(
        st.lists(
            st.lists(st.tuples(flow, st.booleans()), max_size=3), min_size=count, max_size=count
        )
    )
    return PacketWaits(
        np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64),
        column(*(ahead for group in groups for ahead, _ in group)),
        column(*(receipt for group in groups for _, receipt in group)),
        column(*(draw(st.integers(0, len(group))) for group in groups)),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any small fabric with any flows and protocols."""
    pick = st.sampled_from
    hosts = draw(st.integers(2, 6))
    leaves, spines = (100, 101), (200, 201)
    ends = [(host, leaves[host % 2]) for host in range(hosts)]
    ends += [(leaf, spine) for leaf in leaves for spine in spines]
    cable = {pair: 2 * index for index, pair in enumerate(ends)}
    rates = draw(st.lists(pick([7, 10, 25, 40, 100]), min_size=len(ends), max_size=len(ends)))
    delays = draw(
        st.lists(pick([0, 1000, 333_333, 10**6, 5 * 10**6]), min_size=len(ends), max_size=len(ends))
    )
    spray = draw(st.booleans())
    flowlet = spray and draw(st.booleans())
    adaptive = spray and not flowlet and draw(st.booleans())
    paths: list[list[int]] = []
    first, counts = [], []
    count = draw(st.integers(1, 8))
    for _ in range(count):
        source, target = draw(
            st.lists(st.integers(0, hosts - 1), min_size=2, max_size=2, unique=True)
        )
        up, down = cable[source, leaves[source % 2]], cable[target, leaves[target % 2]] ^ 1
        ways = [[up, down]]
        if source % 2 != target % 2:
            ways = [
                [up, cable[leaves[source % 2], s], cable[leaves[target % 2], s] ^ 1, down]
                for s in spines
            ]
        ways = ways if spray else [draw(pick(ways))]
        first.append(len(paths))
        counts.append(len(ways))
        paths += ways
    network = PacketNetwork(
        column(*(end for pair in ends for end in pair)),
        column(*(end for pair in ends for end in pair[::-1])),
        np.repeat(column(*rates) * 10**9, 2),
        np.repeat(column(*delays), 2),
        np.concatenate([[0], np.cumsum([len(path) for path in paths])]).astype(np.int64),
        column(*(link for path in paths for link in path)),
    )
    classes = draw(st.integers(1, 3))

    def each(values: st.SearchStrategy[int]) -> Any:
        return column(*draw(st.lists(values, min_size=count, max_size=count)))

    flows = PacketFlows(
        each(pick([1, 999, 4000, 4001, 50_000])),
        each(pick([0, 777, 10**6])),
        each(st.integers(0, classes - 1)),
        column(*first),
        column(*counts),
        draw(st.none() | waits(count)),
    )
    selective = draw(st.booleans())
    settings = PacketSettings(
        payload=draw(pick([1000, 4000])),
        classes=classes,
        lossless=draw(st.integers(0, 2**classes - 1)),
        flow_control=draw(pick(["pfc", "cbfc", "bifrost"])),
        pause_period=draw(pick([200_000, 10**6])),
        pause_quanta=draw(pick([0, 400, 65535])),
        pause_response=draw(pick([0, 500_000])),
        alpha=draw(pick([(0, 1), (1, 8), (1, 1)])),
        hysteresis=draw(pick([0, 2000])),
        shared=draw(pick([NEVER, 40_000])),
        headroom_pool=draw(pick([NEVER, 20_000])),
        retry=draw(pick([5 * 10**8, 2 * 10**9])),
        code=draw(pick([(0, 0), (2, 1), (4, 2), (3, 5)])) if selective else (0, 0),
        ack_every=draw(pick([1, 4, 30])),
        reliability="sr" if selective else "gbn",
        spray=spray and not flowlet and not adaptive,
        adaptive=adaptive,
        drawn_paths=draw(st.booleans()),
        flowlet_gap=10**6 if flowlet else 0,
        mark_from=draw(pick([NEVER, 3000])),
        mark_all=20_000,
        mark_share=2**31,
        trim=draw(st.booleans()),
        congestion=draw(pick(["none", "dcqcn", "hpcc", "swift", "nscc", *["rcc"] * selective])),
        seed=draw(st.integers(0, 2**31)),
        harm=draw(st.none() | harms(len(ends), classes, network.links.tolist())),
        watchdog=draw(st.none() | watchdogs),
        ttl=draw(pick([*[0] * 7, 3])),
        max_in_flight=draw(pick([NEVER, 3, 20])),
        looks=draw(pick([0, 2, 5, 100])),
    )
    xoff = draw(pick([5000, 20_000]))
    limits = every_link(
        len(network.tail),
        xoff,
        xoff - draw(pick([0, 3000])),
        draw(pick([0, 8000, 100_000])),
        draw(pick([5000, 30_000, 10**9])),
    )
    return network, flows, limits, settings
