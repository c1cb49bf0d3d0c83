"""What `topology bom` computes: parts, power and cost of one design, or of several."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ctestbed.core.errors import InputError
from ctestbed.core.names import nearest
from ctestbed.core.result import UNKNOWN, Finding, Metric, Result
from ctestbed.core.spec import SpecError
from ctestbed.topology.bom.data import (
    BomData,
    CostData,
    DesignData,
    LineData,
    MoneyOrUnknown,
    PricesData,
    Provenance,
)
from ctestbed.topology.bom.lines import Line, bom_lines, length_class
from ctestbed.topology.bom.prices import LoadedPrices, PricedKind, load_prices
from ctestbed.topology.bom.totals import (
    Priced,
    count_transceivers,
    money,
    per_endpoint,
    price_line,
    sum_cost,
    sum_power,
)
from ctestbed.topology.describe import Quantity
from ctestbed.topology.load import LoadedTestbed, load_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Plan

SCHEMA: Final = "ctestbed.topology.bom/1"
_CABLES: Final = frozenset({"cable", "breakout cable", "transceiver", "standby route"})
_IN_PLANES: Final = frozenset({"switch", "cable", "breakout cable", "transceiver"})


@dataclass(frozen=True, slots=True)
class BomRequest:
    """Testbeds (paths, built-in names, one `-`), and a price list."""

    testbeds: tuple[str, ...]
    prices: str | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """One design's lines, and what each costs where prices are given."""

    design: str
    loaded: LoadedTestbed
    plan: Plan
    lines: tuple[Line, ...]
    priced: tuple[Priced, ...] | None


def run_bom(request: BomRequest) -> Result:
    """Count, weigh and price the parts of designs, side by side.

    Raises:
        InputError: a file cannot be read, or (as SpecError) is wrong; no price fits any part.
    """
    _refuse_two_stdins(request)
    prices = None if request.prices is None else load_prices(request.prices)
    loaded = [load_testbed(name) for name in request.testbeds]
    names = _names(loaded)
    bills = [_bill(name, each, prices) for name, each in zip(names, loaded, strict=True)]
    findings = () if prices is None else tuple(_check_prices(prices, bills))
    designs = [_design(bill) for bill in bills]
    data: BomData = {
        "designs": designs,
        "prices": None if prices is None else _prices(prices, bills),
    }
    sources = [each.source for each in loaded]
    return Result(
        SCHEMA,
        data,
        findings=findings,
        metrics=tuple(metric for design in designs for metric in _metrics(design, prices)),
        inputs=tuple(sources if prices is None else [*sources, prices.source]),
    )


def _refuse_two_stdins(request: BomRequest) -> None:
    if [*request.testbeds, request.prices].count("-") > 1:
        raise InputError(
            "CTB-T217",
            "standard input can be read once only, and `-` is given twice",
            hint="name a file for one of the two",
        )


def _names(loaded: list[LoadedTestbed]) -> list[str]:
    """Call designs by their names; those of one name by their files too, and numbers at last."""
    names = [each.testbed.name for each in loaded]
    if len(set(names)) < len(names):
        many = Counter(names)
        names = [
            f"{name} ({each.source.name})" if many[name] > 1 else name
            for name, each in zip(names, loaded, strict=True)
        ]
    if len(set(names)) < len(names):
        names = [f"{number}: {name}" for number, name in enumerate(names, 1)]
    return names


def _bill(name: str, loaded: LoadedTestbed, prices: LoadedPrices | None) -> Bill:
    plan = require_plan(loaded)
    lines = tuple(bom_lines(loaded, plan))
    priced = None if prices is None else tuple(price_line(line, prices) for line in lines)
    return Bill(name, loaded, plan, lines, priced)


_SHELVES: Final[dict[PricedKind, str]] = {
    "switch": "switches",
    "transceiver": "media",
    "cable": "media",
    "nic": "nics",
    "amplifier": "amplifiers",
}
"""Where `parts` describes what a price is of."""


def _check_prices(prices: LoadedPrices, bills: list[Bill]) -> Iterable[Finding]:
    """Warn of prices that may be of a part left without one, and note the others that fit none.

    Raises:
        SpecError: not one price is of a part that any design has.
    """
    strays, aside = [], []
    for position, entry in enumerate(prices.listed.prices):
        kind, name = entry.part
        shelf = _SHELVES[kind]
        known = {part for bill in bills for part in getattr(bill.loaded.testbed.parts, shelf)}
        if name in known:
            continue
        close = nearest(name, sorted(known))
        without = sorted(part for part in known if (kind, part) not in prices.entries)
        hint = f"did you mean `{close}`?" if close else f"`parts.{shelf}` has the names"
        text = f"no design here has a part {name!r} under `parts.{shelf}`"
        where = prices.document.where(("prices", position, kind))
        strays.append(Finding("CTB-T165", "warning" if without else "note", text, where, hint))
        if not without:
            aside.append((name, strays[-1]))
    if len(strays) == len(prices.listed.prices):
        raise SpecError(
            tuple(
                Finding("CTB-T164", "error", each.message, each.where, each.hint) for each in strays
            )
        )
    found = [each for each in strays if each.severity == "warning"]
    if aside:
        names = ", ".join(dict.fromkeys(name for name, _ in aside))
        text = f"prices of parts that no design here has: {names}"
        hint = "nothing is amiss where the list serves other designs too"
        found.append(Finding("CTB-T165", "note", text, aside[0][1].where, hint))
    return found


def _design(bill: Bill) -> DesignData:
    plan, lines = bill.plan, bill.lines
    direct = plan.nics == 0
    endpoints = plan.accelerators if direct else plan.nics
    transceivers = count_transceivers(lines)
    power = sum_power(_of(lines, "network"))
    cost = _cost(bill, "network")
    host_links = sum(plane.shape.ports for site in plan.sites for plane in site.planes)
    return {
        "design": bill.design,
        "title": bill.loaded.testbed.title or "",
        "counts_only": plan.counts_only,
        "endpoint": "accelerator" if direct else "NIC",
        "endpoints": endpoints,
        "accelerators": plan.accelerators,
        "hosts": plan.hosts,
        "planes": plan.planes,
        "switches": plan.switches,
        "endpoint_links": host_links,
        "inter_switch_links": plan.network_links - plan.trunk_links - host_links,
        "trunk_links": plan.trunk_links,
        "scale_up_switches": plan.scale_up_switches,
        "scale_up_bundles": plan.scale_up_links,
        "transceivers": transceivers,
        "power": power,
        "scale_up_power": sum_power(_of(lines, "scale-up")) if plan.scale_up_switches else None,
        "nic_power": sum_power(line for line in lines if line.part == "NIC") if plan.nics else None,
        "cost": cost,
        "scale_up_cost": _cost(bill, "scale-up") if plan.scale_up_switches else None,
        "nic_cost": _cost(bill, "hosts") if plan.nics else None,
        "per_endpoint": {
            "transceivers": per_endpoint(transceivers["value"], endpoints),
            "power": per_endpoint(power["value"], endpoints),
            "cost": None if cost is None else per_endpoint(cost["value"], endpoints),
        },
        "lines": _line_data(bill),
    }


def _of(lines: Iterable[Line], group: str) -> list[Line]:
    return [line for line in lines if line.group == group]


def _cost(bill: Bill, group: str) -> CostData | None:
    if bill.priced is None:
        return None
    return sum_cost(each for each in bill.priced if each.line.group == group)


def _line_data(bill: Bill) -> list[LineData]:
    priced = bill.priced or (None,) * len(bill.lines)
    planes = bill.plan.planes
    return [_line(line, each, planes) for line, each in zip(bill.lines, priced, strict=True)]


def _line(line: Line, priced: Priced | None, planes: int) -> LineData:
    power = _figure(line.power)
    return {
        "group": line.group,
        "part": line.part,
        "site": line.site,
        "planes": None if line.planes is None else list(line.planes),
        "place": line.place,
        "model": line.model,
        "kind": line.kind,
        "count": line.count,
        "per_plane": _per_plane(line, planes),
        "links": line.links,
        "radix": line.radix,
        "ports_used": line.ports_used,
        "rate": UNKNOWN if line.rate == UNKNOWN_FIGURE else line.rate,
        "length": UNKNOWN if line.length == UNKNOWN_FIGURE else line.length,
        "length_class": length_class(line.length) if line.part in _CABLES else None,
        "power_each": power,
        "power": power * line.count if isinstance(power, int) else power,
        "power_source": None if line.power is None else line.source,
        "price_each": _price_each(priced),
        "cost": _cost_of(priced),
        "included": None if priced is None or priced.included is None else priced.included.switch,
        "price_provenance": None if priced is None else _price_provenance(priced),
        "price_source": None if priced is None else _price_source(priced),
    }


def _per_plane(line: Line, planes: int) -> int | None:
    """Return how many are in each plane; None of what is outside them or shared by them."""
    among = planes if line.planes is None else len(line.planes)
    in_planes = line.part in _IN_PLANES and not line.place.endswith("in NIC")
    return line.count // among if in_planes and line.count % among == 0 else None


def _figure(power: int | None) -> Quantity | None:
    return UNKNOWN if power == UNKNOWN_FIGURE else power


def _price_each(priced: Priced | None) -> MoneyOrUnknown | None:
    if priced is None or not priced.applies or priced.included is not None:
        return None
    return UNKNOWN if priced.entry is None else money(priced.entry.price)


def _cost_of(priced: Priced | None) -> MoneyOrUnknown | None:
    if priced is None or not priced.applies:
        return None
    return UNKNOWN if priced.cost is None else money(priced.cost)


def _price_provenance(priced: Priced) -> Provenance | None:
    entry = priced.entry or priced.included
    return None if entry is None else entry.provenance


def _price_source(priced: Priced) -> str | None:
    entry = priced.entry or priced.included
    return None if entry is None else entry.source


def _prices(prices: LoadedPrices, bills: list[Bill]) -> PricesData:
    """Describe the price list, and those of its entries that count in a sum."""
    used = {
        entry.part: entry
        for bill in bills
        for each in bill.priced or ()
        for entry in (each.entry, each.included)
        if entry is not None
    }
    return {
        "name": prices.listed.name,
        "title": prices.listed.title or "",
        "currency": prices.currency,
        "prices": len(prices.listed.prices),
        "used": len(used),
        "provenance": sorted({entry.provenance for entry in used.values()}),
        "sources": sorted({entry.source for entry in used.values()}),
    }


def _metrics(design: DesignData, prices: LoadedPrices | None) -> Iterable[Metric]:
    """Yield the figures that a gate can hold: each a sum over the lines."""
    name = design["design"]
    counted = "counted from the testbed"
    for what in ("endpoints", "switches", "inter_switch_links"):
        value: int = design[what]
        yield Metric(f"{name}.{what}", value, "", "modelled", source=counted)
    transceivers = design["transceivers"]["value"]
    yield Metric(f"{name}.transceivers", transceivers, "", "modelled", "lower", source=counted)
    power, stated = design["power"], "`parts` of the testbed"
    yield Metric(f"{name}.power", power["value"], "mW", power["provenance"], "lower", source=stated)
    cost = design["cost"]
    if cost is not None and prices is not None:
        source = f"price list {prices.listed.name}"
        currency, provenance = prices.currency, cost["provenance"]
        yield Metric(f"{name}.cost", cost["value"], currency, provenance, "lower", source=source)
