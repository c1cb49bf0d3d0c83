"""Completion by the shell's own protocol: nouns, verbs, options, testbeds, VMs."""

import pytest

from ctestbed.cli._nouns import NOUNS
from ctestbed.topology.load import builtin_testbeds
from tests.cli.shell import ctestbed, process


def complete(*words: str) -> set[str]:
    """Ask as bash does: the last word is the one being typed."""
    outcome = process(
        env={
            "_CTESTBED_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(["ctestbed", *words]),
            "COMP_CWORD": str(len(words)),
        }
    )
    assert outcome.stderr == ""
    return set(outcome.stdout.split())


def test_nouns_and_verbs() -> None:
    assert complete("") == set(NOUNS)
    assert complete("to") == {"topology"}
    assert complete("cvm", "") == {"launch", "list", "show", "stop", "attack"}


@pytest.mark.parametrize(
    "words",
    [
        ("topology", "validate"),
        ("topology", "show"),
        ("route", "path"),
        ("sim", "transfer"),
        ("sim", "headroom"),
    ],
)
def test_testbeds(words: tuple[str, ...]) -> None:
    assert complete(*words, "") == set(builtin_testbeds())
    assert complete(*words, "lab") == {"lab-128", "lab-128-wide"}


def test_what_can_be_run() -> None:
    assert complete("bench", "run", "fa") == {
        "fabric",
        "fat-tree-128",
        "fat-tree-1024",
        "fat-tree-8192",
    }


def test_vms() -> None:
    assert complete("cvm", "show", "") == set()
    for name in ("blue", "black", "red"):
        assert ctestbed("cvm", "launch", "--name", name, "--memory", "2MiB").code == 0
    for words in (("cvm", "show"), ("cvm", "stop"), ("evidence", "make")):
        assert complete(*words, "") == {"blue", "black", "red"}
        assert complete(*words, "bl") == {"blue", "black"}


def test_words_with_few_values() -> None:
    assert complete("attest", "verify", "ev.bin", "--roots", "") == {"vendor", "emulated", "user"}
    kinds = complete("topology", "build", "")
    assert {"fat-tree", "rail-optimised", "slim-fly", "dragonfly", "torus"} <= kinds
    assert complete("topology", "build", "fat") == {"fat-tree"}
    assert "CTB-C003" in complete("explain", "CTB-C00")
    assert "ctestbed.sim.transfer/1" in complete("schema", "show", "ctestbed.sim")
    assert "--pattern" in complete("sim", "transfer", "--pa")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str) -> None:
    outcome = ctestbed("completion", shell)
    assert outcome.code == 0
    assert "_CTESTBED_COMPLETE" in outcome.stdout
    assert "ctestbed" in outcome.stdout


def test_another_shell_is_refused() -> None:
    outcome = ctestbed("completion", "tcsh")
    assert (outcome.code, outcome.stdout) == (3, "")
    assert outcome.stderr == (
        "error[CTB-U006]: no completion for 'tcsh'\n  hint: one of bash, zsh, fish\n"
    )
