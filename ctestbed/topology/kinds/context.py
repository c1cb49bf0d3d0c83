"""What every family needs to plan a site: its hosts and planes, and the figures of cables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ctestbed.core.spec import Unknown
from ctestbed.core.units import Millimetres, fibre_delay, format_rate
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.fields import Cable
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, PlanePlan
from ctestbed.topology.testbed import Host, Planes

Report: TypeAlias = Callable[[str, str, YAMLPath, str], None]
"""Takes code, message, place and hint of an error finding."""


@dataclass(frozen=True, slots=True)
class Context:
    """A site to plan: what its hosts hold, the planes asked for, and where findings belong."""

    host: Host
    planes: Planes
    path: YAMLPath
    report: Report

    @property
    def lanes(self) -> int:
        """Into how many a whole port is cut."""
        return self.planes.count if self.planes.form == "nic-split" else 1

    def refuse(self, code: str, message: str, key: str | None, hint: str) -> None:
        """Report an error at one of the fabric's keys, or at the fabric."""
        self.report(code, message, self.path if key is None else (*self.path, key), hint)


@dataclass(frozen=True, slots=True)
class FabricPlan:
    """A site's planes, as its family plans them; `split` NICs have a port in every plane."""

    planes: tuple[PlanePlan, ...]
    split: bool
    endpoints: int
    """NICs of the site, or accelerators where these are the routers."""
    direct: bool = False
    counts_only: str | None = None


def cable_figures(cable: Cable) -> Figures:
    """Return a cable's own rate, delay (given, or light through its length) and length."""
    rate = cable.rate if isinstance(cable.rate, int) else UNKNOWN_FIGURE
    if isinstance(cable.length, int):
        length = Millimetres(cable.length)
        return Figures(rate, fibre_delay(length, cable.refractive_index), length, cable.medium)
    delay = cable.delay if isinstance(cable.delay, int) else UNKNOWN_FIGURE
    return Figures(rate, delay, UNKNOWN_FIGURE, cable.medium)


def figures_of(
    context: Context,
    fabric: Cable,
    own: Cable | None,
    section: str,
    lanes: int = 1,
    path: YAMLPath | None = None,
) -> Figures | None:
    """Resolve one class of cables: its own section first, the fabric's figures otherwise.

    A whole port's rate is cut into `lanes`. None, and a finding, where it cannot be told.
    """
    at = context.path if path is None else path
    own = Cable() if own is None else own
    rate = fabric.rate if own.rate is None else own.rate
    own_delay = own.delay is not None or own.length is not None
    source = own if own_delay else fabric
    no_delay = source.delay is None and source.length is None
    if rate is None:
        message = f"`{section}` have no rate, and the fabric gives none either"
        hint = "write `rate: 400Gbps`, or `rate: unknown`"
        context.report("CTB-T010", message, (*at, "rate"), hint)
    if no_delay:
        message = f"`{section}` have neither a delay nor a length, and the fabric gives none"
        hint = "write `delay: 1us`, or `delay: unknown`"
        context.report("CTB-T010", message, (*at, "delay"), hint)
    if rate is None or no_delay:
        return None
    figures, medium = cable_figures(source), own.medium or fabric.medium
    if isinstance(rate, Unknown):
        return Figures(UNKNOWN_FIGURE, figures.delay, figures.length, medium)
    if rate % lanes or rate == 0:
        message = f"a port of {format_rate(rate)} does not split into {lanes} whole equal rates"
        hint = "change the rate or the plane count"
        context.report("CTB-T011", message, (*at, "rate"), hint)
        return None
    return Figures(rate // lanes, figures.delay, figures.length, medium)


def peer_figures(
    context: Context, fabric: Cable, sections: Sequence[tuple[str, Cable | None]]
) -> tuple[Figures, ...] | None:
    """Resolve the classes of cables between equals; None if one cannot be told."""
    found = [figures_of(context, fabric, own, section) for section, own in sections]
    whole = tuple(figures for figures in found if figures is not None)
    return whole if len(whole) == len(found) else None


def no_planes(context: Context, kind: str, why: str) -> bool:
    """Refuse a `planes` section for a kind that makes its own; whether it was refused."""
    if context.planes.count == 1 and not context.planes.overrides:
        return False
    message = f"a fabric of kind {kind} has no place for `planes`: {why}"
    context.report("CTB-T018", message, ("planes",), "leave `planes` out")
    return True


def no_split(context: Context, kind: str) -> bool:
    """Refuse split NICs and differing planes where a family has none; whether it was refused."""
    if context.planes.overrides:
        message = f"planes of kind {kind} are all alike"
        context.report("CTB-T018", message, ("planes", "overrides"), "leave `overrides` out")
        return True
    if context.lanes == 1:
        return False
    message = f"NICs split over planes of kind {kind} are not built yet"
    context.report("CTB-T018", message, ("planes", "form"), "use `form: nic-per-plane`")
    return True
