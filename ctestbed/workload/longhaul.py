"""`sim longhaul`: what each way to keep a long link lossless does over distance; its reach."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import product
from typing import Final, Literal, TypeAlias, TypeVar

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.headroom import (
    DEFAULT_MTU,
    bandwidth_delay_product,
    paced_pause_buffer,
)
from ctestbed.core.result import UNKNOWN, Metric, Result
from ctestbed.core.units import format_length, format_rate, parse_length, parse_rate, parse_size
from ctestbed.transport.laws.longhaul import reach
from ctestbed.transport.laws.reliability import (
    go_back_n_efficiency,
    selective_repeat_efficiency,
    window_packets,
)
from ctestbed.workload.chips import Chip, load_chips
from ctestbed.workload.longhaul_point import (
    CONTROL,
    HEADER,
    Point,
    Seen,
    delay_of,
    frames_of,
    lossless_need,
    simulate_point,
)
from ctestbed.workload.longhaul_search import Reach, find_reach, map_all

Quantity: TypeAlias = int | str
Verdict: TypeAlias = Literal["full rate", "starves", "loses"]
Scheme: TypeAlias = Literal["pfc", "cbfc", "bifrost", "gbn", "sr"]

SCHEMES: Final[tuple[Scheme, ...]] = ("pfc", "cbfc", "bifrost", "gbn", "sr")
LOSSY: Final = ("gbn", "sr")
MAX_POINTS: Final = 400
MAX_LENGTH: Final = 10**11
"""mm: 100,000 km, more than twice round the Earth."""
RATES: Final = (10**6, 10**13)
"""bit/s that can be simulated: 1 Mb/s to 10 Tb/s."""
MAX_FRAMES: Final = 20_000_000
"""Frames of one run: more would take minutes and gigabytes."""
MAX_TOTAL: Final = 200_000_000
"""Frames of all runs together, the searches apart."""
DEFAULT_LOSS: Final = "0.00000001"
"""Private optics, as low as 1e-8: SDR-RDMA (SC 2025)."""
BIFROST_PERIOD: Final = 10_000_000
"""ps between computed pauses: Bifrost, ICNP 2023."""
_Read = TypeVar("_Read")

_LAWS: Final[dict[str, str]] = {
    "pfc": "2 BDP and the frames in flight (Bifrost, ICNP 2023; IEEE 802.1Qbb, annex O)",
    "cbfc": "credits of one BDP",
    "bifrost": "BDP + 2RT, T = 10 us (Bifrost, ICNP 2023)",
    "gbn": "go-back-N: (1 - p) / (1 + (W - 1) p), W frames of one BDP",
    "sr": "selective repeat: 1 - p",
}
_SIMULATED: Final = (
    "packet engine: one cable into a switch whose way out is blocked for four round trips, then "
    "open for four"
)


@dataclass(frozen=True, slots=True)
class LongHaulRequest:
    """What to sweep, each a list of quantities between commas; None: this module's default."""

    distance: str
    rate: str
    scheme: str = "pfc,cbfc,bifrost,none"
    buffer: str | None = None
    mtu: str | None = None
    loss: str = DEFAULT_LOSS
    search: bool = True


class PointData(TypedDict):
    """A scheme at a rate and distance; bit/s, mm, ps and bytes, shares of 1.

    `provenance` is that of `verdict`, `share`, `lost` and `peak`; `needed`, `fits` and
    `lossy_share` are closed forms. `needed` bytes lose nothing and never starve. `fits` is the
    smallest known chip whose whole buffer holds that.
    """

    scheme: Scheme
    rate: int
    length: int
    delay: int
    buffer: int
    verdict: Verdict
    provenance: Literal["simulated", "modelled"]
    share: float | str
    lost: Quantity
    idle: Quantity
    peak: Quantity
    needed: Quantity
    fits: str
    lossy_share: float | str


class BreakData(TypedDict):
    """Where a scheme breaks for a buffer: the longest lengths in mm, by closed form and simulation.

    `full_rate` is the longest that loses nothing and never starves, `lossless` the longest that
    loses nothing.
    """

    scheme: Scheme
    rate: int
    buffer: int
    full_rate: Quantity
    full_rate_simulated: Quantity
    lossless: Quantity
    lossless_simulated: Quantity
    runs: int
    source: str


class ChipData(TypedDict):
    """A switch chip: bytes of its whole packet buffer, as claimed."""

    name: str
    buffer: int
    off_chip: bool
    source: str


class LongHaulData(TypedDict):
    """Data of `sim longhaul`."""

    mtu: int
    loss: str
    buffer_of: str
    points: list[PointData]
    breaks: list[BreakData]
    chips: list[ChipData]


@dataclass(frozen=True, slots=True)
class _Sweep:
    lengths: tuple[int, ...]
    rates: tuple[int, ...]
    schemes: tuple[Scheme, ...]
    buffer: int
    buffer_of: str
    mtu: int
    loss: Fraction


def run_longhaul(request: LongHaulRequest) -> Result:
    """Sweep the distances, rates and schemes.

    Raises:
        InputError: a quantity cannot be read or simulated, or the points are too many.
    """
    chips = load_chips()
    sweep = _read(request, chips)
    asked = list(product(sweep.schemes, sweep.rates, sweep.lengths))
    cases = [Point(scheme, rate, length, sweep.buffer, sweep.mtu) for scheme, rate, length in asked]
    seen = dict(zip(cases, map_all(simulate_point, cases), strict=True))
    points = [
        _point(sweep, chips, scheme, rate, length, seen.get(
            Point(scheme, rate, length, sweep.buffer, sweep.mtu)
        ))
        for scheme, rate, length in asked
    ]  # fmt: skip
    breaks = _breaks(sweep, search=request.search)
    data: LongHaulData = {
        "mtu": sweep.mtu,
        "loss": request.loss,
        "buffer_of": sweep.buffer_of,
        "points": points,
        "breaks": breaks,
        "chips": [
            {"name": c.name, "buffer": c.buffer, "off_chip": c.off_chip, "source": c.source}
            for c in chips
        ],
    }
    return Result("ctestbed.sim.longhaul/1", data, (), tuple(_metrics(sweep, points, breaks)), ())


def _read(request: LongHaulRequest, chips: list[Chip]) -> _Sweep:
    lengths = _list(request.distance, "--distance", parse_length)
    rates = _list(request.rate, "--rate", parse_rate)
    mtu = DEFAULT_MTU if request.mtu is None else parse_size(request.mtu, Where(pointer="--mtu"))
    if not HEADER < mtu < 2**16:
        raise _refused(
            f"a frame of {mtu} B cannot be simulated", "--mtu", f"from {HEADER + 1}B to 65535B"
        )
    if min(rates) < RATES[0] or max(rates) > RATES[1]:
        wrong = min(rates) if min(rates) < RATES[0] else max(rates)
        raise _refused(
            f"a link of {format_rate(wrong)} cannot be simulated", "--rate", "from 1Mbps to 10Tbps"
        )
    if max(lengths) > MAX_LENGTH:
        raise _refused(
            f"{format_length(max(lengths))} is longer than any cable", "--distance",
            f"at most {format_length(MAX_LENGTH)}",
        )  # fmt: skip
    largest = max((c for c in chips if not c.off_chip), key=lambda c: c.buffer)
    if request.buffer is None:
        buffer, whose = largest.buffer, f"all of a {largest.name}, the largest on-chip one known"
    else:
        buffer, whose = parse_size(request.buffer, Where(pointer="--buffer")), "--buffer"
    if not mtu <= buffer < 2**50:
        raise _refused(
            f"a buffer of {buffer} B is not between a frame and a pebibyte", "--buffer", "165MB"
        )
    schemes = _schemes(request.scheme)
    _bound(list(product(rates, lengths)), len(schemes), mtu)
    return _Sweep(lengths, rates, schemes, buffer, whose, mtu, _loss(request.loss))


def _list(text: str, option: str, read: Callable[[str, Where], _Read]) -> tuple[_Read, ...]:
    """Return what stands between commas, each once, in the order given."""
    if text.count(",") >= MAX_POINTS:
        raise _refused(f"{text.count(',') + 1} values are too many", option, f"{MAX_POINTS}")
    where = Where(pointer=option)
    return tuple(dict.fromkeys(read(item.strip(), where) for item in text.split(",")))


def _schemes(text: str) -> tuple[Scheme, ...]:
    found: dict[Scheme, None] = {}
    for name in text.split(","):
        known = [s for s in SCHEMES if s == name.strip() or (name.strip() == "none" and s in LOSSY)]
        if not known:
            raise _refused(
                f"{name.strip()[:80]!r} is no scheme of a long link",
                "--scheme",
                f"{', '.join(SCHEMES)}, or none for {' and '.join(LOSSY)}",
            )
        found.update(dict.fromkeys(known))
    return tuple(found)


def _loss(text: str) -> Fraction:
    try:
        loss = Decimal(text)
    except InvalidOperation:
        loss = Decimal(-1)
    if not loss.is_finite() or not 0 <= loss < 1 or loss.adjusted() < -30 < loss:  # noqa: PLR2004
        raise _refused(
            f"{text[:80]!r} is no share of lost frames", "--loss", "from 0 to below 1: 1e-6"
        )
    return Fraction(loss)


def _bound(cables: list[tuple[int, int]], schemes: int, mtu: int) -> None:
    if len(cables) * schemes > MAX_POINTS:
        raise _refused(
            f"{len(cables) * schemes:,} points are too many", "--distance", f"at most {MAX_POINTS}"
        )
    frames = [frames_of(rate, length, mtu) for rate, length in cables]
    if max(frames) > MAX_FRAMES or sum(frames) * schemes > MAX_TOTAL:
        raise _refused(
            f"{max(frames):,} frames on one cable, {sum(frames) * schemes:,} in all, are too many "
            "to simulate",
            "--distance",
            f"at most {MAX_FRAMES:,} on one and {MAX_TOTAL:,} in all: shorten or slow the links",
        )


def _refused(message: str, option: str, hint: str) -> InputError:
    return InputError("CTB-S140", message, where=Where(pointer=option), hint=hint)


def _point(
    sweep: _Sweep, chips: list[Chip], scheme: Scheme, rate: int, length: int, seen: Seen | None
) -> PointData:
    needed = _needed(scheme, rate, length, sweep.mtu)
    window = window_packets(rate, delay_of(length), sweep.mtu)
    shown: PointData = {
        "scheme": scheme,
        "rate": rate,
        "length": length,
        "delay": delay_of(length),
        "buffer": sweep.buffer,
        "verdict": "full rate" if needed is None or sweep.buffer >= needed else "starves",
        "provenance": "modelled",
        "share": UNKNOWN,
        "lost": UNKNOWN,
        "idle": UNKNOWN,
        "peak": UNKNOWN,
        "needed": UNKNOWN if needed is None else needed,
        "fits": "-" if needed is None else _fits(chips, needed),
        "lossy_share": _lossy_share(scheme, sweep.loss, window),
    }
    if seen is not None:
        shown["provenance"] = "simulated"
        shown["verdict"] = "loses" if seen.lost else "starves" if seen.idle else "full rate"
        shown["share"] = UNKNOWN if seen.share < 0 else round(seen.share, 6)
        shown["idle"] = UNKNOWN if seen.idle < 0 else seen.idle
        shown["lost"], shown["peak"] = seen.lost, seen.peak
    return shown


def _needed(scheme: Scheme, rate: int, length: int, mtu: int) -> int | None:
    """Return the bytes with which a scheme loses nothing and never starves; lossy: None."""
    delay = delay_of(length)
    trip = bandwidth_delay_product(rate, delay)
    match scheme:
        case "pfc":
            return trip + lossless_need(rate, length, mtu)
        case "cbfc":
            return trip
        case "bifrost":
            return paced_pause_buffer(rate, delay, BIFROST_PERIOD)
    return None


def _fits(chips: list[Chip], needed: int) -> str:
    holding = sorted((c.off_chip, c.buffer, c.name) for c in chips if c.buffer >= needed)
    return holding[0][2] if holding else "no known chip"


def _lossy_share(scheme: Scheme, loss: Fraction, window: Fraction) -> float | str:
    if scheme == "gbn":
        return round(float(go_back_n_efficiency(loss, max(window, Fraction(1)))), 6)
    return round(float(selective_repeat_efficiency(loss)), 6) if scheme == "sr" else UNKNOWN


def _breaks(sweep: _Sweep, *, search: bool) -> list[BreakData]:
    """Return the reach of each lossless scheme at each rate."""
    asked = [(s, r) for s in sweep.schemes if s not in LOSSY for r in sweep.rates]
    closed = [_closed_reach(sweep, scheme, rate) for scheme, rate in asked]
    tasks = [
        Reach(scheme, rate, sweep.buffer, sweep.mtu, lossless=lossless, expected=length)
        for (scheme, rate), lengths in zip(asked, closed, strict=True)
        for lossless, length in zip((False, True), lengths, strict=True)
        if search
        and length > 0
        and 2 * length <= MAX_LENGTH
        and frames_of(rate, 2 * length, sweep.mtu) <= MAX_FRAMES
    ]
    found = dict(zip(tasks, map_all(find_reach, tasks), strict=True))
    described: list[BreakData] = []
    for (scheme, rate), (full, lossless) in zip(asked, closed, strict=True):
        by_run = [
            found.get(Reach(scheme, rate, sweep.buffer, sweep.mtu, lossless=only, expected=length))
            for only, length in ((False, full), (True, lossless))
        ]
        lengths = [UNKNOWN if one is None or one.length < 0 else one.length for one in by_run]
        described.append(
            {
                "scheme": scheme,
                "rate": rate,
                "buffer": sweep.buffer,
                "full_rate": full,
                "full_rate_simulated": lengths[0],
                "lossless": lossless if scheme == "pfc" else UNKNOWN,
                "lossless_simulated": lengths[1],
                "runs": sum(one.runs for one in by_run if one is not None),
                "source": _LAWS[scheme],
            }
        )
    return described


def _closed_reach(sweep: _Sweep, scheme: Scheme, rate: int) -> tuple[int, int]:
    """Return the mm within which a scheme never starves, and within which it loses nothing.

    Credits and computed pauses never lose, whatever the length; PFC keeps its headroom first.
    """
    spare = sweep.buffer - 3 * sweep.mtu - CONTROL
    if scheme == "pfc":
        return max(0, int(reach(rate, spare) / 2)), max(0, int(reach(rate, spare)))
    if scheme == "bifrost":
        spare = sweep.buffer - paced_pause_buffer(rate, 0, BIFROST_PERIOD)
        return max(0, int(reach(rate, spare))), -1
    return int(reach(rate, sweep.buffer)), -1


def _metrics(sweep: _Sweep, points: list[PointData], breaks: list[BreakData]) -> list[Metric]:
    """Return each scheme's reach at the fastest rate, and its least share of line rate."""
    metrics = []
    fastest = max(sweep.rates)
    for one in breaks:
        if one["rate"] != fastest:
            continue
        name = f"longhaul.{one['scheme']}.break_distance"
        if one["full_rate_simulated"] != UNKNOWN:
            value = one["full_rate_simulated"]
            metrics.append(Metric(name, value, "mm", "simulated", "higher", source=_SIMULATED))
            name += "_closed_form"
        metrics.append(
            Metric(name, one["full_rate"], "mm", "modelled", "higher", source=one["source"])
        )
    for scheme in sweep.schemes:
        shares = [p["share"] for p in points if p["scheme"] == scheme]
        known = [share for share in shares if isinstance(share, float)]
        if known and len(known) == len(shares):
            metrics.append(
                Metric(
                    f"longhaul.{scheme}.least_share", min(known), "ratio", "simulated", "higher",
                    source=_SIMULATED,
                )
            )  # fmt: skip
    return metrics
