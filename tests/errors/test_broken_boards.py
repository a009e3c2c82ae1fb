"""Invalid leaderboards: one clear error each; a bad run does not affect others."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import Result, assay


@pytest.fixture
def evaluated(workdir: Path) -> Path:
    (workdir / "fine.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n", encoding="utf-8")
    for model in ("mock:one", "mock:two"):
        assert assay("run", "fine.csv", "-m", model).status == 0
    return workdir


def test_a_damaged_run_is_reported_and_the_others_are_shown(evaluated: Path) -> None:
    (damaged,) = (evaluated / "runs").glob("*two*")
    (damaged / "scores.jsonl").write_text('{"task": 7}\n')
    (damaged / "summary.json").touch()
    result: Result = assay("leaderboard")
    assert result.status == 0
    assert "BOARD-001" in result.err
    assert damaged.name in result.err
    assert "mock:one" in result.out
    assert "mock:two" not in result.out


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (("--metric", "fine=f1"), "BOARD-003", "its metrics are 'accuracy'"),
        (("--metric", "fin=accuracy"), "BOARD-003", "did you mean 'fine'?"),
        (("--metric", "fine"), "USAGE-005", "expected key=value"),
        (("--abilities", "none.toml"), "BOARD-004", "cannot be read"),
        (("nowhere",), "BOARD-005", "nowhere"),
        (("--database", "mysql://eve:hunter2@db/x"), "STORE-020", "postgresql://"),
    ],
)
def test_what_was_asked_wrongly_is_rejected(
    evaluated: Path, flags: tuple[str, ...], code: str, message: str
) -> None:
    result = assay("leaderboard", *flags)
    assert result.status == 2
    assert code in result.err
    assert message in result.err
    assert "hunter2" not in result.err
    assert "Traceback" not in result.err
