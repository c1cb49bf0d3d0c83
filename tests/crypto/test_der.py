"""The little DER: what it writes it reads, and only that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.crypto.der import INTEGER, OCTET_STRING, dump_sequence, parse_sequence
from tests.crypto.helpers import many

TAGS = (INTEGER, OCTET_STRING)


@many
@given(st.integers(0, 2**300), st.binary(max_size=70000))
def test_items_come_back(number: int, octets: bytes) -> None:
    first, second = parse_sequence(dump_sequence([number, octets]), TAGS)
    assert (int.from_bytes(first), second) == (number, octets)


@many
@given(st.binary(max_size=40))
def test_what_is_read_is_what_would_be_written(data: bytes) -> None:
    try:
        number, octets = parse_sequence(data, TAGS)
    except ValueError:
        return
    assert dump_sequence([int.from_bytes(number), octets]) == data


@pytest.mark.parametrize(
    "data",
    [
        "",
        "30",
        "3000",
        "300502010104",  # cut in a length
        "30060201010402ff",  # cut in the string
        "300402010104",
        "3006020200010400",  # a number with a zero too many
        "30050201ff0400",  # a negative number
        "300402000400",  # a number without bytes
        "3081050201010400",  # a length longer than it must be
        "30800201010400",  # a length to be found later
        "30050201010400ff",  # more after the end
        "30060201010400ff",  # more inside
        "30050401010200",  # other items
    ],
)
def test_anything_else_is_refused(data: str) -> None:
    with pytest.raises(ValueError, match=r"item|number|length|bytes"):
        parse_sequence(bytes.fromhex(data), TAGS)
