"""What blocks and bundles are called in a drawing."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ctestbed.core.units import format_length, format_rate, format_time

_PLURALS: Final = {
    "leaf": "leaves",
    "switch": "switches",
    "scale-up switch": "scale-up switches",
    "processor": "processors",
}


TIMES: Final = "\N{MULTIPLICATION SIGN}"
KEY: Final = (
    "A ribbon is as wide as its capacity next to the widest of its column; a line is a step "
    "thicker for every doubling of its cables. Blocks that look stacked stand for several."
)
"""How to read the drawings."""


def many(count: int, noun: str) -> str:
    """Write a count with its noun."""
    plural = _PLURALS.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"


def rate_text(value: int | str) -> str:
    """Write a rate, or that nobody knows it."""
    return "UNKNOWN" if isinstance(value, str) else format_rate(value)


def length_text(value: int | str) -> str:
    """Write a length, or that nobody knows it."""
    return "length UNKNOWN" if isinstance(value, str) else format_length(value)


def delay_text(value: int | str) -> str:
    """Write a delay, or that nobody knows it."""
    return "delay UNKNOWN" if isinstance(value, str) else format_time(value)


def block_name(record: Mapping[str, Any]) -> str:
    """Write a block's name: one, or a run of names, or how many there are."""
    last = record["last"]
    if last:
        return f"{record['name']} to {last}"
    return str(record["name"]) or many(record["count"], record["kind"])


def count_words(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Write a block's count, from the fullest wording to the shortest."""
    count, kind = record["count"], record["kind"]
    short = {
        "scale-up switch": ("switch",),
        "NIC port": ("port",),
        "accelerator": ("accel.",),
    }.get(kind, ())
    return (
        many(count, kind),
        *(f"{count:,} {word}" if word.endswith(".") else many(count, word) for word in short),
        f"{count:,}",
    )


def block_tip(record: Mapping[str, Any]) -> str:
    """Write all that is known of a block in a line."""
    named = f"{block_name(record)}: " if record["name"] else ""
    text = named + many(record["count"], record["kind"])
    if record["ports_used"] is not None:
        text += f", {ports_text(record)} used"
    return text


def ports_text(record: Mapping[str, Any]) -> str:
    """Write how many ports of how many a switch uses."""
    of = "" if record["radix"] is None else f" of {record['radix']:,}"
    return f"{record['ports_used']:,}{of} ports"


def ports_words(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Write the ports, from the fullest wording to the shortest."""
    used, radix = record["ports_used"], record["radix"]
    of = "" if radix is None else f"/{radix:,}"
    return ports_text(record), f"{used:,}{of} ports", f"{used:,}{of}"


def bundle_text(bundle: Mapping[str, Any]) -> str:
    """Write the cables of a bundle and the rate of each."""
    rate = bundle["rate"]
    if isinstance(rate, str):
        return many(bundle["cables"], "cable")
    return f"{bundle['cables']:,} {TIMES} {rate_text(rate)}"


def bundle_words(bundle: Mapping[str, Any]) -> tuple[str, ...]:
    """Write a bundle's figures, from the fullest wording to the shortest; none is ever cut."""
    count = bundle["cables"]
    return bundle_text(bundle), many(count, "cable"), f"{count:,}"


def bundle_tip(bundle: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Write all that is known of a bundle in a line."""
    first, second = (names.get(bundle[end], bundle[end]) for end in ("a", "b"))
    place = f"inside {first}" if bundle["a"] == bundle["b"] else f"{first} - {second}"
    text = f"{bundle['layer']}, {place}: {many(bundle['cables'], 'cable')}"
    rate, capacity = bundle["rate"], rate_text(bundle["capacity"])
    if isinstance(rate, str) and isinstance(bundle["capacity"], int):
        text += f" of several rates = {capacity} one way"
    else:
        text += f" {TIMES} {rate_text(rate)} = {capacity} one way"
    return text + (f", narrowing {bundle['narrowing']}" if bundle["narrowing"] else "")


def total_lines(bundles: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Write the lines that sum up the bundles of one layer."""
    first = bundles[0]
    cables = sum(bundle["cables"] for bundle in bundles)
    rates = {bundle["rate"] for bundle in bundles}
    whole: dict[str, Any] = {**first, "cables": cables}
    lines = [(str(first["layer"]), "b")]
    if len(rates) > 1:
        return [*lines, (f"{many(cables, 'cable')} of several rates", "")]
    capacities = [bundle["capacity"] for bundle in bundles]
    each = {bundle["each"] for bundle in bundles}
    pair = next(iter(each)) if len(each) == 1 else None
    if isinstance(first["rate"], str) and isinstance(first["capacity"], int):
        lines.append((f"{many(cables, 'cable')} of several rates", ""))
    elif isinstance(first["rate"], str):
        lines += [(many(cables, "cable"), ""), (f"rate {first['rate']}", "s")]
    else:
        lines.append((f"{many(cables, 'cable')} {TIMES} {rate_text(first['rate'])}", ""))
    if all(isinstance(capacity, int) for capacity in capacities):
        whole["capacity"] = sum(capacities)
        lines.append((f"= {rate_text(whole['capacity'])} one way", ""))
    if first["narrowing"] not in {None, "-"}:
        lines.append((f"narrowing {first['narrowing']}", "s"))
    if pair is not None and pair > 1:
        lines.append((f"{pair:,} cables between each two", "s"))
    return lines


def scene_heading(scene: Mapping[str, Any]) -> str:
    """Write what a scene is of, and how much else looks like it."""
    parts = [str(scene["title"])]
    if scene["planes"]:
        parts.append(_planes(scene["planes"]))
    elif scene["level"] == "plane" and scene["alike"] > 1:
        parts.append(f"one of {scene['alike']:,} alike")
    words = {"pod": "pod", "leaf": "leaf", "supernode": "supernode"}
    word = words.get(scene["level"])
    if word == "pod" and scene["view"] == "links" and "group" in scene["title"]:
        word = "group"
    if word is not None and scene["alike"] > 1:
        router = "router" in scene["title"].lower() and word == "leaf"
        parts.append(f"one of {many(scene['alike'], 'router' if router else word)} alike")
    if scene["sites"]:
        sites = scene["sites"]
        shown = ", ".join(sites[:4]) + (f" and {len(sites) - 4} more" if len(sites) > 4 else "")  # noqa: PLR2004 - names that fit
        parts.append(f"{'site' if len(sites) == 1 else 'sites'} {shown}")
    return "; ".join(parts)


def _planes(planes: Sequence[int]) -> str:
    if len(planes) == 1:
        return f"plane {planes[0]}"
    run = list(range(planes[0], planes[0] + len(planes)))
    if len(planes) > 2 and list(planes) == run:  # noqa: PLR2004 - a run of them
        shown = f"{planes[0]} to {planes[-1]}"
    else:
        shown = ", ".join(map(str, planes[:6])) + (", ..." if len(planes) > 6 else "")  # noqa: PLR2004 - that fit
    return f"one of {len(planes)} planes alike ({shown})"
