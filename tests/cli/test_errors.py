"""Error texts, word for word: fact with the value, place, one next step; and the exit codes."""

import os
import textwrap
from pathlib import Path

import pytest

from ctestbed.core.data import data_directory
from tests.cli.shell import ctestbed, process
from tests.shared import shared_data

LAB = "ctestbed: 1\nname: x\nfabric: {kind: fat-tree, tiers: 2, k: 4, rate: 400Gbps, delay: 1us}\n"


def text(block: str) -> str:
    return textwrap.dedent(block).lstrip("\n")


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTESTBED_STATE_DIR", "state")


GOLDEN: dict[str, tuple[str, int, str]] = {
    "a testbed that does not exist": (
        "topology validate lab-129",
        3,
        """
        error[CTB-T005]: no testbed is called 'lab-129'
          at lab-129
          hint: did you mean `lab-128`?
        """,
    ),
    "a file that does not exist": (
        "bench run mine.yaml",
        3,
        """
        error[CTB-C011]: testbed file 'mine.yaml' does not exist
          at mine.yaml
          hint: check the path
        """,
    ),
    "neither a testbed nor a benchmark": (
        "bench run fabrik",
        3,
        """
        error[CTB-B006]: 'fabrik' is neither a file, a built-in testbed nor a benchmark
          hint: did you mean `fabric`?
        """,
    ),
    "an ambiguous size": (
        "sim transfer lab-128 --pattern shift:64 --size 2M",
        3,
        """
        error[CTB-C003]: size '2M' is ambiguous
          at --size
          hint: `MB` (powers of 1000) or `MiB` (powers of 1024)?
        """,
    ),
    "a rate of bytes or bits": (
        "sim headroom --rate 400G --length 150km",
        3,
        """
        error[CTB-C003]: rate '400G' is ambiguous
          at --rate
          hint: `Gbps` (bits) or `GB/s` (bytes)?
        """,
    ),
    "a length without a unit": (
        "sim headroom --rate 400Gbps --length 150",
        3,
        """
        error[CTB-C003]: length '150' has no unit
          at --length
          hint: write the unit, such as `150km`
        """,
    ),
    "a misspelt pattern": (
        "sim transfer lab-128 --pattern shft:64 --size 2MB",
        3,
        """
        error[CTB-S010]: 'shft:64' is not a traffic pattern
          at --pattern
          hint: did you mean `shift`?
        """,
    ),
    "a pattern across planes": (
        "sim transfer two-campus-150km --pattern shift:1 --size 2MB",
        3,
        """
        error[CTB-R001]: no path from east/h000/nic-0 (plane 0) to east/h000/nic-1 (plane 1): \
planes share no switch (2,048 of 2,048 flows)
          hint: keep to one plane: shift by a multiple of 8, for instance
        """,
    ),
    "headroom asked both ways": (
        "sim headroom two-campus-150km --rate 400Gbps",
        3,
        """
        error[CTB-S030]: a testbed and figures of one link are given, and either answers alone
          hint: name the testbed, or give --rate and --length without it
        """,
    ),
    "an endpoint that does not exist": (
        "route path lab-128 0 128",
        3,
        """
        error[CTB-T020]: there is no endpoint 128: lab-128 has 128
          hint: endpoints count from 0 to 127
        """,
    ),
    "a path to itself": (
        "route path lab-128 5 h005",
        3,
        """
        error[CTB-R003]: h005 is both source and destination
          hint: name two different endpoints
        """,
    ),
    "a VM that does not exist": (
        "cvm show a",
        3,
        """
        error[CTB-M021]: there is no VM 'a'
          at state
          hint: launch one with `ctestbed cvm launch`
        """,
    ),
    "a nonce that is not hex": (
        "attest verify lab.yaml --nonce xyz",
        3,
        """
        error[CTB-E002]: --nonce 'xyz' is not hex
          hint: write an even number of hex digits
        """,
    ),
    "evidence that is something else": (
        "evidence show lab.yaml",
        3,
        f"""
        error[FORMAT_BAD]: not a CSV report (2548 bytes, or 4096 with zero padding): \
it has {len(LAB)} bytes of no known format
          at lab.yaml
          hint: name the file that holds the raw report
        """,
    ),
    "a code that does not exist": (
        "explain SIG_BED",
        3,
        """
        error[CTB-U004]: there is no code 'SIG_BED'
          hint: did you mean `SIG_BAD`?
        """,
    ),
    "an output file that exists": (
        "topology validate lab-128 -o lab.yaml",
        3,
        """
        error[CTB-C014]: 'lab.yaml' exists already
          at lab.yaml
          hint: use --force to replace it, or name another file
        """,
    ),
    "an output directory that does not exist": (
        "topology validate lab-128 -o no/where.json",
        4,
        """
        error[CTB-C016]: 'no/where.json' cannot be written: No such file or directory
          at no/where.json
          hint: check that its directory exists and may be written
        """,
    ),
}


@pytest.mark.parametrize("mistake", GOLDEN)
def test_golden_texts(mistake: str) -> None:
    Path("lab.yaml").write_text(LAB)
    line, code, expected = GOLDEN[mistake]
    outcome = ctestbed(*line.split())
    assert (outcome.code, outcome.stdout) == (code, "")
    assert outcome.stderr == text(expected)


FILES: dict[str, tuple[str, int, str]] = {
    "unknown key": (
        LAB.replace("delay", "raddix: 3, delay"),
        3,
        """
        error[CTB-C041]: unknown key `fabric.raddix`
          at bed.yaml:3  (fabric.raddix)
          hint: did you mean `radix`?
        """,
    ),
    "wrong unit": (
        LAB.replace("1us", "1m"),
        3,
        """
        error[CTB-C003]: `fabric.delay`: time '1m' is ambiguous
          at bed.yaml:3  (fabric.delay)
          hint: `min` (minutes) or `ms` (milliseconds)?
        """,
    ),
    "no planes": (
        LAB + "planes: {count: 0}\n",
        3,
        """
        error[CTB-C043]: `planes.count`: input should be greater than or equal to 1, not 0
          at bed.yaml:4  (planes.count)
        """,
    ),
    "not a mapping": (
        "- name: x\n",
        3,
        """
        error[CTB-C040]: 'bed.yaml' is a list, and a mapping of keys to values is needed
          at bed.yaml:1
          hint: a file starts with lines such as `name: lab-128`
        """,
    ),
    "garbage": (
        "\x7fELF\x02\x01\x01\0\0",
        3,
        "",
    ),
    "nothing": ("", 3, ""),
    "not YAML": ("a: [1\n", 3, ""),
    "a sketch": ("lab-128", 3, ""),
}


@pytest.mark.parametrize("fault", FILES)
def test_bad_testbed_files(fault: str) -> None:
    content, code, expected = FILES[fault]
    Path("bed.yaml").write_text(content)
    outcome = ctestbed("topology", "validate", "bed.yaml")
    assert (outcome.code, outcome.stdout) == (code, "")
    assert outcome.stderr.startswith("error[CTB-C")
    assert "bed.yaml" in outcome.stderr
    if expected:
        assert outcome.stderr == text(expected)
    for command in (("bench", "run"), ("topology", "show"), ("sim", "headroom")):
        assert ctestbed(*command, "bed.yaml").code == code


def test_a_radix_that_overflows() -> None:
    lines = LAB.replace("k: 4", "leaves: 4, hosts_per_leaf: 4, spines: 4, radix: 6")
    Path("bed.yaml").write_text(lines)
    outcome = ctestbed("topology", "validate", "bed.yaml")
    assert outcome.code == 10
    assert "error[CTB-T014]: a leaf uses 8 ports, and a switch has 6\n" in outcome.stdout
    assert ctestbed("topology", "show", "bed.yaml").code == 3


@pytest.mark.parametrize("count", ["4194304", "99999999999999999999", "-1", "1.5", "'4'"])
def test_counts_beyond_reason(count: str) -> None:
    Path("bed.yaml").write_text(LAB.replace("k: 4", f"k: {count}"))
    outcome = ctestbed("topology", "validate", "bed.yaml")
    assert outcome.code in {3, 10}
    assert "error[CTB-" in outcome.stdout + outcome.stderr


def test_binary_garbage_by_stdin() -> None:
    outcome = process("topology", "validate", "-", stdin=os.urandom(4096))
    assert (outcome.code, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("error[CTB-C03")


VERIFY = ("attest", "verify", "ev.bin")


@pytest.mark.parametrize("size", [0, 1, 2547])
def test_evidence_that_is_empty_or_cut_short(size: int) -> None:
    report = shared_data("evidence/csv/csv1_report_raw.bin").read_bytes()
    Path("ev.bin").write_bytes(report[:size])
    outcome = ctestbed(*VERIFY)
    assert outcome.code == 3
    assert "FORMAT_BAD" in outcome.stderr + outcome.stdout


def test_evidence_of_one_gigabyte() -> None:
    with Path("ev.bin").open("wb") as stream:
        stream.truncate(10**9)
    outcome = ctestbed(*VERIFY)
    assert outcome.code == 3
    assert "error[" in outcome.stderr
    assert ctestbed("evidence", "show", "ev.bin").code == 3
    assert ctestbed("topology", "validate", "ev.bin").code == 3


def test_a_state_directory_that_is_read_only() -> None:
    if os.geteuid() == 0:
        state = Path("/proc/ctestbed")  # root may write anywhere else
    else:
        state = Path("frozen")
        state.mkdir(mode=0o500)
    outcome = ctestbed("cvm", "launch", "--name", "a", "--state-dir", str(state / "x"))
    assert (outcome.code, outcome.stdout) == (4, "")
    assert outcome.stderr.startswith("error[CTB-")
    assert "internal" not in outcome.stderr


def test_a_state_that_was_half_written_is_told_and_can_be_cleared() -> None:
    assert ctestbed("cvm", "launch", "--name", "a", "--memory", "2MiB").code == 0
    for path in sorted(Path("state").rglob("*")):
        if path.is_file() and "vms" in path.parts and path.stat().st_size > 64:
            path.write_bytes(path.read_bytes()[:50])
    outcome = ctestbed("cvm", "show", "a")
    assert outcome.code in {3, 4, 14}
    assert outcome.stderr.startswith("error[CTB-M")
    assert ctestbed("cvm", "list").code == 0
    assert ctestbed("cvm", "stop", "a").code == 0
    assert ctestbed("cvm", "launch", "--name", "a", "--memory", "2MiB").code == 0


def test_a_full_disk_keeps_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("report.json").write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    outcome = ctestbed("topology", "validate", "lab-128", "-o", "report.json", "--force")
    assert outcome.code == 4
    assert outcome.stderr == text(
        """
        error[CTB-C015]: no space to write 'report.json'; nothing that was there before is lost
          at report.json
          hint: free some space and run it again
        """
    )
    assert Path("report.json").read_text() == "old"
    assert [path.name for path in Path().iterdir() if path.name != "state"] == ["report.json"]


@pytest.mark.parametrize("name", ["two-campus-150km"])
def test_every_built_in_says_where_a_fault_of_its_file_lies(name: str) -> None:
    content = (data_directory("topologies") / f"{name}.yaml").read_text()
    Path("bed.yaml").write_text(content.replace("headroom: 75MB", "headroom: 60MB"))
    line = 1 + content.split("headroom: 75MB")[0].count("\n")
    outcome = ctestbed("bench", "run", "bed.yaml")
    assert outcome.code == 10
    assert (
        "error[CTB-S032]: port east/p0/spine-0:33 keeps 60 MB of headroom per lossless class, "
        "and 400 Gb/s over 750 us one way takes 75 MB\n"
        f"  at bed.yaml:{line}  (trunks[0].lossless.headroom)\n"
        "  hint: configure at least 75 MB, or shorten or slow the link\n"
    ) in outcome.stdout
    assert outcome.stdout.endswith(
        "FAIL: checks found problems (validate, lint, diff, expectations) (exit 10)\n"
    )
