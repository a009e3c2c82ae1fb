"""Runs that cannot be compared: one clear error each, exit status 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli import assay

QUESTIONS = "question,A,B,answer\nIs 2 even?,yes,no,A\nIs 3 even?,yes,no,B\nIs 4 even?,yes,no,A\n"
OTHERS = "question,A,B,answer\nWhich is a bird?,owl,cow,A\nWhich is a fish?,eel,ant,A\n"


@pytest.fixture
def runs(workdir: Path) -> Path:
    (workdir / "data.csv").write_text(QUESTIONS, encoding="utf-8")
    (workdir / "other.csv").write_text(OTHERS, encoding="utf-8")
    for name, *arguments in (
        ("both", "data.csv", "--method", "ppl,gen"),
        ("prob", "data.csv", "--method", "prob"),
        ("short", "data.csv", "--limit", "first:2"),
        ("other", "other.csv"),
        ("unscored", "data.csv", "--stage", "infer"),
    ):
        assert assay("run", *arguments, "-m", "mock", "--out", name).status == 0
    return workdir


CASES: list[tuple[Sequence[str], str, Sequence[str]]] = [
    (("compare", "both", "unscored"), "COMPARE-001", ("'unscored'", "answered")),
    (("compare", "both", "prob"), "COMPARE-002", ("'data by ppl'", "'data by prob'", "--methods")),
    (("compare", "both"), "COMPARE-003", ("1 run and 0 methods",)),
    (("compare", "both", "prob", "short", "--methods", "ppl,gen"), "COMPARE-003", ("3 runs and 2 methods",)),
    (("compare", "both", "both", "--metric", "acuracy"), "COMPARE-004", ("'acuracy'", "'accuracy'")),
    (("diff", "both", "other"), "COMPARE-005", ("'both' (3)", "'other' (2)")),
    (("diff", "both", "prob"), "COMPARE-006", ("both has 'ppl', 'gen'", "prob has 'prob'")),
    (("diff", "both", "both", "--methods", "gem"), "COMPARE-006", ("'gem'", "'gen'")),
    (("diff", "both", "short", "--sample", "row:3"), "COMPARE-007", ("'short'",)),
    (("compare", "both", "nowhere"), "STORE-005", ("'nowhere'",)),
]


@pytest.mark.parametrize(("command", "code", "message"), CASES)
def test_a_comparison_that_cannot_be(
    runs: Path, command: Sequence[str], code: str, message: Sequence[str]
) -> None:
    result = assay(*command)
    assert result.status == 2
    assert result.err.startswith(code)
    assert "fix:" in result.err
    for part in message:
        assert part in result.err
