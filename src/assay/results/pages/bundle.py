"""The pages' script and style, each joined from its modules: one file to send, one hash to trust.

Modules are ES modules in the subset that this file supports: every import is one line,
`import { a, b } from "./name.js";`, and every export precedes a declaration. They need no build tool, and
browsers and editors understand them as they are.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

ASSETS = Path(__file__).parent / "assets"
EntryModule: TypeAlias = Literal["app", "run_file", "compare_file", "board_file", "bench_file"]
"""The entry module of a script: all pages of a server, or one single-file page."""
_IMPORT = re.compile(r'^import \{ (?P<names>[\w, ]+) \} from "\./(?P<module>\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (?P<name>\w+))", re.MULTILINE)
_UNREAD = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


@cache
def build_script(entry: EntryModule) -> str:
    """Return a module and its dependencies as one script, each in its own function.

    A module is called `$name` there, since it may export something with its own name.
    """
    parts: dict[str, str] = {}
    _add_module(entry, parts, ())
    return '(() => {\n"use strict";\n' + "".join(parts.values()) + "})();\n"


@cache
def build_style() -> str:
    """Return all styles joined, `base.css` first."""
    files = sorted(ASSETS.glob("*.css"), key=lambda path: (path.stem != "base", path.stem))
    return "".join(path.read_text(encoding="utf-8") for path in files)


def _add_module(module: str, parts: dict[str, str], above: tuple[str, ...]) -> None:
    if module in parts:
        return
    if module in above:
        raise ValueError(f"the modules {' -> '.join((*above, module))} import each other")
    text = (ASSETS / f"{module}.js").read_text(encoding="utf-8")
    for found in _IMPORT.finditer(text):
        _add_module(found["module"], parts, (*above, module))
    text = _IMPORT.sub(lambda found: f"const {{ {found['names']} }} = ${found['module']};\n", text)
    names = [found["name"] for found in _EXPORT.finditer(text)]
    text = _EXPORT.sub("", text)
    if (unread := _UNREAD.search(text)) is not None:
        raise ValueError(f"{module}.js: cannot read {unread[0]!r}")
    parts[module] = f"const ${module} = (() => {{\n{text}return {{ {', '.join(names)} }};\n}})();\n"
