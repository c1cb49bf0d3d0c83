"""The 64-bit mix against SplitMix64's published output."""

import numpy as np

from ctestbed.core.mix import GOLDEN, mix64


def test_published_sequence_of_seed_1234567() -> None:
    """SplitMix64 adds the golden constant before each output, so output k mixes seed + k*golden."""
    states = np.uint64(1234567) + np.arange(5, dtype=np.uint64) * GOLDEN
    assert mix64(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_mixing_is_one_to_one_on_a_sample_and_leaves_its_input_alone() -> None:
    states = np.arange(100_000)
    assert len(np.unique(mix64(states))) == len(states)
    assert states.tolist() == list(range(100_000))


def test_signed_states_count_modulo_two_to_the_64() -> None:
    assert mix64(np.array([-1])).tolist() == mix64(np.array([2**64 - 1], np.uint64)).tolist()
