"""`cvm attack list|run|matrix`: what each platform stops, by running it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from typing_extensions import TypedDict

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.core.result import Finding, Result
from ctestbed.tee.attacks.catalogue import (
    ATTACKS,
    DEBUG_BIT_IN_REPORT,
    REPORT_CHECKED,
    Attack,
    find_attack,
    play,
)
from ctestbed.tee.attacks.execution import debug_launch
from ctestbed.tee.attacks.published import published
from ctestbed.tee.attacks.scene import Scene, Seen
from ctestbed.tee.mitigations import Mitigation, parse_mitigations
from ctestbed.tee.names import PLATFORMS
from ctestbed.tee.platforms import load_profile, require_platform

Verdict = Literal["agrees", "differs", "no published outcome"]
ACTIONS: Final = ("list", "run", "matrix")


@dataclass(frozen=True, slots=True)
class AttackRequest:
    """What to do: `name` is the attack to run; without `platform`, on all."""

    action: str = "list"
    name: str | None = None
    platform: str | None = None
    switches: tuple[str, ...] = ()


class AttackData(TypedDict):
    """An attack, and the mitigations that it is also run against."""

    name: str
    title: str
    against: list[str]


class CellData(TypedDict):
    """What an attack came to. `published` and `source` are null where no paper reports it."""

    attack: str
    platform: str
    mitigations: list[str]
    outcome: str
    observed: str
    published: str | None
    source: str | None
    verdict: Verdict


class AttackReport(TypedDict):
    """Data of `cvm attack`."""

    action: str
    attacks: list[AttackData]
    cells: list[CellData]


def run_attack(request: AttackRequest) -> Result:
    """List the attacks, run one, or run all on all platforms.

    Raises:
        InputError: there is no such action, attack, platform or switch.
    """
    if request.action not in ACTIONS:
        raise InputError(
            "CTB-M120",
            f"{request.action[:80]!r} is nothing to do with attacks",
            hint=f"one of {', '.join(ACTIONS)}",
        )
    if request.platform is not None:
        require_platform(request.platform)
    if (request.name is None) is (request.action == "run"):
        raise InputError(
            "CTB-M120",
            "`run` takes the name of one attack, `list` and `matrix` take none",
            hint="such as `ctestbed cvm attack run replay --platform sev`",
        )
    attacks = ATTACKS if request.name is None else (find_attack(request.name),)
    platforms = PLATFORMS if request.platform is None else (request.platform,)
    cells: list[CellData] = []
    if request.action == "matrix":
        cells = [cell for attack in attacks for name in platforms for cell in _row(attack, name)]
    elif request.action == "run":
        cells = [_chosen(attacks[0], name, request.switches) for name in platforms]
    data: AttackReport = {
        "action": request.action,
        "attacks": [
            {"name": each.name, "title": each.title, "against": [str(s) for s in each.against]}
            for each in attacks
        ],
        "cells": cells,
    }
    findings = tuple(_differences(cells))
    code = ExitCode.ATTACK_SUCCEEDED if findings else ExitCode.OK
    return Result("ctestbed.cvm.attack/1", data, findings, exit_code=code)


def _row(attack: Attack, platform: str) -> Iterable[CellData]:
    for switches in attack.variants(platform):
        seen = play(attack, platform, switches)
        yield _cell(attack, platform, tuple(str(switch) for switch in switches), seen)
    if attack.name == "debug-launch" and platform in DEBUG_BIT_IN_REPORT:
        seen = debug_launch(Scene(platform), checked=True)
        yield _cell(attack, platform, (REPORT_CHECKED,), seen)


def _chosen(attack: Attack, platform: str, names: tuple[str, ...]) -> CellData:
    available = list(load_profile(platform).switches)
    switches = tuple(
        Mitigation(name) for name in parse_mitigations(list(names), available, platform)
    )
    return _cell(attack, platform, tuple(map(str, switches)), play(attack, platform, switches))


def _cell(attack: Attack, platform: str, switches: tuple[str, ...], seen: Seen) -> CellData:
    outcome, source = published().get((attack.name, platform, switches), (None, None))
    verdict: Verdict = "no published outcome"
    if outcome is not None:
        verdict = "agrees" if outcome == seen.outcome else "differs"
    return {
        "attack": attack.name,
        "platform": platform,
        "mitigations": list(switches),
        "outcome": seen.outcome.value,
        "observed": seen.observed,
        "published": None if outcome is None else outcome.value,
        "source": source,
        "verdict": verdict,
    }


def _differences(cells: list[CellData]) -> Iterable[Finding]:
    for cell in cells:
        if cell["verdict"] == "differs":
            under = f" with {', '.join(cell['mitigations'])}" if cell["mitigations"] else ""
            yield Finding(
                "CTB-M122",
                "error",
                f"{cell['attack']} on {cell['platform']}{under} is {cell['outcome']} here, and "
                f"{cell['published']} by {cell['source']}",
                None,
                "the model and the paper cannot both be right",
            )
