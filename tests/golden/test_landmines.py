"""The table in README.md: every landmine is in it, every test that it names exists and names it back."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
LAST = 38
_ROW = re.compile(r"^\| L(\d+) [^|]+ \| ([^|]+) \|$", re.MULTILINE)
_NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
ROWS = _ROW.findall((HERE / "README.md").read_text(encoding="utf-8"))
NAMED = [(f"L{number}", file, test) for number, held in ROWS for file, test in _NAMED.findall(held)]


@lru_cache
def docstrings(file: str) -> dict[str, str]:
    """Return the tests of a file with their docstrings, without running it."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_docstring(node) or "" for node in functions if node.name.startswith("test_")}


def test_every_landmine_has_one_row() -> None:
    assert [int(number) for number, _ in ROWS] == list(range(1, LAST + 1))


@pytest.mark.parametrize(("file", "test"), sorted({(file, test) for _, file, test in NAMED}))
def test_what_the_table_names_exists(file: str, test: str) -> None:
    assert test in docstrings(file), f"there is no {test} in tests/{file}"


def test_golden_tests_and_the_table_say_the_same() -> None:
    message = {
        (number, f"golden/{path.name}", test)
        for path in HERE.glob("test_*.py")
        if path.name != Path(__file__).name
        for test, docstring in docstrings(f"golden/{path.name}").items()
        for number in re.findall(r"\bL\d+\b", docstring.partition(":")[0]) or ["no number"]
    }
    assert message == {row for row in NAMED if row[1].startswith("golden/")}
