"""Testbed text: YAML 1.2, placed errors, and nothing with two readings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from ctestbed.core.errors import InputError
from ctestbed.core.spec import (
    Length,
    RateOrUnknown,
    SpecError,
    SpecModel,
    Unknown,
    validate_model,
)
from ctestbed.core.yamlfile import load_yaml


class _Link(SpecModel):
    rate: RateOrUnknown
    length: Length | None = None


class _File(SpecModel):
    name: str
    links: list[_Link] = Field(default_factory=list)
    named: dict[str, _Link] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("012", 12),
        ("0o14", 12),
        ("0x1f", 31),
        ("true", True),
        ("~", None),
        ("1.5", 1.5),
        ("'1'", "1"),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: object) -> None:
    assert load_yaml(f"key: {text}\n".encode(), "f").value == {"key": value}


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (b"", "CTB-C032", None),
        (b"# only a comment\n", "CTB-C032", None),
        (b"\x7fELF\x02\x01\x01\x00\xff\xfe", "CTB-C030", 1),
        (b"a: 1\nb: [1,\n", "CTB-C031", 3),
        (b"a: 1\na: 2\n", "CTB-C033", 2),
        (b"a: &x [1]\nb: *x\n", "CTB-C033", 1),
        (b"a: !!python/object:os.system x\n", "CTB-C033", 1),
        (b"? [1, 2]\n: 3\n", "CTB-C033", 1),
        (b"<<: {a: 1}\n", "CTB-C033", 1),
        (b"--- 1\n--- 2\n", "CTB-C031", 2),
        (b"a: " + b"[" * 60 + b"]" * 60, "CTB-C033", 1),
        (b"a: " + b"9" * 5000, "CTB-C033", 1),
        (b"a: \x07\n", "CTB-C031", None),
    ],
)
def test_refusals_have_a_code_and_a_line(content: bytes, code: str, line: int | None) -> None:
    with pytest.raises(InputError) as caught:
        load_yaml(content, "f.yaml")
    assert caught.value.code == code
    assert caught.value.where is not None
    assert caught.value.where.file == "f.yaml"
    assert caught.value.where.line == line


def test_an_alias_bomb_is_refused_at_once() -> None:
    levels = "\n".join(
        f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]" if i else "k0: &k0 [x]" for i in range(30)
    )
    with pytest.raises(InputError) as caught:
        load_yaml(levels.encode(), "bomb")
    assert caught.value.code == "CTB-C033"


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        load_yaml(content, "f")
    except InputError as error:
        assert error.code.startswith("CTB-C03")


def test_all_findings_come_at_once_with_places_and_suggestions() -> None:
    text = (
        b"name: 5\nlinks:\n  - {rate: 400Gbps, length: 90}\n  - rat: 1Gbps\n"
        b"named:\n  a: {rate: 1Gbps, lenght: 3km}\n"
    )
    with pytest.raises(SpecError) as caught:
        validate_model(_File, load_yaml(text, "f.yaml"))
    found = {
        (str(f.where.pointer), f.where.line): (f.code, f.hint)
        for f in caught.value.findings
        if f.where
    }
    assert found["name", 1][0] == "CTB-C043"
    assert found["links[0].length", 3][0] == "CTB-C003"
    assert found["links[1].rate", 4][0] == "CTB-C042"
    assert found["links[1].rat", 4] == ("CTB-C041", "did you mean `rate`?")
    assert found["named.a.lenght", 6] == ("CTB-C041", "did you mean `length`?")


def test_unknown_is_a_value_of_its_own() -> None:
    parsed = validate_model(_File, load_yaml(b"name: a\nlinks: [{rate: unknown}]\n", "f"))
    assert parsed.links[0].rate is Unknown.UNKNOWN
    with pytest.raises(TypeError):
        _ = parsed.links[0].rate * 2  # type: ignore[operator]


@pytest.mark.parametrize("content", [b"- a\n- b\n", b"just text\n", b"7\n"])
def test_a_file_that_is_not_a_mapping_says_so(content: bytes) -> None:
    with pytest.raises(SpecError) as caught:
        validate_model(_File, load_yaml(content, "f"))
    assert caught.value.code == "CTB-C040"


@pytest.mark.parametrize("mark", ["- ", "? "])
def test_nesting_without_brackets_is_refused_as_nesting(mark: str) -> None:
    with pytest.raises(InputError) as refused:
        load_yaml(f"a:\n  {mark * 100_000}1\n".encode(), "f.yaml")
    assert refused.value.code == "CTB-C033"
    assert refused.value.hint
