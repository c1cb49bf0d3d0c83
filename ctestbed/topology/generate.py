"""`topology build KIND`: a testbed file from a handful of numbers."""

import re
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Any, Final

from typing_extensions import TypedDict

from ctestbed.core.errors import InputError, Where
from ctestbed.core.names import did_you_mean
from ctestbed.core.result import Finding, Result
from ctestbed.core.spec import SpecError
from ctestbed.core.units import parse_length, parse_rate, parse_size, parse_time
from ctestbed.topology.describe import Counts, counts_of
from ctestbed.topology.load import parse_testbed
from ctestbed.topology.plan import require_plan
from ctestbed.topology.tiers import KINDS
from ctestbed.topology.write import FileForm, dump_testbed

FABRIC_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "fat-tree": (
        *("k", "pods", "leaves", "hosts_per_leaf", "spines", "cores", "parallel", "radix"),
        *("host_rate", "spine_rate", "core_rate", "planes", "plane_form", "overrides", "nics"),
    ),
    "rail-optimised": (
        *("rails", "tors_per_rail", "segments", "hosts_per_segment", "spines", "parallel"),
        *("pods", "cores", "radix", "host_rate", "spine_rate", "core_rate", "nics"),
    ),
    "rail-only": (
        *("rails", "domains", "leaves", "spines", "parallel", "radix", "host_rate", "spine_rate"),
        "nics",
    ),
    "slim-fly": ("q", "p", "counts_only", "radix", "host_rate", "planes", "nics"),
    "dragonfly": ("p", "a", "h", "g", "radix", "host_rate", "planes", "nics"),
    "torus": ("dims", "wrap", "cube", "radix"),
    "full-mesh": ("dims", "radix"),
    "scale-up": ("supernodes",),
}
"""The options of each kind, apart from those that every kind takes."""

_RATES: Final = {"host_rate": "host_links", "spine_rate": "spine_links", "core_rate": "core_links"}
_OF_HOSTS: Final = ("planes", "plane_form", "overrides", "nics")


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """The numbers of a fabric; None where the kind does not need one or a default will do.

    With neither `tiers` nor counts that need three, `k` alone means a fat-tree of three tiers.
    `dims` reads `16x16x16`; `overrides` read `7:spines=4`. Without `nics`, rail fabrics take one
    NIC for each rail; without `accelerators`, hosts of rail fabrics have one for each NIC.
    """

    kind: str
    name: str | None = None
    tiers: int | None = None
    k: int | None = None
    pods: int | None = None
    leaves: int | None = None
    hosts_per_leaf: int | None = None
    spines: int | None = None
    cores: int | None = None
    parallel: int | None = None
    radix: int | None = None
    rails: int | None = None
    tors_per_rail: int | None = None
    segments: int | None = None
    hosts_per_segment: int | None = None
    domains: int | None = None
    q: int | None = None
    counts_only: bool | None = None
    p: int | None = None
    a: int | None = None
    h: int | None = None
    g: int | None = None
    dims: str | None = None
    wrap: bool | None = None
    cube: int | None = None
    supernodes: int | None = None
    rate: str = "100Gbps"
    host_rate: str | None = None
    spine_rate: str | None = None
    core_rate: str | None = None
    delay: str = "1us"
    planes: int | None = None
    plane_form: str | None = None
    overrides: tuple[str, ...] | None = None
    accelerators: int | None = None
    nics: int | None = None
    supernode: int | None = None
    scale_up_rate: str | None = None
    scale_up_delay: str | None = None
    scale_up_switches: int | None = None
    upper_switches: int | None = None
    upper_rate: str | None = None
    memory: str | None = None
    cpus: int | None = None
    cpu_rate: str | None = None
    cpu_memory: str | None = None
    sites: int | None = None
    trunk_length: str | None = None
    trunk_rate: str | None = None
    trunk_links: int | None = None
    trunk_switches: int | None = None
    trunk_protection: str | None = None
    refractive_index: float | None = None
    amplifier_spacing: str | None = None
    amplifier_delay: str | None = None
    form: FileForm = "yaml"


class BuildData(TypedDict):
    """Data of `topology build`: the file as a document, and what it describes."""

    kind: str
    testbed: dict[str, Any]
    counts: Counts


def run_build(request: BuildRequest) -> tuple[Result, bytes]:
    """Return the result and the testbed file, checked by reading it back and planning it.

    Raises:
        InputError: an unknown kind, or (as SpecError, by option) numbers that make no fabric.
    """
    if request.kind not in KINDS:
        raise InputError(
            "CTB-T022",
            f"{request.kind!r} is not a kind of fabric",
            hint=did_you_mean(request.kind, KINDS),
        )
    _refuse_strays(request)
    document = _document(request)
    content = dump_testbed(document, request.form)
    try:
        plan = require_plan(parse_testbed(content, "-"))
    except SpecError as error:
        raise SpecError(tuple(_by_option(finding) for finding in error.findings)) from None
    data: BuildData = {"kind": request.kind, "testbed": document, "counts": counts_of(plan)}
    return Result("ctestbed.topology.build/1", data), content


def _refuse_strays(request: BuildRequest) -> None:
    """Refuse options of other kinds, and options that mean nothing without another."""
    own = FABRIC_KEYS[request.kind]
    special = {key for keys in FABRIC_KEYS.values() for key in keys} | {"tiers"}
    allowed = {*own, "tiers"} if request.kind == "fat-tree" else set(own)
    for field in fields(request):
        if field.name in special - allowed and getattr(request, field.name) is not None:
            raise InputError(
                "CTB-T023",
                f"a fabric of kind {request.kind} has no {_option(field.name)}",
                where=Where(pointer=_option(field.name)),
                hint=f"it takes {', '.join(_option(key) for key in own)}",
            )
    needs = {
        "supernode": (
            *("scale_up_rate", "scale_up_delay", "scale_up_switches", "upper_switches"),
            *("upper_rate", "memory", "cpus", "cpu_rate", "cpu_memory"),
        ),
        "upper_switches": ("upper_rate",),
        "cpus": ("cpu_rate", "cpu_memory"),
        "sites": ("trunk_length", "trunk_rate", "trunk_links", "trunk_switches"),
        "trunk_length": ("trunk_protection", "refractive_index", "amplifier_spacing"),
        "amplifier_spacing": ("amplifier_delay",),
    }
    for base, dependents in needs.items():
        for name in dependents:
            if getattr(request, name) is not None and getattr(request, base) is None:
                raise InputError(
                    "CTB-T023",
                    f"{_option(name)} means nothing without {_option(base)}",
                    where=Where(pointer=_option(name)),
                    hint=f"give {_option(base)} too",
                )


def _document(request: BuildRequest) -> dict[str, Any]:
    document: dict[str, Any] = {"ctestbed": 1, "name": request.name or _default_name(request)}
    sites = request.sites or 1
    if sites > 1:
        document["sites"] = [{"name": f"site-{number}"} for number in range(sites)]
    document |= _hosts(request)
    planes: dict[str, Any] = {}
    if (request.planes or 1) != 1:
        planes = {"count": request.planes, "form": request.plane_form or "nic-per-plane"}
    if request.overrides:
        planes = {"count": request.planes or 1, **planes}
        planes["overrides"] = [_override(text) for text in request.overrides]
    if planes:
        document["planes"] = planes
    if request.supernode is not None:
        document["supernode"] = _supernode(request)
    document["fabric"] = _fabric(request)
    if sites > 1:
        trunk = _trunk(request)
        names = [site["name"] for site in document["sites"]]
        document["trunks"] = [{"between": list(ends), **trunk} for ends in combinations(names, 2)]
    return document


def _trunk(request: BuildRequest) -> dict[str, Any]:
    trunk: dict[str, Any] = {
        "rate": _kept(request.trunk_rate or request.rate, parse_rate, "--trunk-rate"),
        "length": _kept(request.trunk_length or "unknown", parse_length, "--trunk-length"),
    }
    along: dict[str, Any] = {}
    if request.refractive_index is not None:
        along["refractive_index"] = request.refractive_index
    if request.amplifier_spacing is not None:
        along["amplifiers"] = {
            "spacing": _kept(request.amplifier_spacing, parse_length, "--amplifier-spacing"),
            "delay": _kept(request.amplifier_delay or "unknown", parse_time, "--amplifier-delay"),
        }
    trunk |= along
    if request.trunk_protection is not None:
        length = _kept(request.trunk_protection, parse_length, "--trunk-protection")
        trunk["protection"] = {"length": length, **along}
    if request.trunk_links is not None:
        trunk["links"] = request.trunk_links
    if request.trunk_switches is not None:
        trunk["switches"] = request.trunk_switches
    return trunk


def _default_name(request: BuildRequest) -> str:
    parts = [request.kind]
    parts += [f"{key}{getattr(request, key)}" for key in ("k", "q") if getattr(request, key)]
    parts += [re.sub(r"[^0-9]+", "x", request.dims).strip("x")] if request.dims else []
    return "-".join(part for part in parts if part)


def _hosts(request: BuildRequest) -> dict[str, Any]:
    direct = "nics" not in FABRIC_KEYS[request.kind]
    nics = request.nics
    accelerators = request.accelerators or 1
    if request.kind.startswith("rail-"):
        nics = request.rails if nics is None else nics
        accelerators = request.accelerators or nics or 1
    if direct:
        return {} if accelerators == 1 else {"host": {"accelerators": accelerators}}
    if (accelerators, nics or 1) == (1, 1):
        return {}
    return {"host": {"accelerators": accelerators, "nics": nics or 1}}


def _fabric(request: BuildRequest) -> dict[str, Any]:
    fabric: dict[str, Any] = {"kind": request.kind}
    if request.kind == "fat-tree":
        fabric["tiers"] = _tiers(request)
    for key in FABRIC_KEYS[request.kind]:
        value = getattr(request, key)
        if value is None or key in _RATES or key in _OF_HOSTS:
            continue
        fabric[key] = _dims(value) if key == "dims" else value
    if request.kind == "scale-up":
        return fabric
    fabric["rate"] = _kept(request.rate, parse_rate, "--rate")
    fabric["delay"] = _kept(request.delay, parse_time, "--delay")
    for key, section in _RATES.items():
        value = getattr(request, key)
        if value is not None:
            fabric[section] = {"rate": _kept(value, parse_rate, _option(key))}
    return fabric


def _tiers(request: BuildRequest) -> int:
    if request.tiers is not None:
        return request.tiers
    by_two_counts = request.leaves is not None and request.pods is None and request.cores is None
    return 2 if by_two_counts else 3


def _dims(text: str) -> list[int]:
    parts = re.split(r"[x,]", text)
    if not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise InputError(
            "CTB-T024",
            f"{text[:80]!r} is not a list of sides",
            where=Where(pointer="--dims"),
            hint="write the sides with an x between them: 16x16x16",
        )
    return [int(part) for part in parts]


def _override(text: str) -> dict[str, int]:
    """Read `7:spines=4` (or `7:spines=4,radix=32`) as what one plane has otherwise."""
    plane, colon, rest = text.partition(":")
    pairs = [part.partition("=") for part in rest.split(",")]
    whole = colon and all(
        re.fullmatch(r"[a-z]+", key) and re.fullmatch(r"[0-9]{1,9}", value)
        for key, _, value in pairs
    )
    if not whole or re.fullmatch(r"[0-9]{1,9}", plane) is None:
        raise InputError(
            "CTB-T024",
            f"{text[:80]!r} does not say what a plane has otherwise",
            where=Where(pointer="--override"),
            hint="write the plane, a colon, and counts: 7:spines=4",
        )
    return {"plane": int(plane)} | {key: int(value) for key, _, value in pairs}


def _supernode(request: BuildRequest) -> dict[str, Any]:
    scale_up: dict[str, Any] = {
        "rate": _kept(request.scale_up_rate or "unknown", parse_rate, "--scale-up-rate"),
        "delay": _kept(request.scale_up_delay or "unknown", parse_time, "--scale-up-delay"),
    }
    if request.scale_up_switches is not None:
        scale_up["switches"] = request.scale_up_switches
    if request.upper_switches is not None:
        rate = _kept(request.upper_rate or "unknown", parse_rate, "--upper-rate")
        scale_up["upper"] = {"switches": request.upper_switches, "rate": rate}
    supernode: dict[str, Any] = {"accelerators": request.supernode, "scale_up": scale_up}
    if request.memory is not None:
        supernode["memory"] = _kept(request.memory, parse_size, "--memory")
    if request.cpus is not None:
        cpus: dict[str, Any] = {"per_host": request.cpus}
        if request.cpu_rate is not None:
            cpus["rate"] = _kept(request.cpu_rate, parse_rate, "--cpu-rate")
        if request.cpu_memory is not None:
            cpus["memory"] = _kept(request.cpu_memory, parse_size, "--cpu-memory")
        supernode["cpus"] = cpus
    return supernode


def _kept(text: str, parse: Any, option: str) -> str:
    """Refuse a bad quantity by its option's name; keep the user's own way of writing it."""
    if text != "unknown":
        parse(text, Where(pointer=option))
    return text


def _option(name: str) -> str:
    return "--override" if name == "overrides" else f"--{name.replace('_', '-')}"


_OPTIONS: Final[dict[str, str]] = {
    "name": "--name",
    "planes.count": "--planes",
    "planes.form": "--plane-form",
    "host.accelerators": "--accelerators",
    "host.nics": "--nics",
    "supernode.accelerators": "--supernode",
    "supernode.scale_up.switches": "--scale-up-switches",
    "supernode.scale_up.rate": "--scale-up-rate",
    "supernode.scale_up.upper.switches": "--upper-switches",
    "supernode.scale_up.upper.rate": "--upper-rate",
    "supernode.cpus.rate": "--cpu-rate",
    "supernode.cpus.per_host": "--cpus",
    "fabric.host_links.rate": "--host-rate",
    "fabric.spine_links.rate": "--spine-rate",
    "fabric.core_links.rate": "--core-rate",
}


_TRUNK_OPTIONS: Final = {
    "refractive_index": "--refractive-index",
    "spacing": "--amplifier-spacing",
    "amplifiers": "--amplifier-spacing",
}


def _by_option(finding: Finding) -> Finding:
    """Say which option is meant, since the user wrote no file."""
    pointer = finding.where.pointer if finding.where else None
    if pointer is None:
        return Finding(finding.code, finding.severity, finding.message, None, finding.hint)
    option = _OPTIONS.get(pointer)
    if option is None and pointer.startswith("fabric."):
        option = _option(pointer.removeprefix("fabric.").partition("[")[0])
    if pointer.startswith("planes.overrides"):
        option = "--override"
    if pointer.startswith("trunks["):
        last = pointer.rpartition(".")[2]
        option = _TRUNK_OPTIONS.get(last, _option(f"trunk_{last}") if "." in pointer else "--sites")
    where = Where(pointer=option or pointer)
    return Finding(finding.code, finding.severity, finding.message, where, finding.hint)
