"""Single modules of the pages' script, for tests that call their functions."""

from __future__ import annotations

import base64
import re

from assay.results.pages.bundle import ASSETS


def module_address(name: str) -> str:
    """Return an address that a page can import a module from, together with the modules that it imports."""
    text = (ASSETS / f"{name}.js").read_text(encoding="utf-8")
    text = re.sub(r'"\./(\w+)\.js"', lambda found: f'"{module_address(found[1])}"', text)
    return "data:text/javascript;base64," + base64.b64encode(text.encode()).decode()
