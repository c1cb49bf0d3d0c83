"""Every code in the product is explained, and nothing is explained that the product never says."""

import re
from pathlib import Path

import ctestbed
from ctestbed.core.catalogue import load_catalogue

_PACKAGE = Path(ctestbed.__file__).parent
_CODE = re.compile(r"\bCTB-[A-Z]\d{3}\b")


def _used() -> set[str]:
    files = _PACKAGE.rglob("*.py")
    return {code for path in files for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_code_used_is_explained() -> None:
    assert sorted(_used() - set(load_catalogue())) == []


def test_every_numbered_code_explained_is_used() -> None:
    numbered = {code for code in load_catalogue() if code.startswith("CTB-")}
    assert sorted(numbered - _used()) == []


def test_every_named_code_explained_is_used() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in _PACKAGE.rglob("*.py"))
    named = {code for code in load_catalogue() if not code.startswith("CTB-")}
    assert sorted(code for code in named if f'"{code}"' not in text) == []


def test_entries_are_whole_sentences_and_short_titles() -> None:
    for entry in load_catalogue().values():
        assert entry.meaning.endswith("."), entry.code
        assert entry.remedy.rstrip("`").endswith((".", "?")), entry.code
        assert len(entry.title) < 80, entry.code
