"""The wheel carries the data that people edit, and works from wherever it is unpacked."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ctestbed.core.data import data_directory
from ctestbed.topology.load import builtin_testbeds
from tests.cli.shell import process

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and unpack it far from the repository."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    place = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place / "site")
    return place / "site"


def test_the_wheel_holds_the_data(unpacked: Path) -> None:
    for name in ("topologies", "attest"):
        source, copy = ROOT / name, unpacked / "ctestbed" / "_data" / name
        files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
        assert files
        for file in files:
            assert (copy / file).read_bytes() == (source / file).read_bytes()
    catalogue = unpacked / "ctestbed" / "core" / "catalogue"
    assert sorted(catalogue.glob("*.toml"))
    # The archive, not the unpacked tree: commands run from there may leave bytecode behind.
    (wheel,) = unpacked.parent.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = [Path(name) for name in archive.namelist()]
    assert not [path for path in packed if path.suffix == ".pyc" or "tests" in path.parts]


def test_the_wheel_says_what_it_is(unpacked: Path) -> None:
    (information,) = unpacked.glob("*.dist-info")
    metadata = (information / "METADATA").read_text()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "ctestbed = ctestbed.cli.main:main" in (information / "entry_points.txt").read_text()
    assert (information / "licenses" / "LICENSE").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("topology", "list"),
        ("topology", "validate", "lab-128"),
        ("attest", "roots"),
        ("explain", "SIG_BAD"),
        ("cvm", "launch", "--name", "a"),
    ],
    ids=" ".join,
)
def test_commands_work_from_the_wheel(words: tuple[str, ...], unpacked: Path) -> None:
    elsewhere = unpacked.parent
    environment = {"PYTHONPATH": str(unpacked), "CTESTBED_STATE_DIR": str(elsewhere / words[0])}
    where = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ctestbed.core.data import data_directory; print(data_directory('topologies'))",
        ],
        cwd=elsewhere,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()) == unpacked / "ctestbed" / "_data" / "topologies"
    outcome = process(*words, "--format", "json", cwd=elsewhere, env=environment)
    assert outcome.code == 0, outcome.stderr
    if words == ("topology", "list"):
        listed = [entry["name"] for entry in outcome.json["data"]["testbeds"]]
        assert listed == list(builtin_testbeds())


def test_a_checkout_finds_its_own_data_first() -> None:
    for name in ("topologies", "attest"):
        assert data_directory(name) == ROOT / name
