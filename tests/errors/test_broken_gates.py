"""Gates that cannot decide: one clear error each, exit status 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli import assay

DATA = "question,A,B,answer\nIs 2 even?,yes,no,A\nIs 3 even?,yes,no,B\nIs 4 even?,yes,no,A\n"
LOG = "task,id,question,metric,value\nother,1,Is 2 even?,accuracy,1\nother,2,Is 3 even?,accuracy,0\n"


@pytest.fixture
def runs(workdir: Path) -> Path:
    (workdir / "data.csv").write_text(DATA, encoding="utf-8")
    (workdir / "log.csv").write_text(LOG, encoding="utf-8")
    (workdir / "other.csv").write_text(DATA.replace("even", "odd"), encoding="utf-8")
    assert assay("run", "data.csv", "-m", "mock", "--out", "base").status == 0
    assert assay("run", "data.csv", "-m", "mock", "--out", "infer", "--stage", "infer").status == 0
    assert assay("import", "log.csv", "--out", "imported").status == 0
    assert assay("baseline", "base", "-o", "main.json").status == 0
    text = (workdir / "main.json").read_text(encoding="utf-8")
    (workdir / "old.json").write_text(text.replace('"assay": "', '"assay": "9.'), encoding="utf-8")
    (workdir / "half.json").write_text(text[: len(text) // 2], encoding="utf-8")
    return workdir


CASES: list[tuple[Sequence[str], str, Sequence[str]]] = [
    (("compare", "base", "base", "--fail-if", "worse:x"), "GATE-001", ("'worse:x'", "worse:POINTS")),
    (
        ("gate", "data.csv", "-m", "mock", "--baseline", "no.json"),
        "GATE-002",
        ("No such file", "assay baseline"),
    ),
    (("gate", "data.csv", "-m", "mock", "--baseline", "half.json"), "GATE-002", ("damaged",)),
    (("compare", "half.json", "base"), "GATE-002", ("damaged",)),
    (("baseline", "imported", "-o", "x.json"), "GATE-003", ("imported",)),
    (("baseline", "infer", "-o", "x.json"), "GATE-003", ("answered",)),
    (("compare", "main.json", "imported"), "GATE-003", ("another program",)),
    (("compare", "base", "main.json"), "GATE-003", ("not the first",)),
    (("compare", "main.json", "base", "--html", "x.html"), "GATE-003", ("--html",)),
    (("compare", "base", "infer", "--fail-if", "worse"), "GATE-004", ("'infer' is not complete", "answered")),
    (("compare", "base", "base", "--fail-if", "worse", "--metric", "no"), "COMPARE-004", ("'no'",)),
    (
        ("gate", "other.csv", "-m", "mock", "--baseline", "main.json"),
        "GATE-005",
        ("3 rows edited", "--accept data"),
    ),
    (("compare", "old.json", "base"), "GATE-007", ("9.", "--accept version")),
    (("baseline", "nowhere", "-o", "x.json"), "STORE-005", ("'nowhere'",)),
    (("baseline", "base", "-o", "data.csv/x.json"), "STORE-011", ("-o FILE",)),
]


@pytest.mark.parametrize(("command", "code", "message"), CASES)
def test_a_gate_that_cannot_decide(
    runs: Path, command: Sequence[str], code: str, message: Sequence[str]
) -> None:
    result = assay(*command)
    assert result.status == 2
    assert code in result.err
    assert "fix:" in result.err
    for part in message:
        assert part in result.err
    assert not (runs / "x.json").exists()


def test_settings_of_the_baseline(runs: Path) -> None:
    result = assay("gate", "data.csv", "-m", "mock", "--shots", "1", "--baseline", "main.json")
    assert result.status == 2
    assert "GATE-006 main.json" in result.err
    assert "shots was 0, now 1" in result.err


def test_rows_that_share_nothing_are_no_success(runs: Path) -> None:
    accepted = ("--accept", "data", "--accept", "settings")
    result = assay("gate", "other.csv", "-m", "mock", "--baseline", "main.json", *accepted)
    assert result.status == 2
    assert "GATE-004" in result.err
