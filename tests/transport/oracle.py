"""An independent max-min solver: raise all flows together, step by step, in exact rationals.

Written from the definition, with sets and whole re-computation, and sharing no code with the
engine. Returns exact finish times.
"""

from fractions import Fraction


def fair_rates(
    capacity: list[int],
    paths: dict[int, list[int]],
    priority: list[int] | None = None,
    weight: list[int] | None = None,
) -> dict[int, Fraction]:
    rate = {flow: Fraction(0) for flow in paths}
    for rank in sorted(set(priority or [0])):
        rising = {flow for flow in paths if not priority or priority[flow] == rank}
        while rising:
            slack = {}
            for link in {link for flow in rising for link in paths[flow]}:
                load = sum((rate[flow] for flow in paths if link in paths[flow]), Fraction(0))
                climbers = sum(
                    weight[flow] if weight else 1 for flow in rising if link in paths[flow]
                )
                slack[link] = (capacity[link] - load) / climbers
            lift = min(slack.values())
            full = {link for link, room in slack.items() if room == lift}
            for flow in rising:
                rate[flow] += lift * (weight[flow] if weight else 1)
            rising = {flow for flow in rising if not full & set(paths[flow])}
    return rate


def ends(
    capacity: list[int],
    paths: list[list[int]],
    sizes: list[int],
    starts: list[int],
    priority: list[int] | None = None,
    weight: list[int] | None = None,
) -> list[Fraction | None]:
    """Return each flow's end in ps; None if never."""
    bits_left = [Fraction(8 * size) for size in sizes]
    end: list[Fraction | None] = [
        Fraction(start) if size == 0 else None for size, start in zip(sizes, starts, strict=True)
    ]
    clock = Fraction(0)
    while True:
        here = [f for f in range(len(paths)) if bits_left[f] > 0 and starts[f] <= clock]
        later = [starts[f] for f in range(len(paths)) if starts[f] > clock]
        rate = fair_rates(capacity, {f: paths[f] for f in here}, priority, weight)
        waits = [bits_left[f] / rate[f] * 10**12 for f in here if rate[f] > 0]
        waits += [start - clock for start in later]
        if not waits:
            return end
        wait = min(waits)
        clock += wait
        for f in here:
            bits_left[f] -= rate[f] * wait / 10**12
            assert bits_left[f] >= 0
            if bits_left[f] == 0:
                end[f] = clock
