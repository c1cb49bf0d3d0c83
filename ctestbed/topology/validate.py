"""Everything that is wrong with a testbed, and what is worth knowing about it, all at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from ctestbed.core.result import Finding
from ctestbed.core.spec import Unknown
from ctestbed.core.yamlfile import YAMLPath, format_pointer
from ctestbed.topology.analysis.design import Structure, analyse_design
from ctestbed.topology.bom.fit import CHECKS as PART_CHECKS
from ctestbed.topology.buffers import CHECKS as BUFFER_CHECKS
from ctestbed.topology.build import lay_out
from ctestbed.topology.capacity import format_ratio, site_layers, trunk_narrowing
from ctestbed.topology.ends import CHECKS as END_CHECKS
from ctestbed.topology.graph import Topology
from ctestbed.topology.invariants import INVARIANTS
from ctestbed.topology.load import LoadedTestbed
from ctestbed.topology.plan import plan_testbed
from ctestbed.topology.shapes import Plan, SitePlan
from ctestbed.topology.sharing import sharing_notes

BUILDABLE: Final = "the file describes a network that can be built"


@dataclass(frozen=True, slots=True)
class Check:
    """One question asked of a testbed; `passed` is None where it could not be asked."""

    name: str
    passed: bool | None


@dataclass(frozen=True, slots=True)
class Validation:
    """All checks with all findings; no plan and no topology where the file describes none.

    The structure is of a network that could be laid out and is whole.
    """

    plan: Plan | None
    topology: Topology | None
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    structure: Structure | None = None


def validate_testbed(loaded: LoadedTestbed) -> Validation:
    """Plan, build and check a testbed. Never raises on what the file says."""
    plan, findings = plan_testbed(loaded)
    checks = [Check(BUILDABLE, passed=plan is not None)]
    topology = structure = None
    if plan is None:
        checks += [Check(invariant.name, None) for invariant in INVARIANTS]
    elif plan.counts_only is not None:
        checks += [Check(invariant.name, None) for invariant in INVARIANTS]
        findings += [_counts_only(loaded, site) for site in plan.sites if site.counts_only]
        findings += _design_notes(loaded, plan)
    else:
        topology = lay_out(plan)
        for invariant in INVARIANTS:
            wrong = invariant.check(topology, plan, loaded)
            checks.append(Check(invariant.name, None if wrong is None else not wrong))
            where = loaded.document.where(plan.sites[0].path[:1])
            findings += [
                Finding(invariant.code, "error", text, where, invariant.hint)
                for text in wrong or ()
            ]
        findings += _design_notes(loaded, plan)
    for name, check in (*END_CHECKS, *BUFFER_CHECKS, *PART_CHECKS):
        answer = None if plan is None else check(loaded, plan)
        checks.append(Check(name, None if answer is None else answer.passed))
        findings += () if answer is None else answer.findings
    if plan is not None and topology is not None:
        structure = analyse_design(topology, plan, loaded)
        findings += structure.findings
    findings += _unknowns(loaded)
    return Validation(plan, topology, tuple(checks), tuple(findings), structure)


def _counts_only(loaded: LoadedTestbed, site: SitePlan) -> Finding:
    text = f"counts only, without a graph: {site.counts_only}"
    hint = "nothing but its counts can be checked, shown or compared"
    return Finding("CTB-T056", "note", text, loaded.document.where(site.path), hint)


def unknown_paths(model: BaseModel, path: YAMLPath = ()) -> Iterator[YAMLPath]:
    """Yield the path of every quantity that a file calls `unknown`."""
    for name in type(model).model_fields:
        yield from _unknown_in(getattr(model, name), (*path, name))


def _unknown_in(value: object, path: YAMLPath) -> Iterator[YAMLPath]:
    if value is Unknown.UNKNOWN:
        yield path
    elif isinstance(value, BaseModel):
        yield from unknown_paths(value, path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_in(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown_in(item, (*path, key))


def _unknowns(loaded: LoadedTestbed) -> Iterator[Finding]:
    for path in unknown_paths(loaded.testbed):
        yield Finding(
            "CTB-T040",
            "note",
            f"`{format_pointer(path)}` is unknown, and so is all that depends on it",
            loaded.document.where(path),
            "what is it? give a figure once one is published or measured",
        )


def _design_notes(loaded: LoadedTestbed, plan: Plan) -> Iterator[Finding]:
    """Yield what a reader should know of a sound design: where it narrows, what is not said."""

    def note(code: str, message: str, path: YAMLPath, hint: str) -> Finding:
        return Finding(code, "note", message, loaded.document.where(path), hint)

    seen: set[tuple[YAMLPath, str]] = set()
    for position, site in enumerate(plan.sites):
        ported = site.radix is not None or all(plane.names_models for plane in site.planes)
        if site.switches and not ported and (site.path, "radix") not in seen:
            seen.add((site.path, "radix"))
            text = "no `radix` is given, so the ports that switches have are not checked"
            yield note("CTB-T041", text, site.path, "give the ports of a switch: `radix: 64`")
        places = {layer.name: (layer.narrowing, site.path) for layer in site_layers(plan, position)}
        places["trunk"] = (trunk_narrowing(plan, position), ("trunks",))
        for layer, (narrowing, path) in places.items():
            if narrowing is not None and narrowing > 1 and (path, layer) not in seen:
                seen.add((path, layer))
                text = f"{layer} cables narrow the traffic from below {format_ratio(narrowing)}"
                yield note("CTB-T042", text, path, "intended? then read results with it in mind")
        if not plan.split and site.nics_per_host % plan.planes and (site.path, "nics") not in seen:
            seen.add((site.path, "nics"))
            text = f"the {site.nics_per_host} NICs of a host do not reach all {plan.planes} planes"
            hint = "two hosts without a plane in common cannot exchange traffic directly"
            yield note("CTB-T043", text, ("planes",), hint)
    yield from sharing_notes(loaded, plan)
    for index, trunk in enumerate(loaded.testbed.trunks):
        if trunk.lossless is None:
            text = f"the trunk {' - '.join(trunk.between)} names no lossless class"
            hint = "give `lossless: {classes: 1, headroom: 75MB}` to have headroom checked"
            yield note("CTB-T044", text, ("trunks", index), hint)
