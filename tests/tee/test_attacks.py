"""Attacks: the matrix agrees with what papers report, switches close what they should."""

from typing import Any

import pytest

from ctestbed.core.errors import ExitCode, InputError
from ctestbed.tee.attacks import commands
from ctestbed.tee.attacks.catalogue import ATTACKS, find_attack, play
from ctestbed.tee.attacks.commands import AttackRequest, run_attack
from ctestbed.tee.attacks.published import published
from ctestbed.tee.attacks.scene import Outcome
from ctestbed.tee.mitigations import Mitigation
from ctestbed.tee.names import PLATFORMS


@pytest.fixture(scope="module")
def matrix() -> Any:
    return run_attack(AttackRequest("matrix"))


def outcomes(matrix: Any) -> dict[tuple[str, str, tuple[str, ...]], str]:
    return {
        (cell["attack"], cell["platform"], tuple(cell["mitigations"])): cell["outcome"]
        for cell in matrix.data["cells"]
    }


def test_every_published_outcome_is_met(matrix: Any) -> None:
    found = outcomes(matrix)
    assert len(published()) == 46
    for cell, (outcome, source) in published().items():
        assert found[cell] == outcome.value, (cell, source)
    assert matrix.findings == ()
    assert matrix.exit_code == ExitCode.OK


def test_what_no_paper_reports_does_not_count_as_agreement(matrix: Any) -> None:
    for cell in matrix.data["cells"]:
        key = (cell["attack"], cell["platform"], tuple(cell["mitigations"]))
        known = key in published()
        assert (cell["published"] is not None) is known
        assert (cell["source"] is not None) is known
        assert (cell["verdict"] == "agrees") is known
    # Facts, section 4: nothing published of CSV, CCA and virtCCA.
    derived = {"csv", "csv2", "csv3", "cca", "virtcca", "plain"}
    assert not derived & {platform for _, platform, _ in published()}


def test_all_attacks_meet_all_platforms(matrix: Any) -> None:
    found = outcomes(matrix)
    assert len(ATTACKS) == 20
    assert {(a, p) for a, p, _ in found} == {(a.name, p) for a in ATTACKS for p in PLATFORMS}
    assert set(found.values()) == {outcome.value for outcome in Outcome}
    assert all(cell["observed"] for cell in matrix.data["cells"])


def test_no_platform_but_plain_gives_its_host_the_secret(matrix: Any) -> None:
    assert [p for p in PLATFORMS if outcomes(matrix)["read", p, ()] == "succeeds"] == ["plain"]


@pytest.mark.parametrize(
    ("attack", "platform", "switch", "outcome"),
    [
        ("switched-alias", "snp", Mitigation.COUNTER_TREE, Outcome.DETECTED),
        ("replay", "sev", Mitigation.COUNTER_TREE, Outcome.DETECTED),
        ("garbage", "csv", Mitigation.COUNTER_TREE, Outcome.DETECTED),
        ("ciphertext-bus", "snp", Mitigation.FRESHNESS, Outcome.PREVENTED),
        ("ciphertext-host", "snp", Mitigation.CIPHERTEXT_HIDING, Outcome.PREVENTED),
        ("invd", "csv", Mitigation.FIXED_INVD, Outcome.PREVENTED),
    ],
)
def test_a_switch_closes_its_row(
    attack: str, platform: str, switch: Mitigation, outcome: Outcome
) -> None:
    open_, closed = (play(find_attack(attack), platform, on).outcome for on in ((), (switch,)))
    assert (open_, closed) == (Outcome.SUCCEEDS, outcome)


def test_attacks_come_out_the_same_each_time(matrix: Any) -> None:
    again = run_attack(AttackRequest("matrix", platform="sev")).data["cells"]
    assert again == [cell for cell in matrix.data["cells"] if cell["platform"] == "sev"]


def test_a_difference_is_a_finding_and_exit_16(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {("replay", "sev", ()): (Outcome.PREVENTED, "a paper that nobody wrote")}
    monkeypatch.setattr(commands, "published", lambda: wrong)
    result = run_attack(AttackRequest("run", "replay", "sev"))
    assert result.exit_code == ExitCode.ATTACK_SUCCEEDED
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("CTB-M122", "error")
    assert "prevented by a paper that nobody wrote" in finding.message


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (AttackRequest("ruin"), "CTB-M120"),
        (AttackRequest("run"), "CTB-M120"),
        (AttackRequest("list", "replay"), "CTB-M120"),
        (AttackRequest("run", "reply", "sev"), "CTB-M120"),
        (AttackRequest("run", "replay", "sgx"), "CTB-M030"),
        (AttackRequest("run", "replay", "sev", ("alias-check",)), "CTB-M079"),
        (AttackRequest("run", "replay", "sev", ("x" * 1000,)), "CTB-M079"),
    ],
)
def test_nonsense_is_refused(request_: AttackRequest, code: str) -> None:
    with pytest.raises(InputError) as refused:
        run_attack(request_)
    assert refused.value.code == code
