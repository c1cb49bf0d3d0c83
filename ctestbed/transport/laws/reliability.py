"""What loss costs over distance: go-back-N, selective repeat, and erasure codes.

Probabilities may be exact (`Fraction`) or floats, and the answer is of the same kind. The forms of
chunked writes are those of SDR-RDMA (Khalilov et al., SC 2025): chunks are injected one per
`injection` ps, and a lost one is known to be lost after `timeout` more.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ctestbed.core.seeds import spawn_generator
from ctestbed.core.units import PS_PER_SECOND

Probability = TypeVar("Probability", Fraction, float)

_NEGLIGIBLE: Final = 1e-15
"""Chance below which a further attempt no longer moves an expectation kept in doubles."""

_BLOCK: Final = 2**22
"""Draws made at once."""


def window_packets(rate: int, delay: int, packet: int) -> Fraction:
    """Return the packets in flight on a full pipe: the BDP over the packet's bytes."""
    return Fraction(2 * delay * rate, 8 * PS_PER_SECOND * packet)


def go_back_n_efficiency(loss: Fraction, window: Fraction) -> Fraction:
    """Return the useful share of what is sent: (1 - p) / (1 + (W - 1) p)."""
    return (1 - loss) / (1 + (window - 1) * loss)


def selective_repeat_efficiency(loss: Fraction) -> Fraction:
    """Return the useful share of what is sent: 1 - p."""
    return 1 - loss


def chunk_loss(packet_loss: Probability, packets: int) -> Probability:
    """Return the chance that a chunk of `packets` packets is hit: 1 - (1 - p)^N."""
    kept = (1 - packet_loss) ** packets
    return 1 - kept


def parity_share(data: int, parity: int) -> Fraction:
    """Return the share of sent bytes that is parity: 20 % for EC(32, 8)."""
    return Fraction(parity, data + parity)


def code_failure(chunk: float, data: int, parity: int) -> float:
    """Return the chance that more than `parity` chunks of a block are lost."""
    total = data + parity
    return sum(
        comb(total, lost) * chunk**lost * (1 - chunk) ** (total - lost)
        for lost in range(parity + 1, total + 1)
    )


@dataclass(frozen=True, slots=True)
class ChunkedWrite:
    """A write of `chunks` chunks, each lost with chance `loss` at every attempt.

    `injection` ps to send one, `round_trip` ps; a loss is known `timeout` ps after it was sent:
    three round trips for a timer, one for a negative acknowledgement.
    """

    chunks: int
    injection: int
    round_trip: int
    timeout: int
    loss: float

    @property
    def ideal(self) -> int:
        """Picoseconds without any loss: all chunks sent, and one round trip."""
        return self.chunks * self.injection + self.round_trip

    @property
    def again(self) -> int:
        """Picoseconds that every further attempt costs."""
        return self.timeout + self.injection


def one_timeout_slowdown(write: ChunkedWrite) -> Fraction:
    """Return by how much one timeout that nothing hides stretches a write."""
    return 1 + Fraction(write.timeout, write.ideal)


def selective_repeat_time(write: ChunkedWrite) -> float:
    """Return the expected picoseconds of max_i(i*Tinj + (RTO + Tinj)(Y_i - 1)) + RTT.

    Y_i, the attempts of chunk i, are geometric. The expectation is the sum of the tail over the
    moments at which some chunk's next attempt would arrive, in doubles.
    """
    if not 0 <= write.loss < 1:
        raise ValueError(f"a loss of {write.loss} per attempt never ends")
    if not write.chunks:
        return float(write.round_trip)
    deepest = 1
    while write.chunks * write.loss**deepest > _NEGLIGIBLE:
        deepest += 1
    first = write.chunks * write.injection
    times = _moments(write, deepest)
    below = np.exp(_log_all_done(write, times, deepest))
    gaps = np.diff(np.append(times, times[-1]))
    return first + float(((1.0 - below) * gaps).sum()) + write.round_trip


def _moments(write: ChunkedWrite, deepest: int) -> NDArray[Any]:
    """Return the ascending moments from the last first attempt on, when some attempt arrives."""
    first = write.chunks * write.injection
    sent = np.arange(1, write.chunks + 1, dtype=np.int64) * write.injection
    later = [sent + attempt * write.again for attempt in range(deepest + 1)]
    every = np.concatenate(later)
    return np.unique(np.append(every[every >= first], first)).astype(np.float64)


def _log_all_done(write: ChunkedWrite, times: NDArray[Any], deepest: int) -> NDArray[Any]:
    """Return the log of the chance that all chunks are there by each moment."""
    again, injection = float(write.again), float(write.injection)
    total = np.zeros(len(times))
    for attempt in range(1, deepest + 1):
        newest = np.floor((times - (attempt - 1) * again) / injection)
        oldest = np.floor((times - attempt * again) / injection)
        count = np.clip(newest, 0, write.chunks) - np.clip(oldest, 0, write.chunks)
        total += count * np.log1p(-(write.loss**attempt))
    return total


def sample_selective_repeat(write: ChunkedWrite, samples: int, seed: int) -> NDArray[Any]:
    """Draw `samples` completion times in ps of the same law (Monte Carlo)."""
    generator = spawn_generator(seed, "selective-repeat")
    sent = np.arange(1, write.chunks + 1, dtype=np.int64) * write.injection
    drawn = np.empty(samples, np.int64)
    rows = max(1, _BLOCK // max(1, write.chunks))
    for begin in range(0, samples, rows):
        end = min(samples, begin + rows)
        attempts = generator.geometric(1 - write.loss, (end - begin, write.chunks))
        waits = sent + write.again * (attempts - 1)
        drawn[begin:end] = waits.max(axis=1) + write.round_trip
    return drawn


def erasure_time(
    write: ChunkedWrite, data: int, parity: int, wait: Fraction = Fraction(1, 2)
) -> float:
    """Return the expected picoseconds of a write in blocks of `data` chunks with `parity` more.

    (M + ceil(M / R)) Tinj + P(fall back) * (RTT + wait * RTT) + E[T_sr of the blocks that failed],
    R = data / parity, as published: the round trip of the last acknowledgement is not in it.
    `wait` is how much longer than a round trip the receiver waits before it falls back.
    """
    blocks = ceil(Fraction(write.chunks, data))
    failure = code_failure(write.loss, data, parity)
    fallback = 1 - (1 - failure) ** blocks
    sent = (write.chunks + ceil(Fraction(write.chunks * parity, data))) * write.injection
    falling = fallback * float((1 + wait) * write.round_trip)
    return sent + falling + _resending(write, blocks, failure, data)


def _resending(write: ChunkedWrite, blocks: int, failure: float, data: int) -> float:
    """Return E[T_sr(failed blocks * data)] over the binomial number of failed blocks."""
    chance = (1 - failure) ** blocks
    expected, covered = 0.0, chance
    for failed in range(1, blocks + 1):
        if covered > 1 - _NEGLIGIBLE or failure == 0:
            break
        chance *= (blocks - failed + 1) / failed * failure / (1 - failure) if failure < 1 else 0
        covered += chance
        again = ChunkedWrite(
            failed * data, write.injection, write.round_trip, write.timeout, write.loss
        )
        expected += chance * selective_repeat_time(again)
    return expected
