"""Whether both ends of every class of cables run at one rate and carry one frame size.

What the file leaves out of a port is not compared; what it calls unknown cannot be, and is said.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ctestbed.core.result import Finding, Severity
from ctestbed.core.spec import Unknown
from ctestbed.core.units import format_rate
from ctestbed.core.yamlfile import YAMLPath, format_pointer
from ctestbed.topology.joints import Joint, Said, Value, site_joints, trunk_joints
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.shapes import Plan

_ONE_SIDE: Final = {"downlinks", "uplinks", "port"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The answer to one question; `passed` is None where nothing is said, or it is unknown."""

    findings: tuple[Finding, ...]
    passed: bool | None


@dataclass
class Answers:
    """Findings as they are gathered site by site; what several sites share is said once."""

    loaded: LoadedTestbed
    plan: Plan
    asked: bool = False
    """Whether the file said anything that could be checked."""
    _found: dict[tuple[str, Severity, str, YAMLPath, str], list[int]] = field(default_factory=dict)

    def add(
        self,
        code: str,
        message: str,
        path: YAMLPath,
        hint: str,
        *,
        severity: Severity = "error",
        site: int | None = None,
    ) -> None:
        """Gather a finding; `site` is the one it is of, None for trunks."""
        sites = self._found.setdefault((code, severity, message, path, hint), [])
        if site is not None and site not in sites:
            sites.append(site)

    def outcome(self, *, unknown: frozenset[str]) -> Asked:
        """Return the findings; those of the codes `unknown` leave the question open."""
        findings = tuple(
            Finding(
                code, severity, message + self._sites(sites), self.loaded.document.where(path), hint
            )
            for (code, severity, message, path, hint), sites in self._found.items()
        )
        passed: bool | None = True if self.asked else None
        if any(finding.code in unknown for finding in findings):
            passed = None
        if any(finding.severity != "note" for finding in findings):
            passed = False
        return Asked(findings, passed)

    def _sites(self, sites: list[int]) -> str:
        if not sites or len(sites) == len(self.plan.sites):
            return ""
        names = [self.plan.sites[site].name for site in sites]
        return f" (site{'s' if len(names) > 1 else ''} {', '.join(names)})"


UNKNOWN_END: Final = "CTB-T063"


def check_rates(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """Ports at both ends of every class of cables run at one rate, the cables' own."""
    answers = Answers(loaded, plan)
    unknown: dict[YAMLPath, list[str]] = {}
    for site, joints in everywhere(loaded, plan):
        for joint in joints:
            ends = (joint.lower, joint.upper)
            if all(end.rate.value is None for end in ends):
                continue
            answers.asked = True
            values = [joint.rate if end.rate.value is None else end.rate.value for end in ends]
            known = {value for value in (*values, joint.rate) if isinstance(value, int)}
            if len(known) > 1:
                answers.add(*_differing_rates(joint, values), site=site)
            elif any(isinstance(value, Unknown) for value in values):
                said = [end.rate for end in ends if isinstance(end.rate.value, Unknown)]
                path = said[0].path if said else joint.lower.rate.path
                unknown.setdefault(path, []).append(joint.called("cables"))
    _note_unknown(answers, unknown, "rate")
    return answers.outcome(unknown=frozenset({UNKNOWN_END}))


def everywhere(loaded: LoadedTestbed, plan: Plan) -> list[tuple[int | None, list[Joint]]]:
    """Return the classes of cables site by site, then trunk by trunk."""
    found: list[tuple[int | None, list[Joint]]] = [
        (position, site_joints(loaded, plan, position)) for position in range(len(plan.sites))
    ]
    found += [(None, trunk_joints(loaded, plan, index)) for index in range(len(plan.trunks))]
    return found


def _differing_rates(joint: Joint, values: list[Value]) -> tuple[str, str, YAMLPath, str]:
    ends = (joint.lower, joint.upper)
    own = _rate(joint.rate)
    off = [end.rate for end in ends if isinstance(end.rate.value, int)]
    off = [said for said in off if said.value != joint.rate]
    path = max(off, key=_nearness).path
    if values[0] == values[1]:
        ports = " and ".join(dict.fromkeys(end.what for end in ends))
        text = f"{joint.called('cables')} run at {own}, and their {ports} ports are set to "
        text += _rate(values[0])
        return "CTB-T060", text, path, "give ports and cables one `rate`"
    runs = [
        f"{_rate(value)} at the {end.what} end" for end, value in zip(ends, values, strict=True)
    ]
    text = f"{joint.called('cables')} run at {runs[0]} and at {runs[1]}"
    hint = "give both ends one `rate`"
    hint += "" if joint.rate is Unknown.UNKNOWN else f", such as the {own} of their cables"
    return "CTB-T060", text, path, hint


def _rate(value: Value) -> str:
    return format_rate(value) if isinstance(value, int) else "an unknown rate"


def _nearness(said: Said) -> int:
    """Rank how near a word is to one kind of port: of a plane, a side, a tier, all switches."""
    rank = 4 if said.path[0] == "planes" else 0
    key = str(said.path[-2]) if len(said.path) > 1 else ""
    if key in _ONE_SIDE or said.path[0] == "trunks":
        return rank + 3
    return rank + (2 if key.endswith("_switch") else 1 if key == "switch" else 0)


def check_frames(loaded: LoadedTestbed, plan: Plan) -> Asked:
    """Ports at both ends carry one frame size, and none on the way carries less than NICs send."""
    answers = Answers(loaded, plan)
    unknown: dict[YAMLPath, list[str]] = {}
    sites = everywhere(loaded, plan)
    usual = _usual([joint for _, joints in sites for joint in joints])
    for site, joints in sites:
        largest = 0 if site is None else _sent(joints)
        for joint in joints:
            ends = (joint.lower.mtu, joint.upper.mtu)
            answers.asked |= any(end.value is not None for end in ends)
            known = {end.value for end in ends if isinstance(end.value, int)}
            if len(known) > 1:
                answers.add(*_differing_frames(joint, usual), site=site)
                continue
            for end in ends:
                if isinstance(end.value, Unknown) and joint.called("cables") not in unknown.get(
                    end.path, ()
                ):
                    unknown.setdefault(end.path, []).append(joint.called("cables"))
            if known and max(known) < largest:
                answers.add(*_black_hole(joint, f"NICs send up to {largest:,} B"), site=site)
    for index, trunk in enumerate(plan.trunks):
        across = sites[len(plan.sites) + index][1]
        sides = [(site, sites[site][1]) for site in (trunk.site_a, trunk.site_b)]
        _check_across(answers, across, sides)
    _note_unknown(answers, unknown, "mtu")
    return answers.outcome(unknown=frozenset({UNKNOWN_END}))


def _sent(joints: list[Joint]) -> int:
    """Return the largest frame of NICs that their leaves take too; 0 where that is not known."""
    first = [joint for joint in joints if joint.lower.what == "NIC"]
    known = [joint for joint in first if isinstance(joint.lower.mtu.value, int)]
    return max((_carries(joint) for joint in known), default=0)


def _usual(joints: list[Joint]) -> Value:
    """Return the frame size that most ends have: of two that differ, the other one is odd."""
    sizes = Counter(end.mtu.value for joint in joints for end in (joint.lower, joint.upper))
    return max(sizes, key=lambda size: sizes[size], default=None)


def _differing_frames(joint: Joint, usual: Value) -> tuple[str, str, YAMLPath, str]:
    ends = (joint.lower, joint.upper)
    carried = [f"{_size(end.mtu.value)} at the {end.what} end" for end in ends]
    text = f"{joint.called('cables')} carry frames of {carried[0]} and of {carried[1]}"
    said = [end.mtu for end in ends]
    path = max(said, key=lambda one: (one.value != usual, _nearness(one))).path
    least = min(end.mtu.value for end in ends if isinstance(end.mtu.value, int))
    hint = f"give both ends one `mtu`: frames above {least:,} B are dropped without a word"
    return "CTB-T061", text, path, hint


def _black_hole(joint: Joint, why: str) -> tuple[str, str, YAMLPath, str]:
    end = max((joint.lower, joint.upper), key=lambda end: _nearness(end.mtu))
    text = f"{joint.called('cables')} carry frames of up to {_size(end.mtu.value)}, and {why}"
    hint = "raise this `mtu`, or lower that of the NICs: what is larger vanishes on the way"
    return "CTB-T062", text, end.mtu.path, hint


def _size(value: Value) -> str:
    return f"{value:,} B" if isinstance(value, int) else "an unknown size"


def _check_across(
    answers: Answers, trunk: list[Joint], sides: list[tuple[int, list[Joint]]]
) -> None:
    """Hold the trunk, and the far site, against what the NICs of each site send."""
    for joint in trunk:
        ends = (joint.lower.mtu.value, joint.upper.mtu.value)
        if len({value for value in ends if isinstance(value, int)}) > 1:
            continue
        for near, far in (sides, sides[::-1]):
            sent, name = _sent(near[1]), answers.plan.sites[near[0]].name
            why = f"NICs of {name} send up to {sent:,} B"
            if isinstance(ends[0], int) and ends[0] < sent:
                answers.add(*_black_hole(joint, why))
                break
            narrow = [one for one in far[1] if _agreed(one) and _carries(one) < sent]
            if narrow and _sent(far[1]) < sent:
                answers.add(*_black_hole(narrow[0], why), site=far[0])


def _agreed(joint: Joint) -> bool:
    return joint.lower.mtu.value == joint.upper.mtu.value


def _carries(joint: Joint) -> int:
    known = [end.mtu.value for end in (joint.lower, joint.upper)]
    return min((value for value in known if isinstance(value, int)), default=2**63)


def _note_unknown(answers: Answers, unknown: dict[YAMLPath, list[str]], key: str) -> None:
    for path, titles in unknown.items():
        names = ", ".join(dict.fromkeys(titles))
        text = f"the two ends of {names} cannot be compared: `{format_pointer(path)}` "
        text += "is not known"
        hint = f"what is it? give the `{key}` once it is published or measured"
        answers.add(UNKNOWN_END, text, path, hint, severity="note")


CHECKS: Final[tuple[tuple[str, Callable[[LoadedTestbed, Plan], Asked]], ...]] = (
    ("both ends of every cable run at one rate", check_rates),
    ("both ends carry one frame size, and nothing on the way less than NICs send", check_frames),
)
