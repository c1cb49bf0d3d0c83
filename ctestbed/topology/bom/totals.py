"""Sums over the lines of a bill of materials; what is unknown is named and never guessed."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final, Literal

from ctestbed.core.result import UNKNOWN
from ctestbed.topology.bom.data import CostData, Money, PowerData, Ratio, TransceiverData
from ctestbed.topology.bom.lines import Line
from ctestbed.topology.bom.prices import LoadedPrices, PricedKind, PriceEntry
from ctestbed.topology.shapes import UNKNOWN_FIGURE

_PRICED_AS: Final[dict[str, PricedKind]] = {
    "switch": "switch",
    "scale-up switch": "switch",
    "transceiver": "transceiver",
    "cable": "cable",
    "breakout cable": "cable",
    "NIC": "nic",
    "amplifier place": "amplifier",
}
_NOT_PRICED: Final = frozenset({"bundle", "host"})
"""A bundle is no cable, and a host no part of a network: neither has a cost here."""

_EXACT: Final = Context(prec=60)


@dataclass(frozen=True, slots=True)
class Priced:
    """What one line costs: its price, or the switch whose price includes it, or neither."""

    line: Line
    entry: PriceEntry | None
    included: PriceEntry | None

    @property
    def applies(self) -> bool:
        """Whether such a part has a price at all."""
        return self.line.part not in _NOT_PRICED

    @property
    def cost(self) -> Decimal | None:
        """The cost of the line; None where it is not known."""
        if self.included is not None:
            return Decimal(0)
        return None if self.entry is None else _EXACT.multiply(self.entry.price, self.line.count)


def price_line(line: Line, prices: LoadedPrices) -> Priced:
    """Find what a line costs."""
    kind = _PRICED_AS.get(line.part)
    included = _included(line, prices)
    if kind is None or line.model is None or included is not None:
        return Priced(line, None, included)
    return Priced(line, prices.entries.get((kind, line.model)), None)


def _included(line: Line, prices: LoadedPrices) -> PriceEntry | None:
    """Return the switch's price that holds a cable or transceiver: of all switches it is on."""
    if not line.serves:
        return None
    needed = {"transceivers"} if line.part == "transceiver" else {"cables"}
    if line.part == "cable" and line.kind is None:
        needed = {"cables", "transceivers"}
    entries = [prices.entries.get(("switch", name or "")) for name in line.serves]
    for entry in entries:
        if entry is None or not needed <= set(entry.includes):
            return None
    return entries[0]


def label(line: Line) -> str:
    """Name a line's part the way lists of unknowns do."""
    if line.part in {"switch", "scale-up switch"}:
        what = f"{line.place} switch" if line.part == "switch" else line.part
        return f"{what} {line.model}" if line.model else f"{what} (no model named)"
    if line.part in {"cable", "breakout cable"}:
        made_of = line.model or "no medium named"
        return f"{line.place} cable ({made_of})"
    return f"{line.part} {line.model}" if line.model else f"{line.part} (no model named)"


def sum_power(lines: Iterable[Line]) -> PowerData:
    """Add up what lines draw, in mW."""
    total, unknown = 0, []
    for line in lines:
        if line.power == UNKNOWN_FIGURE:
            unknown.append(label(line))
        elif line.power is not None:
            total += line.count * line.power
    named = list(dict.fromkeys(unknown))
    return {
        "value": UNKNOWN if named else total,
        "at_least": total,
        "unknown": named,
        "provenance": "claimed",
    }


def sum_cost(priced: Iterable[Priced]) -> CostData:
    """Add up what lines cost."""
    total, unknown = Decimal(0), []
    provenance: Literal["modelled", "claimed"] = "claimed"
    for each in priced:
        if not each.applies:
            continue
        cost, entry = each.cost, each.entry or each.included
        if cost is None:
            unknown.append(label(each.line))
            continue
        total = _EXACT.add(total, cost)
        if entry is not None and entry.provenance == "modelled":
            provenance = "modelled"
    named = list(dict.fromkeys(unknown))
    amount = money(total)
    return {
        "value": UNKNOWN if named else amount,
        "at_least": amount,
        "unknown": named,
        "provenance": provenance,
    }


def count_transceivers(lines: Iterable[Line]) -> TransceiverData:
    """Count the transceivers; cables of no named medium may have some."""
    total, unknown = 0, []
    for line in lines:
        if line.part == "transceiver":
            total += line.count
        elif line.part == "cable" and line.kind is None:
            unknown.append(label(line))
    named = list(dict.fromkeys(unknown))
    return {"value": UNKNOWN if named else total, "at_least": total, "unknown": named}


def money(amount: Decimal) -> Money:
    """Return an amount as JSON holds it: whole where it is whole."""
    whole = amount.to_integral_value()
    return int(whole) if whole == amount else float(amount)


def per_endpoint(value: float | str, endpoints: int) -> Ratio:
    """Return a sum for each endpoint: exact where whole, else the nearest float."""
    if isinstance(value, str):
        return UNKNOWN
    ratio = Fraction(Decimal(str(value))) / endpoints
    return int(ratio) if ratio.denominator == 1 else float(ratio)
