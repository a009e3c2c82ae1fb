"""Patterns of JavaScript: which ones are accepted without being compiled."""

from __future__ import annotations

from random import Random

import pytest

from assay.core import javascript_regex
from assay.core.javascript_regex import check_javascript, compile_javascript

ALPHABET = r"""ab1_é中 .*+?\^$|()[]{}-/dDwWsSbB,:;!%&=<>~@#'" """


def fault(check: object, pattern: str) -> str | None:
    try:
        check(pattern)  # type: ignore[operator]
    except ValueError as error:
        return str(error)
    return None


def test_a_pattern_is_accepted_exactly_where_it_compiles() -> None:
    draw = Random(0)
    for _ in range(5_000):
        pattern = "".join(draw.choices(ALPHABET, k=draw.randint(0, 8)))
        assert fault(check_javascript, pattern) == fault(compile_javascript, pattern), pattern


@pytest.mark.parametrize("pattern", ["Paris", r"\bParis\b", r"^\d+ km$", "19.* x?", "数字"])
def test_plain_patterns_are_not_compiled(monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(javascript_regex, "compile_javascript", None)
    check_javascript(pattern)
