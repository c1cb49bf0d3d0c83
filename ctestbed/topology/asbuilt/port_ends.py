"""What a record says of the two ends of each cable: one frame size, and one rate."""

from collections.abc import Callable, Iterator
from typing import Final

from ctestbed.core.result import Finding
from ctestbed.core.units import format_rate, parse_rate, parse_size
from ctestbed.topology.asbuilt.deviations import many
from ctestbed.topology.cabling import Cabling, infer_roles
from ctestbed.topology.formats.properties import end_figure

MAX_FINDINGS: Final = 20
"""Findings of one code that are written out."""

_LOST: Final = "give both ports one frame size: what is larger is dropped without a word"
_VANISH: Final = "raise this frame size: what is larger vanishes on the way"
_SLOW: Final = "give both ports one rate; one of the two may be misconfigured, or its record stale"


def differing_ends(cabling: Cabling) -> list[Finding]:
    """Return an error for each cable whose ends are set to other frame sizes or rates.

    And for each between switches whose ends agree, on less than endpoints send.
    """
    frames = list(_differing(cabling, "mtu", parse_size, "CTB-T067", _frames, _LOST))
    frames += _black_holes(cabling)
    rates = list(_differing(cabling, "rate", parse_rate, "CTB-T068", _rates, _SLOW))
    return [*_cut(frames), *_cut(rates)]


def _differing(
    cabling: Cabling,
    key: str,
    parse: Callable[..., int],
    code: str,
    words: Callable[[str, str, int, int], str],
    hint: str,
) -> Iterator[Finding]:
    extra = cabling.cables.extra
    near, far = extra.get(f"a_{key}"), extra.get(f"b_{key}")
    if near is None or far is None:
        return
    for row, texts in enumerate(zip(near, far, strict=True)):
        a, b = (end_figure(text, parse) for text in texts)
        if a is not None and b is not None and a != b:
            one, other = (cabling.end_name(cabling.cables, row, end) for end in ("a", "b"))
            yield Finding(code, "error", words(one, other, a, b), cabling.where(row), hint)


def _black_holes(cabling: Cabling) -> Iterator[Finding]:
    """Yield cables between switches whose ends agree on smaller frames than endpoints have."""
    extra, cables = cabling.cables.extra, cabling.cables
    columns = [extra.get(f"{end}_mtu") for end in ("a", "b")]
    if columns[0] is None or columns[1] is None:
        return
    memo: dict[str | None, int | None] = {}
    for text in {*columns[0], *columns[1]}:
        memo[text] = end_figure(text, parse_size)
    agreed = [
        size if (size := memo[a]) is not None and size == memo[b] else None
        for a, b in zip(columns[0], columns[1], strict=True)
    ]
    endpoint = infer_roles(cabling).endpoint
    outside = (endpoint[cables.a] | endpoint[cables.b]).tolist()
    sent = max((size for size, out in zip(agreed, outside, strict=True) if out and size), default=0)
    for row, (size, out) in enumerate(zip(agreed, outside, strict=True)):
        if size is not None and not out and size < sent:
            text = f"frames of up to {size:,} B on {cabling.cable_name(row)}, and endpoints "
            text += f"send up to {sent:,} B"
            yield Finding("CTB-T067", "error", text, cabling.where(row), _VANISH)


def _frames(a: str, b: str, size: int, other: int) -> str:
    return f"frames of up to {size:,} B at {a}, and of {other:,} B at its other end {b}"


def _rates(a: str, b: str, rate: int, other: int) -> str:
    return f"{a} runs at {format_rate(rate)}, and its other end {b} at {format_rate(other)}"


def _cut(findings: list[Finding]) -> list[Finding]:
    if len(findings) <= MAX_FINDINGS:
        return findings
    code, severity = findings[0].code, findings[0].severity
    more = f"{many(len(findings) - MAX_FINDINGS, 'cable')} more of this kind"
    return [*findings[:MAX_FINDINGS], Finding(code, severity, more)]
