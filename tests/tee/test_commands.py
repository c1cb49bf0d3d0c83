"""The `cvm` commands and `evidence make`: data, canonical bytes, secrets, command line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ConfigDict, TypeAdapter
from typer.testing import CliRunner

from ctestbed.cli._options import complete_vm
from ctestbed.cli.cvm import app
from ctestbed.core.data import data_directory
from ctestbed.core.envelope import build_envelope, dump_envelope
from ctestbed.core.errors import InputError
from ctestbed.core.result import Result
from ctestbed.core.spec import SpecError, validate_model
from ctestbed.core.yamlfile import load_yaml
from ctestbed.tee import commands, evidence
from ctestbed.tee.commands import (
    LaunchRequest,
    ListRequest,
    ShowRequest,
    StopRequest,
    entropy_of,
    run_launch,
    run_list,
    run_show,
    run_stop,
)
from ctestbed.tee.evidence import MakeEvidenceRequest, run_make_evidence
from ctestbed.tee.names import PLATFORMS
from ctestbed.tee.platforms import Profile, load_profile
from tests.tee import csv_oracle as oracle

NONCE = "00112233445566778899aabbccddeeff"


def canonical(result: Result) -> str:
    envelope = build_envelope(result, command=["x"], options={}, canonical=True)
    return dump_envelope(envelope, canonical=True)


def fits(data_type: Any, result: Result) -> None:
    data_type.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
    TypeAdapter(data_type).validate_python(result.data)


def make(state: Path, name: str = "a", nonce: str = NONCE) -> evidence.MadeEvidence:
    return run_make_evidence(MakeEvidenceRequest(state, name, nonce))


def test_a_vm_lives_through_its_commands(tmp_path: Path) -> None:
    launched = run_launch(LaunchRequest(tmp_path, "a", memory=1 << 20))
    listed = run_list(ListRequest(tmp_path))
    shown = run_show(ShowRequest(tmp_path, "a"))
    made = make(tmp_path)
    stopped = run_stop(StopRequest(tmp_path, "a"))
    for data_type, result in (
        (commands.VMData, launched),
        (commands.ListData, listed),
        (commands.ShowData, shown),
        (evidence.MakeData, made.result),
        (commands.StopData, stopped),
    ):
        fits(data_type, result)
    assert listed.data["vms"] == [launched.data]
    assert {key: shown.data[key] for key in launched.data} == launched.data
    assert run_list(ListRequest(tmp_path)).data == {"vms": []}
    assert not list((tmp_path / "vms").iterdir())


def test_the_host_sees_noise_where_the_guest_sees_its_image(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"kernel " * 5000)
    run_launch(LaunchRequest(tmp_path / "state", "a", image=str(image)))
    view = run_show(ShowRequest(tmp_path / "state", "a")).data["view"]
    assert bytes.fromhex(view["guest"]) == image.read_bytes()[:64]
    assert bytes.fromhex(view["host"]) != image.read_bytes()[:64]
    assert view["guest_entropy"] < 3
    assert view["host_entropy"] > 7.9


def test_evidence_outlives_the_process_that_launched(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"firmware")
    state = tmp_path / "state"
    launched = run_launch(LaunchRequest(state, "a", image=str(image), allow_debug=True))
    made = make(state)
    assert oracle.failures(made.evidence, made.endorsements) == []
    assert oracle.unmask(made.evidence, 64, 64) == bytes.fromhex(NONCE).ljust(64, b"\0")
    assert oracle.unmask(made.evidence, 144, 32) == oracle.sm3(b"firmware".ljust(16, b"\0"))
    assert oracle.unmask(made.evidence, 144, 32).hex() == launched.data["measurement"]
    assert oracle.unmask(made.evidence, 176, 4) == bytes(4)
    assert made.endorsements[:832] == (state / "roots/csv/hrk.cert").read_bytes()
    assert [finding.severity for finding in made.result.findings] == ["note"]


def test_what_is_fresh_stands_under_run_alone(tmp_path: Path) -> None:
    for state in (tmp_path / "1", tmp_path / "2"):
        run_launch(LaunchRequest(state, "a"))
    first, second = make(tmp_path / "1"), make(tmp_path / "2")
    assert canonical(first.result) == canonical(second.result)
    assert first.evidence != second.evidence
    assert first.result.run["mnonce"] != make(tmp_path / "1").result.run["mnonce"]


def test_a_launch_gives_the_same_canonical_bytes_for_the_same_request(tmp_path: Path) -> None:
    shown = []
    for number, seed in enumerate((None, None, 4, 4)):
        state = tmp_path / str(number)
        shown.append(canonical(run_launch(LaunchRequest(state, "a", seed=seed))))
    assert len(set(shown)) == 1


def test_a_seed_repeats_keys_memory_and_evidence(tmp_path: Path) -> None:
    made = []
    for number in range(2):
        state = tmp_path / str(number)
        run_launch(LaunchRequest(state, "a", seed=4))
        made.append((make(state).evidence, canonical(run_show(ShowRequest(state, "a")))))
    assert made[0] == made[1]
    assert b"CTESTBED-EMULATED-SEEDED-PEK" in oracle.unmask(made[0][0], 336, 2084)
    state = tmp_path / "0"
    assert make(state, nonce="01").evidence != make(state, nonce="02").evidence
    with pytest.raises(InputError, match="made from seed 4, not from 5"):
        run_launch(LaunchRequest(state, "b", seed=5))
    run_launch(LaunchRequest(state, "b", seed=4))
    run_launch(LaunchRequest(state, "c"))


def test_no_secret_is_ever_shown(tmp_path: Path) -> None:
    results = [run_launch(LaunchRequest(tmp_path, "a"))]
    made = make(tmp_path)
    results += [run_list(ListRequest(tmp_path)), run_show(ShowRequest(tmp_path, "a")), made.result]
    secrets = list(json.loads((tmp_path / "machines/csv.json").read_text())["keys"].values())
    secrets.append(json.loads((tmp_path / "vms/a.json").read_text())["key"])
    shown = "".join(
        dump_envelope(build_envelope(result, command=[], options={})) + repr(result)
        for result in results
    )
    shown += made.evidence.hex() + made.endorsements.hex()
    assert len(secrets) == 6
    assert not [secret for secret in secrets if secret in shown]
    reversed_secrets = [bytes.fromhex(secret)[::-1].hex() for secret in secrets]
    assert not [secret for secret in reversed_secrets if secret in shown]


def test_a_small_vm_with_a_large_memory_costs_little_disk(tmp_path: Path) -> None:
    run_launch(LaunchRequest(tmp_path, "a", memory=1 << 40))
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) < 200_000
    assert run_show(ShowRequest(tmp_path, "a")).data["touched"] == 65536


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "name": ({"name": "../a"}, InputError, "cannot name a VM"),
    "no memory": ({"memory": 0}, InputError, "cannot have"),
    "odd memory": ({"memory": 4097}, InputError, "cannot have"),
    "endless memory": ({"memory": 1 << 41}, InputError, "cannot have"),
    "misspelt platform": ({"platform": "cvs"}, InputError, "no platform 'cvs'"),
    "another's switch": ({"platform": "snp", "switches": ("mec",)}, InputError, "no switch 'mec'"),
    "unkept counters": ({"switches": ("freshness",)}, InputError, "cannot be kept"),
    "no processor": ({"vcpus": 0}, InputError, "0 virtual CPUs"),
    "debug nobody documents": (
        {"platform": "virtcca", "allow_debug": True},
        InputError,
        "documents no launch",
    ),
    "image": ({"image": "/nonexistent/image"}, InputError, "does not exist"),
    "no image": ({"image": "/dev/null"}, InputError, "is empty"),
    "endless image": ({"image": "/dev/zero", "memory": 8192}, InputError, "larger than 8192"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_launch_leaves_no_trace(tmp_path: Path, case: str) -> None:
    options, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        run_launch(LaunchRequest(tmp_path / "state", **{"name": "a", **options}))
    assert not (tmp_path / "state").exists()


def test_a_name_is_taken_until_its_vm_is_stopped(tmp_path: Path) -> None:
    run_launch(LaunchRequest(tmp_path, "a"))
    with pytest.raises(InputError) as caught:
        run_launch(LaunchRequest(tmp_path, "a", platform="plain"))
    assert "cvm stop a" in str(caught.value.hint)
    old = run_show(ShowRequest(tmp_path, "a")).data["view"]["host"]
    run_stop(StopRequest(tmp_path, "a"))
    run_launch(LaunchRequest(tmp_path, "a"))
    assert run_show(ShowRequest(tmp_path, "a")).data["view"]["host"] != old


@pytest.mark.parametrize(
    ("nonce", "code"), [(None, "CTB-M070"), ("xyz", "CTB-E002"), ("00" * 65, "CTB-E003")]
)
def test_evidence_needs_a_sound_nonce(tmp_path: Path, nonce: str | None, code: str) -> None:
    run_launch(LaunchRequest(tmp_path, "a"))
    with pytest.raises(InputError) as caught:
        run_make_evidence(MakeEvidenceRequest(tmp_path, "a", nonce))
    assert caught.value.code == code


def test_a_plain_vm_makes_no_evidence(tmp_path: Path) -> None:
    run_launch(LaunchRequest(tmp_path, "a", platform="plain"))
    with pytest.raises(InputError, match="signs no evidence"):
        make(tmp_path)


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_platform_has_a_profile_of_facts_with_reasons(name: str) -> None:
    profile = load_profile(name)
    assert profile.platform == name
    sections = (profile.memory, profile.guest, profile.launch, profile.evidence)
    facts = [getattr(part, field) for part in sections for field in type(part).model_fields]
    facts += profile.switches.values()
    assert all((fact.source is None) != (fact.ours is None) for fact in facts)
    with pytest.raises(InputError, match="no platform"):
        load_profile(name + "x")


def test_what_nobody_documented_is_marked_as_ours() -> None:
    memory = load_profile("csv").memory
    assert all(fact.ours for fact in (memory.mode, memory.standard, memory.tweak))
    assert all(fact.source for fact in (memory.cipher, memory.integrity, memory.host_read))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    value: SM4\n", "    value: AES\n", "memory.cipher.value"),
        ("    value: SM4\n", "    value: SM4\n    ours: a guess\n", "either `source` or `ours`"),
        ("title:", "titel:", "titel"),
        ("    value: 15\n", "    value: fifteen\n", "memory.key_slots.value"),
    ],
)
def test_a_profile_is_read_strictly(old: str, new: str, message: str) -> None:
    text = (data_directory("attest") / "platforms" / "csv.yaml").read_text()
    assert old in text
    with pytest.raises(SpecError) as caught:
        validate_model(Profile, load_yaml(text.replace(old, new, 1).encode(), "csv.yaml"))
    assert any(message in finding.message for finding in caught.value.findings)
    assert caught.value.where is not None
    assert caught.value.where.line is not None


@pytest.mark.parametrize(
    ("data", "expected"), [(b"aaaa", 0.0), (b"ab", 1.0), (bytes(range(256)), 8.0)]
)
def test_entropy_is_shannons(data: bytes, expected: float) -> None:
    assert entropy_of(data) == expected


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CTESTBED_STATE_DIR", str(tmp_path / "state"))

    def invoke(*words: str) -> tuple[int, str]:
        outcome = CliRunner().invoke(app, list(words))
        return outcome.exit_code, outcome.output

    return invoke


def test_the_command_line_takes_a_vm_through_its_life(run: Run) -> None:
    assert "Launch one with" in run("list")[1]
    code, text = run("launch", "--name", "a", "--memory", "1MiB", "--allow-debug")
    assert code == 0
    assert "no flags" in text
    assert "evidence make a" in text
    assert run("launch", "--name", "p", "--platform", "plain")[0] == 0
    code, text = run("list")
    assert [line.split()[:4] for line in text.splitlines()[3:5]] == [
        ["a", "csv", "1", "MiB"],
        ["p", "plain", "64", "MiB"],
    ]
    code, text = run("show", "a")
    assert "host sees ciphertext" in text
    assert "guest sees plaintext" in text
    assert "|" not in text.split("host sees")[0]
    assert run("stop", "a")[0] == 0
    assert run("show", "a")[0] == 3
    assert run("launch", "--name", "a", "--platform", "tdy")[0] == 3
    assert run("launch", "--name", "a", "--memory", "64M")[0] == 3


def test_json_says_the_same_and_names_no_state_directory_in_the_request(run: Run) -> None:
    code, text = run("launch", "--name", "a", "--seed", "3", "--canonical")
    envelope = json.loads(text)
    assert code == 0
    assert envelope["schema"] == "ctestbed.cvm.launch/1"
    assert envelope["request"]["seed"] == 3
    assert "state" not in json.dumps(envelope["request"])
    assert envelope["data"]["measurement"] in run("show", "a")[1]


def test_vm_names_complete_without_reading_records(run: Run, tmp_path: Path) -> None:
    class Context:
        params = {"state_dir": str(tmp_path / "state")}  # noqa: RUF012

    assert complete_vm(Context(), "") == []  # type: ignore[arg-type]
    for name in ("ab", "ac", "b"):
        run("launch", "--name", name, "--platform", "plain")
    (tmp_path / "state" / "vms" / "ab.json").write_bytes(b"")
    assert complete_vm(Context(), "a") == ["ab", "ac"]  # type: ignore[arg-type]


def test_evidence_completes_the_vms_of_the_directory_that_settings_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("launch", "--name", "ab", "--platform", "plain")
    settings = tmp_path / "settings.toml"
    settings.write_text(f'state_dir = "{tmp_path / "state"}"\n')
    monkeypatch.delenv("CTESTBED_STATE_DIR", raising=False)
    monkeypatch.setenv("CTESTBED_CONFIG", str(settings))
    shell = {
        "_CTESTBED_COMPLETE": "complete_bash",
        "COMP_WORDS": "ctestbed evidence make ",
        "COMP_CWORD": "3",
    }
    command = [sys.executable, "-m", "ctestbed"]
    environ = {**os.environ, **shell}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
    assert done.stdout.split() == ["ab"]


def test_help_and_completion_load_nothing_heavy(tmp_path: Path) -> None:
    probe = (
        "import sys\n"
        "from ctestbed.cli._options import complete_vm\n"
        f"class C: params = {{'state_dir': {str(tmp_path)!r}}}\n"
        "complete_vm(C(), '')\n"
        "heavy = {'numpy', 'numba', 'networkx', 'cryptography', 'pydantic', 'rich'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
