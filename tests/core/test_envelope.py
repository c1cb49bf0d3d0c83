"""Results, envelopes and seeds: what may vary stands apart from what may not."""

import json

from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core.envelope import build_envelope, canonical_form, dump_envelope
from ctestbed.core.errors import ExitCode
from ctestbed.core.result import Finding, Metric, Result, checks_exit_code
from ctestbed.core.seeds import spawn_generator, spawn_seed


def _result(timing: float) -> Result:
    metrics = (
        Metric("fct.max", 164_000_000, "ps", "simulated", "lower"),
        Metric("speed", timing, "bytes/s", "measured", "higher", "timed", n=9, ci95=(1.0, 2.0)),
    )
    return Result("ctestbed.test.run/1", {"b": 1, "a": 2}, (), metrics, run={"nonce": timing})


@given(first=st.floats(1, 1e9), second=st.floats(1, 1e9))
def test_canonical_bytes_ignore_what_a_clock_decided(first: float, second: float) -> None:
    texts = {
        dump_envelope(
            build_envelope(
                _result(value),
                command=["test", "run"],
                options={},
                seed=1,
                run={"elapsed_s": value},
                canonical=True,
            ),
            canonical=True,
        )
        for value in (first, second)
    }
    assert len(texts) == 1
    timed = json.loads(texts.pop())["metrics"][1]
    assert set(timed) == {"name", "unit", "better", "kind", "provenance"}


def test_a_stored_envelope_can_be_made_canonical_later() -> None:
    full = build_envelope(_result(5.0), command=["test"], options={}, run={"x": 1})
    direct = build_envelope(_result(5.0), command=["test"], options={}, canonical=True)
    assert canonical_form(full) == direct


def test_status_follows_the_exit_code() -> None:
    assert {code: code.status for code in ExitCode} == {
        code: "pass" if code == 0 else "fail" if 10 <= code <= 23 else "error" for code in ExitCode
    }


def test_errors_fail_checks_and_notes_do_not() -> None:
    note, error = Finding("X", "note", "n"), Finding("X", "error", "e")
    assert checks_exit_code([note]) is ExitCode.OK
    assert checks_exit_code([note, error]) is ExitCode.CHECKS_FAILED


@given(seed=st.integers(0, 2**63 - 1))
def test_components_draw_apart_and_repeatably(seed: int) -> None:
    draws = {name: spawn_generator(seed, name).integers(2**62) for name in ("a", "b")}
    assert draws["a"] == spawn_generator(seed, "a").integers(2**62)
    assert draws["a"] != draws["b"]
    assert spawn_seed(seed, "a") != spawn_seed(seed + 1, "a")
