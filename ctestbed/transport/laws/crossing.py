"""What it costs a training step that part of its traffic crosses between sites.

Times in ps, sizes in bytes, rates in bit/s; `delay` is one way. Exact rationals. A loss is how much
longer a step takes than on one site: T(distance) / T(0) - 1.
"""

from fractions import Fraction

from ctestbed.core.units import PS_PER_SECOND


def hierarchical_crossing(
    sites: int, gradients: int, rate: int, delay: int, control: int = 0
) -> Fraction:
    """Return the time of an all-reduce across sites, after a reduce-scatter inside each.

    2 (S - 1) / S * G / B + 2 (S - 1) (D + t): G bytes of gradients cross per site, and each of
    the dependent stages takes the delay and `control` ps of flow control.
    """
    moved = Fraction(2 * (sites - 1) * gradients * 8 * PS_PER_SECOND, sites * rate)
    return moved + 2 * (sites - 1) * (delay + control)


def flat_ring_crossing(ranks: int, slots: int | None, delay: int) -> Fraction:
    """Return what a flat ring over two sites pays for distance: each datum crosses four times.

    With `slots` chunks in flight per connection it is about 2 (n - 1) / W * 2 D where that is
    more, since every window waits for a round trip.
    """
    unlimited = Fraction(4 * delay)
    if slots is None:
        return unlimited
    return max(unlimited, Fraction(2 * (ranks - 1), slots) * 2 * delay)


def pipeline_step(microbatches: int, stages: int, both_passes: int) -> int:
    """Return the time of a 1F1B step: (m + p - 1) of a stage's forward and backward pass."""
    return (microbatches + stages - 1) * both_passes


def pipeline_crossing(microbatches: int, stages: int, cut: int, delay: int) -> int:
    """Return what strict 1F1B pays for a cut before stage `cut`: (m - max(0, p - c - 2)) D."""
    return (microbatches - max(0, stages - cut - 2)) * delay


def warmed_pipeline_crossing(delay: int) -> int:
    """Return what it pays with enough extra microbatches in flight before the cut: 2 D."""
    return 2 * delay


def exposed(crossing: Fraction, overlap: int) -> Fraction:
    """Return the part of a crossing that computation does not hide."""
    return max(Fraction(0), crossing - overlap)


def performance(step: int, crossing: Fraction, overlap: int = 0) -> Fraction:
    """Return training speed relative to one site: step / (step + exposed crossing)."""
    return Fraction(step) / (step + exposed(crossing, overlap))


def compute_step(parameters: int, tokens: int, chips: int, flops: int, use: Fraction) -> Fraction:
    """Return the time of a dense step: 6 FLOP per parameter and token, at a share of the peak."""
    return Fraction(6 * parameters * tokens * PS_PER_SECOND, chips * flops) / use
