"""Docs tell the truth: generated pages are fresh, links lead somewhere, Sphinx finds no fault."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.sessions import ROOT
from tools.reference import PAGES, explain_key, schema_models

DOCS = ROOT / "docs"
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
_OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


@pytest.mark.parametrize("name", sorted(PAGES))
def test_generated_pages_are_fresh(name: str) -> None:
    stored = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert stored == PAGES[name](), "run `make golden` and review the diff"


def test_every_key_of_a_testbed_file_is_explained() -> None:
    missing = [
        f"{model}.{key}"
        for model, part in schema_models().items()
        for key in part["properties"]
        if not explain_key(model, key)
    ]
    assert not missing, "write a line for each in tools/testbed_keys.toml"


@pytest.mark.parametrize("name", _OUTSIDE)
def test_links_outside_the_docs_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    missing = [link for link in _LINK.findall(text) if not (ROOT / link).exists()]
    assert not missing


@pytest.mark.slow
def test_sphinx_finds_no_fault(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"),
            *(str(DOCS), str(tmp_path / "html"), "-d", str(tmp_path / "doctrees")),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
