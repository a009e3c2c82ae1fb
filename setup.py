"""The part of the package's metadata that is computed: README.md with absolute links.

A package index shows the README without the repository, so relative links and pictures would be broken there.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
_PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!\w+:)([^)\s]+)\)")
_LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s]+)\)")


def make_links_absolute(text: str, repository: str, version: str) -> str:
    """Return Markdown whose pictures and links are those of a released version in its repository."""
    text = _PICTURE.sub(rf"\g<1>{repository}/raw/v{version}/\g<2>)", text)
    return _LINK.sub(rf"\g<1>{repository}/blob/v{version}/\g<2>)", text)


def read_readme() -> str:
    """Return README.md for the package index."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (ROOT / "src" / "assay" / "__init__.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)[0]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return make_links_absolute(text, project["urls"]["Homepage"], version)


if __name__ == "__main__":
    setup(long_description=read_readme(), long_description_content_type="text/markdown")
