"""Named properties of devices and cables, as CSV, GraphML, node-link JSON and labels carry them.

The names are those of `Device` and `Cables`: `kind`, `ports`, `host`, `site`, `plane`, `rail`, ...
of a device; `a_port`, `b_port`, `rate`, `delay`, `length` of a cable. A quantity is text with a
unit (`400Gbps`), or a bare number in bit/s, ps or mm. Other tools' names for the same things are
taken where they leave no doubt; what is left over is kept as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ctestbed.core.errors import InputError, Where
from ctestbed.core.units import MAX_QUANTITY, parse_length, parse_rate, parse_time
from ctestbed.topology.cabling import DeviceKind
from ctestbed.topology.formats.source import shorten

KINDS: Final[Mapping[str, DeviceKind]] = {
    "switch": DeviceKind.SWITCH,
    "router": DeviceKind.SWITCH,
    "leaf": DeviceKind.SWITCH,
    "spine": DeviceKind.SWITCH,
    "core": DeviceKind.SWITCH,
    "tor": DeviceKind.SWITCH,
    "host": DeviceKind.HOST,
    "server": DeviceKind.HOST,
    "nic": DeviceKind.NIC,
    "hca": DeviceKind.NIC,
    "ca": DeviceKind.NIC,
    "adapter": DeviceKind.NIC,
    "accelerator": DeviceKind.ACCELERATOR,
    "gpu": DeviceKind.ACCELERATOR,
    "npu": DeviceKind.ACCELERATOR,
    "unknown": DeviceKind.UNKNOWN,
}
TEXT_FIELDS: Final = ("host", "guid", "model", "description", "role", "site")
NUMBER_FIELDS: Final = ("ports", "plane", "pod", "tier", "rail")

_PORT_NAMES: Final = {
    end: (f"{end}_port", f"{long}_port", f"{long}port", f"{short}_port", f"{long}_interface")
    for end, long, short in (("a", "source", "src"), ("b", "target", "dst"))
}
END_FIGURES: Final = {
    f"{long}_{word}": f"{end}_{key}"
    for end, longs in (("a", ("a", "source", "src")), ("b", ("b", "target", "dst", "z")))
    for long in longs
    for key, words in (("mtu", ("mtu", "mfs")), ("rate", ("rate", "speed")))
    for word in words
}
"""Other names of what is set at one end of a cable: `a_mtu`, `b_mtu`, `a_rate`, `b_rate`."""

_QUANTITIES: Final[Mapping[str, tuple[Callable[..., int], tuple[str, ...]]]] = {
    "rate": (parse_rate, ("speed", "bandwidth", "capacity")),
    "delay": (parse_time, ("latency",)),
    "length": (parse_length, ("distance",)),
}
_MAX_NUMBER: Final = 2**31 - 1
_MAX_DIGITS: Final = 20


def read_kind(text: str, where: Where) -> DeviceKind:
    """Return the kind that a word names.

    Raises:
        InputError: it names none.
    """
    kind = KINDS.get(text.strip().lower())
    if kind is None:
        raise InputError(
            "CTB-T106",
            f"{shorten(text)!r} is no kind of node",
            where=where,
            hint=f"known: {', '.join(KINDS)}",
        )
    return kind


def device_fields(values: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """Return the fields of a `Device` that the properties give; the rest are its attributes.

    Raises:
        InputError: a property of ours that holds no such thing.
    """
    fields: dict[str, Any] = {}
    attributes: dict[str, str] = {}
    for key, value in values.items():
        text = as_text(value)
        if text == "":
            continue
        if key == "kind":
            fields["kind"] = read_kind(text, where)
        elif key in TEXT_FIELDS:
            fields[key] = text
        elif key in NUMBER_FIELDS:
            fields[key] = _count(key, text, where)
        else:
            attributes[key] = text
            if key.lower() in {"type", "device_type"} and text.lower() in KINDS:
                fields.setdefault("kind", KINDS[text.lower()])
    role = str(fields.get("role", "")).lower()
    if role in KINDS:
        fields.setdefault("kind", KINDS[role])
    return {**fields, "attributes": attributes}


@dataclass(frozen=True, slots=True)
class CableFields:
    """What properties say of a cable; None or absent where they do not."""

    a_port: str | None
    b_port: str | None
    rate: int | None
    delay: int | None
    length: int | None
    extra: Mapping[str, str]


def cable_fields(values: Mapping[str, Any], where: Where) -> CableFields:
    """Return the ports and figures that the properties give, and the rest.

    Raises:
        InputError: a property of ours that holds no such thing.
    """
    rest = {key: text for key, value in values.items() if (text := as_text(value)) != ""}
    lower = {key.lower(): key for key in rest}
    ports: dict[str, str | None] = {}
    for end, names in _PORT_NAMES.items():
        key = next((lower[name] for name in names if name in lower), None)
        ports[end] = None if key is None else rest.pop(key)
    figures: dict[str, int | None] = {}
    for name, (parse, aliases) in _QUANTITIES.items():
        figures[name] = None
        if name in rest:
            figures[name] = quantity(name, rest.pop(name), where)
            continue
        for alias in aliases:
            key = lower.get(alias)
            if key is None:
                continue
            try:
                figures[name] = parse(rest[key])
            except InputError:  # no unit, or one of another tool: kept as it is
                continue
            del rest[key]
            break
    rest = {END_FIGURES.get(key.lower(), key): text for key, text in rest.items()}
    if figures["rate"] is None:
        figures["rate"] = lower_rate(rest)
    return CableFields(ports["a"], ports["b"], **figures, extra=rest)


def end_figure(text: str | None, parse: Callable[..., int]) -> int | None:
    """Return what is set at one end of a cable; bare digits are bytes or bit/s, else None."""
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    try:
        return parse(text)
    except InputError:  # in no unit that we know: kept, and not compared
        return None


def lower_rate(values: Mapping[str, str | None]) -> int | None:
    """Return the rate of a cable whose ends say `a_rate` and `b_rate`: the lower one."""
    rates = [end_figure(values.get(key), parse_rate) for key in ("a_rate", "b_rate")]
    known = [rate for rate in rates if rate is not None and 0 < rate <= MAX_QUANTITY]
    return min(known, default=None)


def quantity(name: str, text: str, where: Where) -> int | None:
    """Return a rate, delay or length: bare digits are in base units, `unknown` is None.

    Raises:
        InputError: no such quantity.
    """
    text = text.strip()
    if text.lower() in {"unknown", "-1", ""}:
        return None
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        value = int(text)
        if value > MAX_QUANTITY:
            raise InputError(
                "CTB-T113", f"`{name}` {text} is too large", where=where, hint="check the unit"
            )
        return value
    try:
        return _parse_cached(name, text)
    except InputError as error:
        raise InputError(error.code, error.message, where=where, hint=error.hint) from None


@lru_cache(maxsize=256)
def _parse_cached(name: str, text: str) -> int:
    """Parse a quantity; lists of cables repeat the same few."""
    return int(_QUANTITIES[name][0](text))


def as_text(value: Any) -> str:
    """Return a scalar as text, anything else in Python's own notation; None is empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.strip() if isinstance(value, str) else str(value)


def _count(key: str, text: str, where: Where) -> int:
    if (
        not (text.isascii() and text.isdigit())
        or len(text) > _MAX_DIGITS
        or int(text) > _MAX_NUMBER
    ):
        raise InputError(
            "CTB-T113",
            f"`{key}` is {shorten(text)!r}, and a whole number is needed",
            where=where,
            hint="counts and positions are whole numbers from 0",
        )
    return int(text)
