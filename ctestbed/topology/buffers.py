"""Headroom and packet buffers of lossless ports, against the distance that their cables cover.

A port keeps, for each lossless class, what may still arrive after it has sent a pause: the closed
form is 2 x one-way delay x rate (`core.headroom`). A trunk with a protection route needs it for
the longer of the two. What cannot be computed is said, and never passes for enough.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from ctestbed.core.headroom import (
    DEFAULT_MTU,
    LongHaulLink,
    bandwidth_delay_product,
    distance_carried,
    sonic_xoff,
)
from ctestbed.core.names import numbered
from ctestbed.core.spec import Unknown
from ctestbed.core.units import (
    FIBRE_PS_PER_KM,
    format_length,
    format_rate,
    format_size,
    format_time,
)
from ctestbed.core.yamlfile import YAMLPath
from ctestbed.topology.ends import Answers, Asked
from ctestbed.topology.fields import Lossless
from ctestbed.topology.joints import (
    Joint,
    PortsOf,
    Said,
    plane_joints,
    ports_of,
    site_joints,
    top_tier,
    trunk_joints,
    without_ends,
)
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import UNKNOWN_FIGURE, Figures, Plan, PlanePlan, Wiring
from ctestbed.topology.tiers import LEAF_SPINE, NIC_LEAF, NIC_ROUTER, SPINE_CORE, Tier

Outcome: TypeAlias = Literal["enough", "too small", "working route only", "unknown"]

UNKNOWN_HEADROOM: Final = "CTB-T071"
UNKNOWN_BUFFER: Final = "CTB-T075"


@dataclass(frozen=True, slots=True)
class Need:
    """What a lossless port of one class of cables needs per class, in bytes; None if unknown.

    `working` is of the route in use, `standby` of the protection route (None too without one),
    `longest` of the longer of the two, which is `route`. `mtu` is the largest frame of its ports,
    SONiC's default where the file says none.
    """

    joint: Joint
    lossless: Lossless
    working: int | None
    standby: int | None
    longest: int | None
    mtu: int | Unknown

    @property
    def route(self) -> Figures:
        """The route that needs the most, as far as that is known."""
        standby = self.joint.standby
        if standby is None or self.standby is None or self.working is None:
            return self.joint.figures
        return standby if self.standby > self.working else self.joint.figures

    @property
    def headroom(self) -> int | None:
        """The bytes configured per port and class; None where the file calls them unknown."""
        given = self.lossless.headroom
        return given if isinstance(given, int) else None

    @property
    def outcome(self) -> Outcome:
        """Whether the headroom is enough."""
        if self.headroom is None or self.working is None:
            return "unknown"
        if self.headroom < self.working:
            return "too small"
        if self.longest is None:
            return "unknown"
        return "enough" if self.headroom >= self.longest else "working route only"


def need_of(joint: Joint) -> Need | None:
    """Return what a class of cables needs; None where it is not lossless."""
    if joint.lossless is None:
        return None
    working = longest = _closed_form(joint.figures)
    standby = None
    if joint.standby is not None:
        standby = _closed_form(joint.standby)
        longest = None if working is None or standby is None else max(working, standby)
    mtu = without_ends(joint).lower.mtu.value
    mtu = DEFAULT_MTU if mtu is None else mtu
    return Need(joint, joint.lossless, working, standby, longest, mtu)


def _closed_form(figures: Figures) -> int | None:
    if UNKNOWN_FIGURE in {figures.rate, figures.delay}:
        return None
    return bandwidth_delay_product(figures.rate, figures.delay)


def needs(loaded: LoadedTestbed, plan: Plan) -> Iterator[tuple[int | None, Need]]:
    """Yield what each lossless class of cables needs, with its site; None for trunks."""
    for position in range(len(plan.sites)):
        for joint in site_joints(loaded, plan, position, bare=True):
            need = need_of(joint)
            if need is not None:
                yield position, need
    for index in range(len(plan.trunks)):
        need = need_of(_any_plane(loaded, plan, index))
        if need is not None:
            yield None, need


def _any_plane(loaded: LoadedTestbed, plan: Plan, index: int) -> Joint:
    """Return a trunk's cables: planes may differ in frame sizes, which count for nothing here."""
    return replace(without_ends(trunk_joints(loaded, plan, index)[0]), planes=None)


def check_headroom(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """Every lossless port keeps what its distance takes, over the protection route too."""
    answers = Answers(loaded, plan)
    for site, need in needs(loaded, plan):
        answers.asked = True
        path = (*need.joint.path, "headroom")
        if need.outcome == "too small":
            answers.add(
                "CTB-T070", *_too_small(need, need.joint.figures, need.working, path), site=site
            )
        elif need.outcome == "working route only":
            assert need.joint.standby is not None  # noqa: S101 - no other has this outcome
            fact, _, hint = _too_small(need, need.joint.standby, need.longest, path)
            answers.add("CTB-T072", f"{fact}: it is enough for the working route alone", path, hint)
        elif need.outcome == "unknown":
            answers.add(UNKNOWN_HEADROOM, *_undecided(need, path), severity="note", site=site)
        else:
            for fact in _beyond_distance(need):
                answers.add("CTB-T076", fact, path, _BEYOND, severity="note", site=site)
    return answers.outcome(unknown=frozenset({UNKNOWN_HEADROOM}))


def _beyond_distance(need: Need) -> Iterator[str]:
    """Yield a fact where headroom covers the distance, and not what the ports add to it."""
    figures, mtu = need.route, need.mtu
    if need.headroom is None or figures.length == UNKNOWN_FIGURE or isinstance(mtu, Unknown):
        return
    sized = sonic_xoff(LongHaulLink(figures.rate, figures.delay, figures.length, mtu))
    if sized is not None and sized > need.headroom:
        yield (
            f"{need.joint.called('ports')} keep {format_size(need.headroom)} of headroom per "
            f"lossless class, enough for the distance alone: SONiC's formula takes "
            f"{format_size(sized)} with frames of {mtu:,} B"
        )


_BEYOND: Final = "it counts two frames and the peer's response too; do the switches need these?"


def _too_small(
    need: Need, figures: Figures, needed: int | None, path: YAMLPath
) -> tuple[str, YAMLPath, str]:
    assert needed is not None  # noqa: S101 - too small for what is known
    kept = need.headroom or 0
    standby = figures is need.joint.standby
    carried = distance_carried(kept, figures.rate)
    text = (
        f"{need.joint.called('ports')} keep {format_size(kept)} of headroom per lossless class, "
        f"and {format_rate(figures.rate)} over {_way(figures)} one way"
        f"{' of the protection route' if standby else ''} takes {format_size(needed)}"
    )
    hint = f"keep at least {format_size(needed)}; {format_size(kept)} carries {_carried(carried)}"
    return text, path, hint


def _way(figures: Figures) -> str:
    if figures.length == UNKNOWN_FIGURE:
        return format_time(figures.delay)
    return f"{format_time(figures.delay)} ({format_length(figures.length)})"


def _carried(delay: int) -> str:
    """Say how far a one-way delay goes, in plain fibre."""
    metres = delay * 1000 // FIBRE_PS_PER_KM
    length = f"{metres // 1000:,} km" if metres >= 10_000 else f"{metres:,} m"  # noqa: PLR2004
    return f"{format_time(delay // 1000 * 1000)} one way, {length} of plain fibre"


def _undecided(need: Need, path: YAMLPath) -> tuple[str, YAMLPath, str]:
    figures = need.joint.figures
    lacking = []
    for known, what in ((figures.rate, "rate"), (figures.delay, "delay")):
        lacking += [f"its {what}"] if known == UNKNOWN_FIGURE else []
    if need.working is not None and need.longest is None:
        lacking.append("the delay of its protection route")
    lacking += ["what it keeps"] if need.headroom is None else []
    text = (
        f"the headroom of {need.joint.called('ports')} cannot be checked: {' and '.join(lacking)} "
    )
    text += f"{'are' if len(lacking) > 1 else 'is'} unknown"
    if need.longest is not None:
        text += f"; {format_size(need.longest)} per class is needed"
    return text, path, "what is it? give the figure once it is published or measured"


@dataclass(frozen=True, slots=True)
class SwitchLoad:
    """The headroom that all lossless ports of a switch keep together, and its packet buffer.

    `ports` counts its lossless ports. `reserved` is what they keep (or need, where what is kept
    is unknown: then `assumed`), in bytes; None where that cannot be told.
    """

    what: str
    planes: tuple[int, ...] | None
    ports: int
    reserved: int | None
    assumed: bool
    buffer: Said

    @property
    def title(self) -> str:
        """What findings call it."""
        return (
            self.what if self.planes is None else f"{self.what} of {numbered('plane', self.planes)}"
        )


def switch_loads(loaded: LoadedTestbed, plan: Plan) -> Iterator[tuple[int, SwitchLoad]]:
    """Yield each site's switches with lossless ports, alike ones once."""
    for position, site in enumerate(plan.sites):
        if loaded.testbed.fabric_at(position).kind == "scale-up":
            continue
        trunks = [
            (_any_plane(loaded, plan, index), trunk.links)
            for index, trunk in enumerate(plan.trunks)
            if position in (trunk.site_a, trunk.site_b)
        ]
        found: dict[SwitchLoad, list[int]] = {}
        for number, plane in enumerate(site.planes):
            ports = ports_of(loaded, plan, position, number)
            for load in _plane_loads(ports, plane, trunks):
                found.setdefault(load, []).append(number)
        for load, numbers in found.items():
            planes = None if len(numbers) == len(site.planes) else tuple(numbers)
            yield position, replace(load, planes=planes)


def _plane_loads(
    ports: PortsOf, plane: PlanePlan, trunks: list[tuple[Joint, int]]
) -> Iterator[SwitchLoad]:
    shape = plane.shape
    joints = {joint.name: joint for joint in plane_joints(ports, plane)}
    lowest = "router" if shape.wiring is not None else "leaf"
    tiers: dict[Tier, list[tuple[Joint | None, int]]] = {
        Tier.LEAF: [
            (joints.get(NIC_LEAF if shape.wiring is None else NIC_ROUTER), shape.ports_per_leaf),
            (joints.get(LEAF_SPINE), shape.spines_per_pod * shape.parallel),
        ],
        Tier.SPINE: [
            (joints.get(LEAF_SPINE), shape.leaves_per_pod * shape.parallel),
            (joints.get(SPINE_CORE), shape.cores_per_spine),
        ],
        Tier.CORE: [(joints.get(SPINE_CORE), shape.pods)],
    }
    lossless_peers = any(
        joint.lossless for name, joint in joints.items() if not name.startswith("NIC")
    )
    if shape.wiring is not None and lossless_peers:
        degrees = peer_degrees(shape.wiring)
        for layer, degree in zip(shape.wiring.layers, degrees, strict=True):
            tiers[Tier.LEAF].append((joints.get(layer.name), degree))
    if shape.switches:
        tiers[top_tier(plane)] += trunks
    for tier, runs in tiers.items():
        lossless = [
            (need, count)
            for joint, count in runs
            if joint is not None and count and (need := need_of(joint)) is not None
        ]
        if lossless:
            what = lowest if tier == Tier.LEAF else tier.name.lower()
            yield _load(what, lossless, ports.buffer(tier))


def peer_degrees(wiring: Wiring) -> list[int]:
    """Return, for each class of cables between equals, how many one of them has at most.

    All have alike many but at the rims of an open grid, where no one has more than the mean,
    rounded up.
    """
    return [-(-2 * layer.cables // wiring.routers) for layer in wiring.layers]


def _load(what: str, runs: list[tuple[Need, int]], buffer: Said) -> SwitchLoad:
    reserved: int | None = 0
    assumed = False
    for need, count in runs:
        size = need.headroom
        if size is None:
            size, assumed = need.longest, True
        if size is None or reserved is None:
            reserved = None
        else:
            reserved += size * count * need.lossless.classes
    return SwitchLoad(what, None, sum(count for _, count in runs), reserved, assumed, buffer)


def check_buffers(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """The headroom of a switch's lossless ports, all classes together, fits its packet buffer."""
    answers = Answers(loaded, plan)
    for site, load in switch_loads(loaded, plan):
        answers.asked = True
        size, path = load.buffer.value, load.buffer.path
        ports = f"{load.ports:,} lossless port{'s' if load.ports > 1 else ''}"
        if isinstance(size, int) and load.reserved is not None:
            if load.reserved <= size:
                continue
            verb = ("need" if load.assumed else "keep") + ("s" if load.ports == 1 else "")
            text = f"the {ports} of a {load.title} {verb} {format_size(load.reserved)} of headroom"
            text += f", and its buffer holds {format_size(size)}"
            hint = "use fewer lossless ports or classes, shorter links, or switches of more buffer"
            if load.assumed:
                answers.add("CTB-T074", text, path, hint, severity="warning", site=site)
            else:
                answers.add("CTB-T073", text, path, hint, site=site)
            continue
        what = "the buffer" if load.reserved is not None else "the headroom"
        text = f"{what} of a {load.title} is "
        text += "unknown" if isinstance(size, Unknown) or load.reserved is None else "not given"
        text += f", so its {ports} cannot be held against it"
        if load.reserved is not None:
            text += f"; together {format_size(load.reserved)} of headroom"
        hint = "give the packet buffer of one switch: `buffer: 64MB`"
        answers.add(UNKNOWN_BUFFER, text, path, hint, severity="note", site=site)
    return answers.outcome(unknown=frozenset({UNKNOWN_BUFFER}))


CHECKS: Final[tuple[tuple[str, Callable[[LoadedTestbed, Plan], Asked]], ...]] = (
    ("lossless ports keep the headroom that their distance takes", check_headroom),
    ("the headroom of a switch's ports fits its buffer", check_buffers),
)
