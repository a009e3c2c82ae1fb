"""Checks a page with axe-core, which PyPI's axe-playwright-python carries."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page

_RUN = """() => axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any, all, none }) => {
        const [reason] = [...any, ...all, ...none];
        return `${id}: ${html.slice(0, 200)} (${reason?.message})`;
    })))"""


@cache
def _read_axe() -> str:
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("needs the package axe-playwright-python, which the extra dev installs")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def find_violations(page: Page) -> list[str]:
    """Return what axe finds wrong in a page, with all parts unfolded, in the light and the dark theme."""
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = true; }")
    # Parts that are filled when they open need a turn of the event loop.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.evaluate(_read_axe())
    found: list[str] = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {one}" for one in page.evaluate(_RUN)]
    return found
