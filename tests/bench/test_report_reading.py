"""Reading reports back: what is no report is refused with a code, a place and exit 3."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctestbed.bench.report.reading import read_envelope
from ctestbed.bench.report.render import FORMATS, render
from ctestbed.bench.schemas import DATA_TYPES, build_schema
from ctestbed.core.envelope import error_envelope
from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import Finding
from tests.bench.report_samples import dump, passing, sample

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(-1e9, 1e9).filter(lambda x: x % 1 != 0)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def refusal(content: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read_envelope(content, "some.json")
    assert caught.value.where is not None
    assert caught.value.where.file == "some.json"
    assert caught.value.exit_code == ExitCode.INPUT
    return caught.value


def test_sound_envelopes_come_back_unchanged() -> None:
    for envelope in (sample(), passing(), sample(findings=[], metrics=[])):
        assert read_envelope(dump(envelope), "x") == envelope
        assert read_envelope(b"\xef\xbb\xbf" + dump(envelope), "x") == envelope


def test_a_refusal_s_own_envelope_can_be_read() -> None:
    finding = Finding("CTB-C001", "error", "no")
    envelope = error_envelope((finding,), 3, "error", command=["topology", "show"])
    assert read_envelope(dump(envelope), "x") == envelope


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "Expecting value"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8"),
        (b"{", "Expecting property name"),
        (b'{"a": 1, "a": 2}', "'a' is given twice"),
        (b'{"x": {"b": 1, "c": 1, "b": 1}}', "'b' is given twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "too large"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b"[" * 200_000, "nested deeper"),
        (b'{"a":' * 200_000, "nested deeper"),
        (b"[" * 300 + b"]" * 300, "nested deeper"),
        (b"{} {}", "Extra data"),
        (b"schema: ctestbed.doctor.doctor/1\n", "Expecting value"),
    ],
)
def test_what_is_not_json_is_refused(content: bytes, part: str) -> None:
    error = refusal(content)
    assert error.code == "CTB-B101"
    assert part in error.message
    assert len(error.message) < 300


@pytest.mark.parametrize("value", [[], None, 3, "text", {}, {"schema": "x"}, [sample()]])
def test_json_that_is_no_envelope_is_refused(value: Any) -> None:
    assert refusal(dump(value)).code == "CTB-B102"


def test_every_misfit_is_told_with_its_place() -> None:
    spoilt = sample(exit_code="10", extra=1)
    spoilt["metrics"][1]["value"] = True
    del spoilt["findings"][0]["message"]
    error = refusal(dump(spoilt))
    places = {finding.where.pointer for finding in getattr(error, "findings")}  # noqa: B009
    assert places == {"exit_code", "extra", "metrics[1].value", "findings[0].message"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"exit_code": 77}, "CTB-B104"),
        ({"exit_code": 0}, "CTB-B104"),
        ({"status": "pass"}, "CTB-B104"),
        ({"schema": "ctestbed.doctor.doctor/2"}, "CTB-B103"),
        ({"schema": "ctestbed.__init__.view_of/1"}, "CTB-B103"),
        ({"schema": "../../etc/passwd"}, "CTB-B103"),
        ({"data": {}}, "CTB-B105"),
        ({"data": {"checks": [{"name": "a", "status": "fine", "detail": ""}]}}, "CTB-B105"),
        ({"inputs": [{"name": "a", "sha256": "AB" * 32}]}, "CTB-B102"),
        ({"tool": {"name": "other", "version": "1"}}, "CTB-B102"),
    ],
)
def test_unsound_envelopes_are_refused(changes: dict[str, Any], code: str) -> None:
    assert refusal(dump(sample(**changes))).code == code


@given(st.binary(max_size=200))
def test_bytes_never_crash_the_reader(content: bytes) -> None:
    with pytest.raises(InputError):
        read_envelope(content, "x")


def paths(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [prefix] if prefix else []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        found += paths(item, (*prefix, key))
    return found


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), JSON, st.booleans())
def test_the_reader_agrees_with_the_published_schema(
    data: st.DataObject, value: Any, remove: bool
) -> None:
    """Change one part at random: jsonschema on `schema show envelope` is the oracle."""
    envelope: Any = json.loads(dump(sample()))
    *steps, last = data.draw(st.sampled_from(paths(envelope)))
    holder = envelope
    for step in steps:
        holder = holder[step]
    if remove:
        del holder[last]
    else:
        holder[last] = value
    fits = jsonschema.Draft202012Validator(build_schema("envelope")).is_valid(envelope)
    try:
        read_envelope(dump(envelope), "x")
    except InputError as error:
        assert (error.code == "CTB-B102") == (not fits)
    else:
        assert fits


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(DATA_TYPES)), st.data())
def test_data_is_refused_or_can_be_shown_in_every_format(schema: str, data: st.DataObject) -> None:
    keys = sorted(build_schema(schema)["properties"]["data"].get("properties", {"a": 1}))
    value = data.draw(st.fixed_dictionaries(dict.fromkeys(keys, JSON)))
    envelope = passing(schema=schema, data=value)
    try:
        read = read_envelope(dump(envelope), "x")
    except InputError as error:
        assert error.code == "CTB-B105"
        return
    for format_name in FORMATS:
        assert render(read, format_name).endswith("\n")
