"""A log of another program: import it, look at it, score it again, compare it, export it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay

QUESTIONS = [f"Which letter comes {n} places after a?" for n in range(20)]


@pytest.fixture
def theirs(workdir: Path) -> Path:
    """A work folder of OpenCompass with details."""
    folder = workdir / "outputs" / "20261118_100000"
    predictions, results = folder / "predictions" / "base", folder / "results" / "base"
    predictions.mkdir(parents=True)
    results.mkdir(parents=True)
    rows = {
        str(n): {
            "origin_prompt": [{"role": "HUMAN", "prompt": f"Q: {question}\nA:"}],
            "prediction": "The answer is A" if n % 2 else "The answer is B",
            "gold": "A",
        }
        for n, question in enumerate(QUESTIONS)
    }
    details = {
        "type": "GEN",
        **{
            str(n): {"predictions": "AB"[n % 2 == 0], "references": "A", "correct": bool(n % 2)}
            for n in range(20)
        },
    }
    (predictions / "letters.json").write_text(json.dumps(rows))
    (results / "letters.json").write_text(json.dumps({"accuracy": 50.0, "details": details}))
    return folder


@pytest.fixture
def ours(workdir: Path) -> Path:
    rows = "".join(f'"{question.upper()}",x,y,A\n' for question in reversed(QUESTIONS))
    (workdir / "ours.csv").write_text("question,A,B,answer\n" + rows)
    assert assay("run", "ours.csv", "-m", "mock", "--model-arg", "answer=A", "--out", "ours").status == 0
    return workdir / "ours"


def test_every_command_works_on_an_imported_run(theirs: Path, workdir: Path) -> None:
    result = assay("import", str(theirs), "--out", "runs/theirs")
    assert result.status == 0, result.err
    assert "50.0" in result.out
    assert "not in the log: " in result.out
    for command in (
        ("report", "runs/theirs"),
        ("report", "runs/theirs", "--markdown"),
        ("report", "runs/theirs", "--json"),
        ("ls",),
        ("leaderboard",),
        ("explain", "runs/theirs", "3"),
        ("compare", "runs/theirs", "runs/theirs"),
        ("diff", "runs/theirs", "runs/theirs"),
    ):
        result = assay(*command)
        assert result.status == 0, (command, result.err)
        assert "Traceback" not in result.err
    assert "not in the log" in assay("report", "runs/theirs", "--markdown").out
    assert "why it ended is not in the log" in assay("explain", "runs/theirs", "3").out
    scored = assay("score", "runs/theirs", "--metric", "accuracy")
    assert scored.status == 0, scored.err


def test_runs_of_two_programs_are_paired_by_the_question(theirs: Path, ours: Path) -> None:
    assert assay("import", str(theirs), "--out", "theirs").status == 0
    compared = assay("compare", "theirs", "ours")
    assert compared.status == 0, compared.err
    assert "B scores 50.0 points higher than A" in compared.out
    assert "20 of 20 samples paired by" in compared.out
    differing = assay("diff", "theirs", "ours")
    assert differing.status == 0, differing.err
    assert "of 20 samples in both runs, matched by the text of the question" in differing.out


def test_too_few_pairs_get_no_verdict(theirs: Path, workdir: Path) -> None:
    assert assay("import", str(theirs), "--out", "theirs").status == 0
    rows = "".join(f'"Where is town {n} of the land?",x,y,A\n' for n in range(20))
    (workdir / "other.csv").write_text("question,A,B,answer\n" + rows)
    assert assay("run", "other.csv", "-m", "mock", "--out", "other").status == 0
    for command in ("compare", "diff"):
        result = assay(command, "theirs", "other")
        assert result.status == 2
        assert "COMPARE-008" in result.err
        assert "fewer than 95 %" in result.err


def test_an_export_names_its_files_and_overwrites_nothing(ours: Path, workdir: Path) -> None:
    for name in ("csv", "lm-eval", "hf-eval-results"):
        result = assay("export", "ours", "--to", name, "--out", f"to-{name}")
        assert result.status == 0, result.err
        assert all((workdir / line).is_file() for line in result.out.split())
        again = assay("export", "ours", "--to", name, "--out", f"to-{name}")
        assert (again.status, "LOG-008" in again.err) == (2, True)
    assert "100.0 %" in (workdir / "to-hf-eval-results" / "model_card_results.md").read_text()


def test_only_complete_runs_are_exported(workdir: Path) -> None:
    (workdir / "few.csv").write_text("question,A,B,answer\n1+1=,1,2,B\n")
    assert assay("run", "few.csv", "-m", "mock", "--stage", "infer", "--out", "few").status == 0
    result = assay("export", "few", "--to", "csv")
    assert (result.status, "LOG-010" in result.err) == (2, True)


def test_an_imported_run_with_failures_does_not_suggest_to_repeat_them(workdir: Path) -> None:
    (workdir / "log.csv").write_text("id,value,verdict,error\n1,1,scored,\n2,,failed,server error\n")
    result = assay("import", "log.csv", "--out", "theirs")
    assert result.status == 0, result.err
    assert "failed rows, not part of the score: 1; the first: server error" in result.out
    shown = assay("report", "theirs")
    assert "--retry" not in result.out + result.err + shown.out + shown.err
