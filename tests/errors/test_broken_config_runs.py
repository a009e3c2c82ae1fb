"""Commands about invalid configs report every error and load nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli import assay

BROKEN = Path(__file__).parent / "broken" / "config_runs"


@pytest.fixture(autouse=True)
def files(workdir: Path) -> None:
    for path in BROKEN.iterdir():
        shutil.copy(path, workdir)


CASES = [
    (
        ("as", "aisbench", "--models", "models.py", "--datasets", "groups.py"),
        "OPENICL-040",
        ("did you mean 'host_port'", "retry is 'twice'", "models[1]", "lmdeploy serve"),
    ),
    (
        ("as", "opencompass", "groups.py", "--models", "mock"),
        "OPENICL-041",
        ("did you mean 'quiz'", "is not arithmetic in x", "other Python is not run"),
    ),
    (
        ("as", "aisbench", "--models", "mock", "--datasets", "quizz"),
        "USAGE-009",
        ("no dataset config 'quizz'", "--openicl-root"),
    ),
    (
        ("run", "llmbox:mmlu", "-m", "mock"),
        "USAGE-011",
        ("a benchmark of LLMBox, which is not on this machine", "--benchmarks-from DIR"),
    ),
    (
        ("run", "quiz.csv", "-m", "mock", "--stage", "score"),
        "STORE-007",
        ("no run of 'mock'", "--stage infer"),
    ),
]


@pytest.mark.parametrize(("arguments", "code", "parts"), CASES, ids=[code for _, code, _ in CASES])
def test_mistakes_are_reported(
    workdir: Path, arguments: tuple[str, ...], code: str, parts: tuple[str, ...]
) -> None:
    result = assay(*arguments)
    assert result.status == 2
    assert code in result.err
    assert [part for part in parts if part not in result.err] == []
    assert not (workdir / "outputs").exists()
    assert not (workdir / "runs").exists()
