"""Price files: what one of each part costs, in which currency, and who says so."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from ctestbed.core.data import data_directory
from ctestbed.core.errors import InputError, Where
from ctestbed.core.files import is_file, read_input
from ctestbed.core.names import did_you_mean, nearest
from ctestbed.core.result import Finding, InputFile
from ctestbed.core.spec import SpecError, SpecModel, validate_model
from ctestbed.core.yamlfile import YAMLDocument, load_yaml
from ctestbed.topology.fields import Name, PartName, Text, refusal
from ctestbed.topology.load import SUFFIXES

PricedKind: TypeAlias = Literal["switch", "transceiver", "cable", "nic", "amplifier"]
PRICED_KINDS: Final[tuple[PricedKind, ...]] = ("switch", "transceiver", "cable", "nic", "amplifier")

MAX_PRICE: Final = 10**12
MAX_DECIMALS: Final = 4
MAX_SHOWN: Final = 80


def _price(value: Any) -> Decimal:
    """Read an amount of money exactly; YAML hands a fraction over as the float nearest to it."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal("CTB-T160", f"{str(value)[:MAX_SHOWN]!r} is no price", "`price: 1250.50`")
    amount = Decimal(str(value))
    if not amount.is_finite():
        raise refusal("CTB-T160", f"{value} is no price", "write an amount: `price: 1250.50`")
    if not 0 <= amount <= MAX_PRICE:
        raise refusal("CTB-T160", f"a price of {value} is not from 0 to 10^12", "check it")
    if amount != round(amount, MAX_DECIMALS):
        raise refusal(
            "CTB-T160",
            f"{value} has more than {MAX_DECIMALS} decimals, and prices are kept exactly",
            "round it",
        )
    return amount


Price: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_price),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": MAX_PRICE, "examples": [1250.5]}),
]


@cache
def currencies() -> frozenset[str]:
    """Return the codes of currencies."""
    path = Path(__file__).with_name("currencies.toml")
    return frozenset(tomllib.loads(path.read_text(encoding="utf-8"))["codes"].split())


def _currency(value: str) -> str:
    if value not in currencies():
        close = nearest(value[:MAX_SHOWN].upper(), currencies())
        raise refusal(
            "CTB-T161",
            f"{value[:MAX_SHOWN]!r} is no currency of ISO 4217",
            f"did you mean `{close}`?" if close else "three capital letters: `currency: USD`",
        )
    return value


Currency: TypeAlias = Annotated[
    str, AfterValidator(_currency), WithJsonSchema({"type": "string", "pattern": "^[A-Z]{3}$"})
]


class PriceEntry(SpecModel):
    """What one part costs: exactly one of `switch`, `transceiver`, `cable`, `nic`, `amplifier`.

    They are names that testbeds give their `parts`. A `cable` is the whole of one that has its
    ends on, and of others the fibre between two transceivers; an `amplifier` is all that stands
    at one place. `provenance` is claimed for a quoted price, modelled for one that was worked out.
    """

    switch: PartName | None = None
    transceiver: PartName | None = None
    cable: PartName | None = None
    nic: PartName | None = None
    amplifier: PartName | None = None
    price: Price
    currency: Currency
    provenance: Literal["claimed", "modelled"]
    source: Text
    includes: list[Literal["cables", "transceivers"]] = Field(default_factory=list)
    note: Text | None = None

    @property
    def part(self) -> tuple[PricedKind, str]:
        """Return the kind and the name of the part."""
        return next((kind, name) for kind in PRICED_KINDS if (name := getattr(self, kind)))

    @model_validator(mode="after")
    def _one_part(self) -> "PriceEntry":
        named = [kind for kind in PRICED_KINDS if getattr(self, kind) is not None]
        if len(named) != 1:
            raise refusal(
                "CTB-T163",
                f"a price is of one part, and this names {' and '.join(named) or 'none'}",
                f"give one of {', '.join(PRICED_KINDS)}",
            )
        if self.includes and self.switch is None:
            raise refusal(
                "CTB-T163",
                f"the price of a {named[0]} includes nothing else",
                "only that of a switch may include its cables and transceivers",
            )
        return self


class PriceList(SpecModel):
    """A whole price file."""

    ctestbed_prices: Literal[1]
    name: Name
    title: Text | None = None
    prices: Annotated[list[PriceEntry], Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class LoadedPrices:
    """A price list, its document (for the places of findings) and its input file."""

    entries: dict[tuple[PricedKind, str], PriceEntry]
    listed: PriceList
    document: YAMLDocument
    source: InputFile

    @property
    def currency(self) -> str:
        """The currency of all entries."""
        return self.listed.prices[0].currency


def builtin_prices() -> dict[str, Path]:
    """Return the built-in price lists by name, in order of name."""
    directory = data_directory("topologies") / "prices"
    return {path.stem: path for path in sorted(directory.glob("*.yaml"))}


def load_prices(name: str) -> LoadedPrices:
    """Read and check a price list: a path, a built-in name, or `-`.

    Raises:
        InputError: no such list, not YAML, or (as SpecError, with all findings) wrong in itself.
    """
    path = _path_of(name)
    builtin = path is not None and path == builtin_prices().get(name)
    content = read_input("-" if path is None else str(path), what="price list")
    shown = f"topologies/prices/{name}.yaml" if builtin else "<stdin>" if path is None else name
    document = load_yaml(content, shown)
    listed = validate_model(PriceList, document)
    findings = tuple(_contradictions(listed, document))
    if findings:
        raise SpecError(findings)
    entries = {entry.part: entry for entry in listed.prices}
    return LoadedPrices(entries, listed, document, InputFile.of(shown, content))


def _path_of(name: str) -> Path | None:
    if name == "-":
        return None
    if "/" in name or name.endswith(SUFFIXES):
        return Path(name)
    known = builtin_prices()
    if name in known:
        return known[name]
    if is_file(Path(name)):
        return Path(name)
    raise InputError(
        "CTB-T166",
        f"no price list is called {name[:MAX_SHOWN]!r}",
        where=Where(file=name[:MAX_SHOWN]),
        hint=did_you_mean(name[:MAX_SHOWN], known),
    )


def _contradictions(listed: PriceList, document: YAMLDocument) -> Iterator[Finding]:
    """Yield what is wrong between entries: a part priced twice, currencies that do not add up."""
    seen: dict[tuple[PricedKind, str], int] = {}
    first = listed.prices[0].currency
    for position, entry in enumerate(listed.prices):
        kind, name = entry.part
        if entry.part in seen:
            other = document.where(("prices", seen[entry.part])).line
            text = f"the {kind} {name!r} is priced twice, first in line {other}"
            where = document.where(("prices", position, kind))
            yield Finding("CTB-T163", "error", text, where, "keep one of the two")
        seen.setdefault(entry.part, position)
        if entry.currency != first:
            text = f"a price in {entry.currency} cannot be added to those in {first}"
            where = document.where(("prices", position, "currency"))
            hint = "give all prices in one currency: no rate of exchange is assumed"
            yield Finding("CTB-T162", "error", text, where, hint)
