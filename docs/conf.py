"""Sphinx settings. Built by `make docs`; every warning is an error."""

from ctestbed import __version__

project = "ctestbed"
author = "the ctestbed developers"
copyright = "2026, the ctestbed developers"
version = release = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"ctestbed {version}"
html_static_path: list[str] = []
