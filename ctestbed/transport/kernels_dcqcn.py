"""The fluid model of DCQCN (Zhu et al., SIGCOMM 2015, section 5), one fixed step at a time.

Packets and seconds, in doubles. Feedback is as old as each flow's delay: marks and rates of the
past lie in a ring. Several links mark independently; a link's queue holds what its flows send too
much, at once, as in the paper.
"""

from math import exp, expm1, log1p

import numpy as np

from ctestbed.core.jit import engine, inner

# Rows of `flows`: line rate, rate, target, alpha, packets left, start (s).
LINE, RATE, TARGET, ALPHA, LEFT, START = 0, 1, 2, 3, 4, 5

# Places in `law`.
NOTIFY, ALPHA_TIMER, TIMER, COUNTER, STAGES, ADDITIVE, GAIN = 0, 1, 2, 3, 4, 5, 6

# Rows of `links`: capacity, queue, Kmin, Kmax, Pmax, the most the queue holds.
CAPACITY, QUEUE, K_MIN, K_MAX, P_MAX, LIMIT = 0, 1, 2, 3, 4, 5

FEW, MANY = 1e-12, 700.0
"""Expected marks below which there are none, and above which exp() would overflow."""


@inner
def between(packets, logarithm, probability):  # type: ignore[no-untyped-def]
    """Return how often a counter of `packets` expires per packet, when marks reset it."""
    exponent = -packets * logarithm
    if exponent < FEW:
        return 1.0 / packets
    if exponent > MANY:
        return 0.0
    return probability * exp(-exponent) / -expm1(-exponent)


@inner
def advance(flows, law, flow, rate, probability, step):  # type: ignore[no-untyped-def]
    """Move one flow's alpha, target and rate by `step`, for the rate and marks it hears of.

    A rate stays between one additive step and the line.
    """
    alpha, target, own = flows[ALPHA, flow], flows[TARGET, flow], flows[RATE, flow]
    if probability > 0.0:
        logarithm = log1p(-min(probability, 1.0 - 1e-15))
        cut = -expm1(law[NOTIFY] * rate * logarithm)
        heard = -expm1(law[ALPHA_TIMER] * rate * logarithm)
    else:
        logarithm = cut = heard = 0.0
    timed = law[TIMER] * rate
    by_bytes = rate * between(law[COUNTER], logarithm, probability)
    by_time = rate * between(timed, logarithm, probability)
    beyond = by_bytes * exp(law[STAGES] * law[COUNTER] * logarithm)
    beyond += by_time * exp(law[STAGES] * timed * logarithm)
    gap = target - own
    flows[ALPHA, flow] = alpha + step * law[GAIN] / law[ALPHA_TIMER] * (heard - alpha)
    target += step * (law[ADDITIVE] * beyond - gap * cut / law[NOTIFY])
    own += step * (gap / 2.0 * (by_bytes + by_time) - own * alpha * cut / (2.0 * law[NOTIFY]))
    flows[TARGET, flow] = min(target, flows[LINE, flow])
    flows[RATE, flow] = min(max(own, law[ADDITIVE]), flows[LINE, flow])


@inner
def marks(links, link):  # type: ignore[no-untyped-def]
    """Return the chance that RED marks a packet on `link`."""
    queue = links[QUEUE, link]
    if queue <= links[K_MIN, link]:
        return 0.0
    if queue > links[K_MAX, link]:
        return 1.0
    span = links[K_MAX, link] - links[K_MIN, link]
    return links[P_MAX, link] * (queue - links[K_MIN, link]) / span


@engine
def integrate(  # type: ignore[no-untyped-def]
    links, flows, offsets, crossed, law, delays, ring, step, steps, every, samples, finish, means
):
    """Run `steps` steps, and sample every `every` of them.

    `ring[row, 0 or 1, flow]` keeps the rate and the mark probability of past steps; `delays` are
    in steps. `samples[0]` takes queues and `samples[1]` rates; `finish[flow]` the second a flow's
    last packet leaves, NaN before. `means` sums queues and rates over the last half of the run.
    """
    queues, rates = samples
    queue_means, rate_means = means
    depth = len(ring)
    many = flows.shape[1]
    for now in range(steps):
        row = now % depth
        clock = now * step
        for link in range(links.shape[1]):
            links[QUEUE, link] -= step * links[CAPACITY, link]
        for flow in range(many):
            active = clock >= flows[START, flow] and flows[LEFT, flow] > 0.0
            rate = flows[RATE, flow] if active else 0.0
            ring[row, 0, flow] = rate
            if not active:
                continue
            for place in range(offsets[flow], offsets[flow + 1]):
                links[QUEUE, crossed[place]] += step * rate
            flows[LEFT, flow] -= step * rate
            if flows[LEFT, flow] <= 0.0:
                finish[flow] = clock + step + flows[LEFT, flow] / rate
        for link in range(links.shape[1]):
            links[QUEUE, link] = min(max(links[QUEUE, link], 0.0), links[LIMIT, link])
        for flow in range(many):
            clean = 1.0
            for place in range(offsets[flow], offsets[flow + 1]):
                clean *= 1.0 - marks(links, crossed[place])
            ring[row, 1, flow] = 1.0 - clean
            past = now - delays[flow]
            if past < 0 or ring[past % depth, 0, flow] == 0.0:
                continue
            if ring[row, 0, flow] > 0.0:
                rate, probability = ring[past % depth, 0, flow], ring[past % depth, 1, flow]
                advance(flows, law, flow, rate, probability, step)
        if now % every == 0:
            for link in range(links.shape[1]):
                queues[now // every, link] = links[QUEUE, link]
            for flow in range(many):
                rates[now // every, flow] = ring[row, 0, flow]
        if 2 * now >= steps:
            for link in range(links.shape[1]):
                queue_means[link] += links[QUEUE, link]
            for flow in range(many):
                rate_means[flow] += ring[row, 0, flow]


def warm() -> None:
    """Compile the model at the types it is called with, into the cache."""
    from ctestbed.transport.dcqcn_fluid import FluidNetwork, run_fluid

    one, ends = np.ones(1, np.int64), np.array([0, 1])
    run_fluid(FluidNetwork(one * 10**9, ends, one - 1, one), duration=10**8)
