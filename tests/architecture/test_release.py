"""What a release says about itself: one version everywhere, and a README that a package index can show."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import assay

ROOT = Path(__file__).parents[2]
_TARGET = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {assay.__version__}\n" in citation
    released = re.findall(
        r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    if released:
        assert released[0][0] == assay.__version__
        assert f"\ndate-released: {released[0][1]}\n" in citation


def test_every_link_of_the_published_readme_is_absolute_and_leads_to_a_file(project: dict[str, Any]) -> None:
    setup = runpy.run_path(str(ROOT / "setup.py"))
    text = setup["read_readme"]()
    targets = _TARGET.findall(text)
    own = [target for target in targets if target.startswith(project["urls"]["Homepage"])]
    assert len(own) > 30
    assert [target for target in targets if not target.startswith("https://")] == []
    for target in own:
        path = urlsplit(target).path.partition(f"/v{assay.__version__}/")[2]
        assert (ROOT / path).exists(), target
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    assert all(f"/raw/v{assay.__version__}/docs/images/" in picture for picture in pictures)


def test_torch_is_not_pinned_to_one_version(project: dict[str, Any]) -> None:
    (torch,) = [one for one in project["optional-dependencies"]["hf"] if one.startswith("torch")]
    assert "==" not in torch
    lowest = tuple(map(int, re.findall(r"\d+", torch)))
    (installed,) = re.findall(r"install --quiet torch==(\d+)\.(\d+)", (ROOT / "Makefile").read_text())
    assert lowest <= tuple(map(int, installed))


def test_the_lowest_python_is_the_first_of_the_classifiers(project: dict[str, Any]) -> None:
    versions = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert project["requires-python"] == f">={versions[0]}"
