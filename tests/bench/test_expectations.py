"""`expect:` lines: any text is read or refused, and what is read is judged exactly."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.bench.expectations import (
    Known,
    check_expectation,
    collect_known,
    parse_expectation,
)
from ctestbed.core.errors import InputError, Where
from ctestbed.core.result import UNKNOWN, Metric

HERE = Where("bed.yaml", "expect[0]", 9)
KNOWN = {
    "fct.max": Known(164_000_000, "ps"),
    "headroom.configured": Known(75_000_000, "bytes"),
    "headroom.closed_form": Known(75_000_000, "bytes"),
    "goodput.total": Known(400 * 10**9, "bit/s"),
    "link.utilisation.max": Known(0.3, "ratio"),
    "counts.host": Known(128),
    "attest.verdict": Known("affirming"),
    "attest.root_class": Known("emulated"),
    "fct.p99": Known(UNKNOWN, "ps"),
    "flows.unfinished": Known(UNKNOWN, "flows"),
    "memory.rate": Known(3.5e9, "bytes per CPU second", timed=True),
}


def judge(text: str) -> str:
    outcome, finding = check_expectation(text, KNOWN, HERE)
    assert (finding is None) == (outcome["status"] == "pass")
    return outcome["status"]


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        check_expectation(text, KNOWN, HERE)
    assert caught.value.where == HERE
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("fct.max <= 164us", "pass"),
        ("fct.max<164us", "fail"),
        ("\tfct.max < 3us\n", "fail"),
        ("  fct.max   ==   0.164ms ", "pass"),
        ("fct.max >= 165 us", "fail"),
        ("fct.max != 164000000ps", "fail"),
        ("headroom.configured >= headroom.closed_form", "pass"),
        ("headroom.configured > headroom.closed_form", "fail"),
        ("headroom.configured >= 75MB", "pass"),
        ("headroom.configured >= 75MiB", "fail"),
        ("goodput.total == 400Gbps", "pass"),
        ("goodput.total == 50GB/s", "pass"),
        ("link.utilisation.max <= 0.3", "pass"),
        ("link.utilisation.max < 3e-1", "fail"),
        ("counts.host == 128", "pass"),
        ("counts.host > 127.5", "pass"),
        ("counts.host == 1.28e2", "pass"),
        ("attest.verdict == affirming", "pass"),
        ('attest.verdict == "affirming"', "pass"),
        ("attest.verdict != affirming", "fail"),
        ("attest.verdict == contraindicated", "fail"),
        ("attest.verdict != attest.root_class", "pass"),
        ("fct.p99 <= 1s", "unknown"),
        ("fct.max >= fct.p99", "unknown"),
        ("flows.unfinished == 0", "unknown"),
    ],
)
def test_lines_are_judged(text: str, status: str) -> None:
    assert judge(text) == status


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "CTB-B001"),
        ("fct.max", "CTB-B001"),
        ("fct.max <=", "CTB-B001"),
        ("<= 3us", "CTB-B001"),
        ("fct.max = 3us", "CTB-B001"),
        ("fct.max => 3us", "CTB-B001"),
        ("FCT.MAX < 3us", "CTB-B001"),
        ("attest.verdict < affirming", "CTB-B001"),
        ("attest.verdict <= attest.root_class", "CTB-B001"),
        ("counts.host == many", "CTB-B001"),
        ("counts.host == nan", "CTB-B001"),
        ("counts.host == inf", "CTB-B001"),
        ("counts.host == 1e999999999", "CTB-B001"),
        ("fct.max <= headroom.closed_form", "CTB-B001"),
        ("counts.host <= fct.max", "CTB-B001"),
        ("fct.mux <= 3us", "CTB-B004"),
        ("nothing <= 3us", "CTB-B004"),
        ("headroom.configured >= headroom.closed_from", "CTB-B004"),
        ("counts.host == counts.hosts", "CTB-B004"),
        ("memory.rate >= 1", "CTB-B005"),
        ("counts.host <= memory.rate", "CTB-B005"),
        ("fct.max <= 3", "CTB-C003"),
        ("fct.max <= 3 parsecs", "CTB-C003"),
        ("fct.max <= 3us or 4us", "CTB-C001"),
        ("headroom.configured >= 75M", "CTB-C003"),
        ("headroom.configured >= -1MB", "CTB-C002"),
    ],
)
def test_lines_are_refused(text: str, code: str) -> None:
    assert refusal(text).code == code


def test_refusals_point_to_the_nearest_name() -> None:
    assert refusal("fct.mux <= 3us").hint == "did you mean `fct.max`?"
    close = refusal("headroom.configured >= headroom.closed_from")
    assert close.message == "this run produces no `headroom.closed_from` to expect anything of"
    assert close.hint == "did you mean `headroom.closed_form`?"
    assert "memory.rate" not in str(refusal("zzz == 1").hint)


def test_findings_say_what_was_expected_and_what_came() -> None:
    _, finding = check_expectation("fct.max <= 100us", KNOWN, HERE)
    assert finding is not None
    assert (finding.code, finding.severity, finding.where) == ("CTB-B002", "error", HERE)
    assert finding.message == "expected `fct.max <= 100us`, but fct.max is 164 us"
    _, finding = check_expectation("headroom.configured > headroom.closed_form", KNOWN, HERE)
    assert finding is not None
    assert finding.message == (
        "expected `headroom.configured > headroom.closed_form`, but headroom.configured is 75 MB "
        "and headroom.closed_form is 75 MB"
    )
    _, finding = check_expectation("fct.p99 <= 1s", KNOWN, HERE)
    assert finding is not None
    assert finding.code == "CTB-B003"
    assert (
        finding.message == "expected `fct.p99 <= 1s`, which cannot be decided: fct.p99 is UNKNOWN"
    )


LINES = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from([*KNOWN, "other", "counts.", "1st"]) | st.text(max_size=8),
    st.sampled_from(["", " ", "\t"]),
    st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "=", "=="]),
    st.sampled_from(["", " "]),
    st.sampled_from([*KNOWN, "3us", "1", "1e9", "-0", "9" * 50, "nan", "sNaN", "1e99", "'a'"])
    | st.text(max_size=12),
)


@given(st.text() | LINES)
def test_any_line_is_judged_or_refused(text: str) -> None:
    try:
        outcome, _ = check_expectation(text, KNOWN, HERE)
    except InputError as error:
        assert error.code.startswith("CTB-")
        return
    assert outcome["status"] in {"pass", "fail", "unknown"}


@given(
    st.sampled_from(list(KNOWN)),
    st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]),
    st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), min_size=1),
)
def test_names_symbols_and_operands_come_back(name: str, symbol: str, operand: str) -> None:
    if operand[0] in "=<>":
        return
    assert parse_expectation(f" {name} {symbol} {operand} ", HERE) == (name, symbol, operand)


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.sampled_from(["==", "<", ">="]))
def test_whole_numbers_are_compared_exactly(actual: int, limit: int, symbol: str) -> None:
    known: dict[str, Any] = {"x": Known(actual, "ps")}
    outcome, _ = check_expectation(f"x {symbol} {limit}ps", known, HERE)
    truth = {"==": actual == limit, "<": actual < limit, ">=": actual >= limit}[symbol]
    assert outcome["status"] == ("pass" if truth else "fail")


def test_known_names_are_metrics_counts_and_outcomes() -> None:
    metrics = (
        Metric("a.b", 3, "ps", "modelled"),
        Metric("c", 2.5, "s", "measured", kind="timed"),
    )
    known = collect_known(metrics, {"host": 4}, {"attest.verdict": "warning"})
    assert known == {
        "a.b": Known(3, "ps"),
        "c": Known(2.5, "s", timed=True),
        "counts.host": Known(4),
        "attest.verdict": Known("warning"),
    }
