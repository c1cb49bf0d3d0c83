"""Settings: flag, then environment, then --config, ./ctestbed.toml, the user's, defaults."""

import os
from pathlib import Path

import pytest

from tests.cli.shell import ctestbed, process

LIST = ("schema", "list")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """Return a --config file, ./ctestbed.toml and the user's file, none of them written."""
    monkeypatch.chdir(tmp_path)
    user = tmp_path / "config" / "ctestbed" / "config.toml"
    user.parent.mkdir(parents=True)
    return tmp_path / "named.toml", tmp_path / "ctestbed.toml", user


def form() -> str:
    """Tell which format is in force by how the output begins."""
    outcome = ctestbed(*LIST)
    assert outcome.code == 0, outcome.stderr
    first = outcome.stdout.lstrip()
    return {"{": "json", "#": "md", "<": "html"}.get(first[0], "table")


def test_the_stronger_source_wins(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    named, here, user = places
    assert form() == "table"
    user.write_text('format = "json"\n')
    assert form() == "json"
    here.write_text('format = "md"\n')
    assert form() == "md"
    named.write_text('format = "html"\n')
    monkeypatch.setenv("CTESTBED_CONFIG", str(named))
    assert form() == "html"
    monkeypatch.setenv("CTESTBED_FORMAT", "json")
    assert form() == "json"
    assert ctestbed(*LIST, "--format", "md").stdout.startswith("#")


def test_config_is_also_an_option(places: tuple[Path, Path, Path]) -> None:
    places[0].write_text('format = "json"\n')
    outcome = process("--config", str(places[0]), *LIST)
    assert outcome.json["schema"] == "ctestbed.schema.list/1"


def test_each_setting_names_what_set_it(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places[1].write_text('format = "json"\n')
    monkeypatch.setenv("CTESTBED_COLOR", "never")
    shown = {entry["name"]: entry for entry in ctestbed("config", "show").json["data"]["settings"]}
    assert shown["format"] == {"name": "format", "value": "json", "origin": "ctestbed.toml"}
    assert shown["color"]["origin"] == "CTESTBED_COLOR"
    assert shown["state_dir"]["value"] == os.environ["CTESTBED_STATE_DIR"]
    files = ctestbed("config", "path").json["data"]["files"]
    assert [file["exists"] for file in files] == [True, False]


def test_the_state_directory_can_come_from_a_file(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CTESTBED_STATE_DIR")
    places[1].write_text(f'state_dir = "{places[1].parent / "elsewhere"}"\n')
    assert ctestbed("cvm", "launch", "--name", "a").code == 0
    assert (places[1].parent / "elsewhere").is_dir()
    assert ctestbed("cvm", "list", "--format", "json").json["data"]["vms"][0]["name"] == "a"


UNKNOWN_SETTING = """\
error[CTB-U003]: unknown setting `colour`
  at ctestbed.toml  (colour)
  hint: did you mean `color`?
"""
NOT_TEXT = """\
error[CTB-U003]: setting `format` must be text, not 3
  at ctestbed.toml  (format)
  hint: write it as `format = "..."`
"""


@pytest.mark.parametrize(
    ("content", "error"),
    [('colour = "never"\n', UNKNOWN_SETTING), ("format = 3\n", NOT_TEXT)],
)
def test_wrong_settings_are_refused(
    content: str, error: str, places: tuple[Path, Path, Path]
) -> None:
    places[1].write_text(content)
    outcome = ctestbed(*LIST)
    assert (outcome.code, outcome.stdout, outcome.stderr) == (3, "", error)


def test_a_file_that_is_no_toml_or_not_there(
    places: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    places[1].write_bytes(b"\xff\x00 = [")
    outcome = ctestbed(*LIST)
    assert outcome.code == 3
    assert outcome.stderr.startswith("error[CTB-U002]: 'ctestbed.toml' is not readable TOML")
    places[1].unlink()
    monkeypatch.setenv("CTESTBED_CONFIG", "absent.toml")
    outcome = ctestbed(*LIST)
    assert outcome.code == 3
    assert outcome.stderr == (
        "error[CTB-U001]: the configuration file 'absent.toml' does not exist\n"
        "  at absent.toml\n"
        "  hint: check --config and CTESTBED_CONFIG\n"
    )


@pytest.mark.parametrize(
    ("environment", "option", "colored"),
    [
        ({}, (), False),
        ({"FORCE_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), True),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({"NO_COLOR": "1"}, (), False),
        ({"TERM": "dumb"}, (), False),
        ({"CTESTBED_COLOR": "always"}, (), True),
        ({"CTESTBED_COLOR": "always"}, ("--color", "never"), False),
    ],
)
def test_color(environment: dict[str, str], option: tuple[str, ...], colored: bool) -> None:
    outcome = process(
        "topology", "validate", "lab-128", *option, env={"NO_COLOR": "", **environment}
    )
    assert outcome.code == 0
    assert ("\x1b[" in outcome.stdout) == colored
    assert outcome.stdout.count("PASS") > 3


def test_wrong_settings_are_json_where_json_was_asked_for(places: tuple[Path, Path, Path]) -> None:
    places[1].write_text('colour = "never"\n')
    outcome = ctestbed(*LIST, "--format", "json")
    assert outcome.code == 3
    assert outcome.json["findings"][0]["code"] == "CTB-U003"
