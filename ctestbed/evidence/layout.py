"""Wire layouts as tables: one table parses, dumps and explains a format.

A `Codec` turns a slice of bytes into a value and back, exactly: whatever it accepts, it writes
again byte for byte. A `Struct` is a table of named codecs, and a codec itself. A field whose
codec is `Zero` has no value: it must be zero and is written as zero.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from ctestbed.core.errors import InputError, Where

RecordT = TypeVar("RecordT")


class Codec(Protocol):
    """Reads and writes exactly `size` bytes."""

    @property
    def size(self) -> int:
        """How many bytes."""
        ...

    def read(self, raw: bytes) -> Any:
        """Return the value, or raise `ValueError` with the reason it is malformed."""
        ...

    def write(self, value: Any) -> bytes:
        """Return `size` bytes, or raise `ValueError` if the value does not fit."""
        ...


@dataclass(frozen=True, slots=True)
class Unsigned:
    """A little-endian unsigned integer of `size` bytes."""

    size: int

    def read(self, raw: bytes) -> int:
        """Return the integer."""
        return int.from_bytes(raw, "little")

    def write(self, value: int) -> bytes:
        """Return its bytes."""
        if not 0 <= value < 1 << 8 * self.size:
            raise ValueError(f"{value} does not fit {self.size} bytes")
        return value.to_bytes(self.size, "little")


@dataclass(frozen=True, slots=True)
class Number:
    """A little-endian integer of at most 32 bytes in a field of `size`, zero above it."""

    size: int

    def read(self, raw: bytes) -> int:
        """Return the integer; refuse anything above its 32 bytes."""
        if any(raw[32:]):
            raise ValueError("the bytes above its 32 are not zero")
        return int.from_bytes(raw[:32], "little")

    def write(self, value: int) -> bytes:
        """Return its bytes, padded with zero."""
        if not 0 <= value < 1 << 256:
            raise ValueError("the number does not fit 32 bytes")
        return value.to_bytes(self.size, "little")


@dataclass(frozen=True, slots=True)
class Raw:
    """Opaque bytes."""

    size: int

    def read(self, raw: bytes) -> bytes:
        """Return them as they are."""
        return raw

    def write(self, value: bytes) -> bytes:
        """Return them as they are."""
        if len(value) != self.size:
            raise ValueError(f"it has {len(value)} bytes, not {self.size}")
        return value


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A 16-bit length, that many bytes, and zero up to `size`."""

    size: int

    def read(self, raw: bytes) -> bytes:
        """Return the counted bytes; refuse a length past the field and a tail that is not zero."""
        length = int.from_bytes(raw[:2], "little")
        if length > self.size - 2:
            raise ValueError(f"its length says {length}, and at most {self.size - 2} fit")
        if any(raw[2 + length :]):
            raise ValueError(f"the bytes after its {length} are not zero")
        return raw[2 : 2 + length]

    def write(self, value: bytes) -> bytes:
        """Return length, bytes and padding."""
        if len(value) > self.size - 2:
            raise ValueError(f"it has {len(value)} bytes, and at most {self.size - 2} fit")
        return (len(value).to_bytes(2, "little") + value).ljust(self.size, b"\0")


@dataclass(frozen=True, slots=True)
class Zero:
    """Reserved bytes that the format says are zero."""

    size: int

    def read(self, raw: bytes) -> None:
        """Refuse anything but zero."""
        if any(raw):
            first = next(index for index, byte in enumerate(raw) if byte)
            raise ValueError(f"reserved bytes are not zero (first at {first} of {self.size})")

    def write(self, value: None) -> bytes:  # noqa: ARG002 - a codec like the others
        """Return zero bytes."""
        return bytes(self.size)


U8: Final = Unsigned(1)
U32: Final = Unsigned(4)


@dataclass(frozen=True, slots=True)
class Field:
    """A row of a layout: a name, its offset in the struct, its codec, what it says."""

    name: str
    offset: int
    codec: Codec
    meaning: str = ""


class MalformedFieldError(ValueError):
    """A field that cannot be read: its path, its byte range in the whole, and why."""

    def __init__(self, path: str, offset: int, length: int, reason: str) -> None:
        """Keep the parts apart, for whoever reports them."""
        super().__init__(f"{path} (bytes {offset}-{offset + length - 1}): {reason}")
        self.path = path
        self.offset = offset
        self.length = length
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Struct(Generic[RecordT]):
    """A table of fields that fills a record class of the same field names."""

    record: Callable[..., RecordT]
    size: int
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        end = 0
        for field in self.fields:
            if field.offset != end:
                raise ValueError(f"layout gap before {field.name}: {end} != {field.offset}")
            end += field.codec.size
        if end != self.size:
            raise ValueError(f"the layout covers {end} of {self.size} bytes")

    def read(self, raw: bytes) -> RecordT:
        """Return the record.

        Raises:
            MalformedFieldError: the first field that is malformed.
        """
        if len(raw) != self.size:
            raise ValueError(f"it has {len(raw)} bytes, not {self.size}")
        values: dict[str, Any] = {}
        for field in self.fields:
            part = raw[field.offset : field.offset + field.codec.size]
            try:
                value = field.codec.read(part)
            except MalformedFieldError as inner:
                raise MalformedFieldError(
                    f"{field.name}.{inner.path}",
                    field.offset + inner.offset,
                    inner.length,
                    inner.reason,
                ) from None
            except ValueError as error:
                raise MalformedFieldError(
                    field.name, field.offset, field.codec.size, str(error)
                ) from None
            if not isinstance(field.codec, Zero):
                values[field.name] = value
        return self.record(**values)

    def write(self, value: RecordT) -> bytes:
        """Return the record's bytes."""
        return b"".join(
            field.codec.write(getattr(value, field.name, None)) for field in self.fields
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """A field without parts, at its place in the whole; `value` is None for reserved bytes."""

    path: str
    offset: int
    length: int
    value: Any
    meaning: str


def walk(struct: Struct[Any], record: Any, prefix: str = "", base: int = 0) -> Iterator[Leaf]:
    """Yield every field of a record in wire order, those of nested structs in their place."""
    for field in struct.fields:
        value = getattr(record, field.name, None)
        path, offset = prefix + field.name, base + field.offset
        if isinstance(field.codec, Struct):
            yield from walk(field.codec, value, f"{path}.", offset)
        else:
            yield Leaf(path, offset, field.codec.size, value, field.meaning)


def parse(struct: Struct[RecordT], raw: bytes, what: str, *, base: int = 0) -> RecordT:
    """Read a whole format, at `base` in its file.

    Raises:
        InputError: `FORMAT_BAD`, naming the field and its bytes.
    """
    if len(raw) != struct.size:
        raise InputError(
            "FORMAT_BAD", f"the {what} has {len(raw)} bytes, and its format {struct.size}"
        )
    try:
        return struct.read(raw)
    except MalformedFieldError as error:
        first = base + error.offset
        raise InputError(
            "FORMAT_BAD",
            f"{what}: field {error.path} at bytes {first}-{first + error.length - 1}: "
            f"{error.reason}",
            where=Where(pointer=error.path),
        ) from None


def flags(value: int, names: Mapping[int, str]) -> list[str]:
    """Return the names of the bits set, lowest first."""
    return [name for bit, name in sorted(names.items()) if value >> bit & 1]
