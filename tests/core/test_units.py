"""Units: exact integers, refused ambiguity, and a format that parses back."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctestbed.core import units
from ctestbed.core.errors import ExitCode, InputError

Parse = Callable[[str], int]
QUANTITIES = st.integers(min_value=0, max_value=units.MAX_QUANTITY)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_rate, "400Gbps", 400_000_000_000),
        (units.parse_rate, "400 Gb/s", 400_000_000_000),
        (units.parse_rate, "400Gbit/s", 400_000_000_000),
        (units.parse_rate, "1.6Tbps", 1_600_000_000_000),
        (units.parse_rate, "50GB/s", 400_000_000_000),
        (units.parse_rate, "1KiB/s", 8_192),
        (units.parse_size, "64MiB", 67_108_864),
        (units.parse_size, "64MB", 64_000_000),
        (units.parse_size, "2kB", 2_000),
        (units.parse_size, "1.5kB", 1_500),
        (units.parse_size, "0", 0),
        (units.parse_time, "750us", 750_000_000),
        (units.parse_time, "2.5us", 2_500_000),
        (units.parse_time, "2.5µs", 2_500_000),
        (units.parse_time, "1h", 3_600_000_000_000_000),
        (units.parse_length, "150km", 150_000_000),
        (units.parse_length, "2.5m", 2_500),
        (units.parse_length, "1e2m", 100_000),
        (units.parse_power, "16W", 16_000),
        (units.parse_power, "3.5kW", 3_500_000),
        (units.parse_power, "100mW", 100),
    ],
)
def test_reads_what_people_write(parse: Parse, text: str, value: int) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "code", "word"),
    [
        (units.parse_size, "64", "CTB-C003", "no unit"),
        (units.parse_size, "64M", "CTB-C003", "ambiguous"),
        (units.parse_size, "64K", "CTB-C003", "ambiguous"),
        (units.parse_size, "64Mb", "CTB-C003", "bits"),
        (units.parse_rate, "400G", "CTB-C003", "ambiguous"),
        (units.parse_rate, "400gbps", "CTB-C003", "unit"),
        (units.parse_rate, "400GBps", "CTB-C003", "ambiguous"),
        (units.parse_time, "5m", "CTB-C003", "ambiguous"),
        (units.parse_time, "5", "CTB-C003", "no unit"),
        (units.parse_length, "1:30", "CTB-C003", "unit"),
        (units.parse_power, "16", "CTB-C003", "no unit"),
        (units.parse_power, "16KW", "CTB-C003", "unit"),
        (units.parse_power, "0.1mW", "CTB-C004", "whole"),
        (units.parse_size, "-1MB", "CTB-C002", "negative"),
        (units.parse_size, "1.5B", "CTB-C004", "whole"),
        (units.parse_time, "0.1ps", "CTB-C004", "whole"),
        (units.parse_size, "9999999PB", "CTB-C005", "larger"),
        (units.parse_size, "1e99GB", "CTB-C005", "larger"),
        (units.parse_size, "", "CTB-C001", "not a size"),
        (units.parse_size, "many", "CTB-C001", "not a size"),
        (units.parse_size, "0x10MB", "CTB-C003", "unit"),
        (units.parse_size, "nan", "CTB-C001", "not a size"),
        (units.parse_size, "1" * 5000 + "B", "CTB-C001", "not a size"),
    ],
)
def test_refuses_with_the_reason(parse: Parse, text: str, code: str, word: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert caught.value.code == code
    assert word in caught.value.message
    assert caught.value.exit_code is ExitCode.INPUT


def test_a_wrong_case_gets_the_right_one_suggested() -> None:
    with pytest.raises(InputError) as caught:
        units.parse_rate("400gbps")
    assert "Gbps" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("parse", "write"),
    [
        (units.parse_rate, units.format_rate),
        (units.parse_size, units.format_size),
        (units.parse_time, units.format_time),
        (units.parse_length, units.format_length),
        (units.parse_power, units.format_power),
    ],
)
@given(value=QUANTITIES)
def test_format_is_the_inverse_of_parse(
    parse: Parse, write: Callable[[int], str], value: int
) -> None:
    assert parse(write(value)) == value


@given(
    number=st.decimals(min_value=0, max_value=10**6, places=9),
    unit=st.sampled_from(["ps", "ns", "us", "ms", "s", "h"]),
)
def test_parsing_agrees_with_rational_arithmetic(number: Decimal, unit: str) -> None:
    scale = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12, "h": 36 * 10**14}[unit]
    exact = Fraction(number) * scale
    text = f"{number:f}{unit}"
    if exact.denominator == 1 and exact <= units.MAX_QUANTITY:
        assert units.parse_time(text) == exact
    else:
        with pytest.raises(InputError):
            units.parse_time(text)


@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (units.parse_rate, units.parse_size, units.parse_time, units.parse_length):
        try:
            assert 0 <= parse(text) <= units.MAX_QUANTITY
        except InputError as error:
            assert error.code.startswith("CTB-C00")


def test_fibre_is_five_microseconds_a_kilometre_unless_told() -> None:
    length = units.parse_length("150km")
    assert units.fibre_delay(length) == 750_000_000
    # n L / c, by hand: 1.468 * 150 km / 299,792.458 km/s = 734.5081376 us, rounded up to a ps.
    assert units.fibre_delay(length, Decimal("1.468")) == 734_508_138


@given(length=st.integers(0, 10**12), index=st.decimals(1, 4, places=4))
def test_fibre_delay_is_the_exact_quotient_rounded_up(length: int, index: Decimal) -> None:
    exact = Fraction(length) * Fraction(index) * 10**9 / 299_792_458
    delay = units.fibre_delay(units.Millimetres(length), index)
    assert delay - 1 < exact <= delay


@given(size=st.integers(0, 2**50), rate=st.integers(1, 2**45))
def test_transmission_time_never_flatters(size: int, rate: int) -> None:
    exact = Fraction(size * 8 * 10**12, rate)
    assert units.transmission_time(size, rate) - 1 < exact <= units.transmission_time(size, rate)
