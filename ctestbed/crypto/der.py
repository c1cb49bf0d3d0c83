"""The little of DER (X.690) that SM2 ciphertexts need: a SEQUENCE of INTEGERs and OCTET STRINGs.

Strict: lengths and numbers in their shortest form, nothing after the end. Anything else is a
ValueError.
"""

from collections.abc import Sequence
from typing import Final

INTEGER: Final = 0x02
OCTET_STRING: Final = 0x04
_SEQUENCE: Final = 0x30
_LONG: Final = 0x80


def dump_sequence(items: Sequence[int | bytes]) -> bytes:
    """Return the SEQUENCE of numbers, not negative, and strings."""
    return _dump(_SEQUENCE, b"".join(map(_dump_item, items)))


def parse_sequence(der: bytes, tags: Sequence[int]) -> list[bytes]:
    """Return the content of each item of a SEQUENCE, whose tags must be these.

    Numbers come as their bytes, big-endian, and are not negative.
    """
    content, rest = _parse(der, _SEQUENCE)
    items = []
    for tag in tags:
        item, content = _parse(content, tag)
        if tag == INTEGER and (not item or item != _number(int.from_bytes(item))):
            raise ValueError("a number that is negative or not in its shortest form")
        items.append(item)
    if content or rest:
        raise ValueError("bytes after the end")
    return items


def _dump_item(item: int | bytes) -> bytes:
    return _dump(INTEGER, _number(item)) if isinstance(item, int) else _dump(OCTET_STRING, item)


def _number(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1)


def _dump(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + _length(len(content)) + content


def _length(length: int) -> bytes:
    if length < _LONG:
        return bytes([length])
    number = length.to_bytes(-(-length.bit_length() // 8))
    return bytes([_LONG + len(number)]) + number


def _parse(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the content of the item that `data` begins with, and what follows it."""
    if len(data) < 2 or data[0] != tag:  # noqa: PLR2004 - a tag and a length
        raise ValueError(f"no item of tag {tag:02x}")
    first = data[1]
    end = 2 if first < _LONG else 2 + first - _LONG
    length = first if first < _LONG else int.from_bytes(data[2:end])
    if data[1:end] != _length(length) or len(data) < end + length:
        raise ValueError("a length that is not in its shortest form, or reaches past the end")
    return data[end : end + length], data[end + length :]
