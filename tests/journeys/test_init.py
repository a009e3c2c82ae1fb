"""`assay init`: the questions on a terminal, what is written, and what happens without one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cli import assay
from fakes.terminal import Shown, interrupted, on_terminal

PLAIN = {"TERM": "xterm", "NO_COLOR": "1", "COLORTERM": ""}
REVIEWS = '{"text": "what a joy", "label": 1}\n{"text": "what a bore", "label": 0}\n' * 3
CLEAR = "question,option_a,option_b,correct\nThe capital of France?,Paris,Rome,A\nOf Italy?,Paris,Rome,B\n"
BARE = "Which planet is the largest?,Mars,Jupiter,B\nWhich planet is closest to the sun?,Venus,Mercury,B\n"


def answered(file: str, *answers: str, asked: str) -> Shown:
    """Run `assay init` on a terminal; type all answers once the first question is there."""
    return on_terminal(
        [sys.executable, "-m", "assay", "init", file],
        columns=100,
        environment=PLAIN,
        when=lambda screen: asked in screen,
        then=lambda process, terminal: _type(terminal, answers),
    )


def _type(terminal: int, answers: tuple[str, ...]) -> None:
    os.write(terminal, "".join(f"{answer}\n" for answer in answers).encode())


def meta(file: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(f"{file}.meta.json").read_text(encoding="utf-8"))
    return found


def test_a_question_is_asked_and_its_answer_shown_and_kept(workdir: Path) -> None:
    Path("reviews.jsonl").write_text(REVIEWS)
    shown = answered("reviews.jsonl", "1", "bad", "good", "yes", asked="Which one")
    assert shown.status == 0, shown.left
    assert "but their meaning is unknown" in shown.left
    assert "A. bad" in shown.left
    assert "right     B. good" in shown.left
    assert meta("reviews.jsonl")["label_names"] == {"0": "bad", "1": "good"}
    result = assay("run", "reviews.jsonl", "-m", "mock", "--model-arg", "answer=B")
    assert result.status == 0, result.err
    assert " 50.0 " in result.out


def test_questions_about_the_file_come_before_those_about_its_columns(workdir: Path) -> None:
    Path("bare.csv").write_text(BARE)
    shown = answered("bare.csv", "1", "yes", asked="Which one")
    assert shown.status == 0, shown.left
    assert "the first row is data" in shown.left
    assert meta("bare.csv")["columns"] == ["question", "A", "B", "answer"]
    result = assay("run", "bare.csv", "-m", "mock", "--model-arg", "answer=B")
    assert "2 rows" in result.out
    assert " 100.0 " in result.out


def test_what_was_inferred_can_be_changed_and_a_wrong_change_is_undone(workdir: Path) -> None:
    Path("quiz.csv").write_text(CLEAR)
    shown = answered(
        "quiz.csv", "change", "1", "no_such_column", "change", "8", "option_b", "y", asked="Is this"
    )
    assert shown.status == 0, shown.left
    assert "no_such_column" in shown.left
    assert meta("quiz.csv") == {
        "input_columns": ["question"],
        "output_column": "correct",
        "options": ["option_a", "option_b"],
        "category_column": "option_b",
    }


def test_none_of_the_readings_may_be_right(workdir: Path) -> None:
    Path("reviews.jsonl").write_text(REVIEWS)
    shown = answered("reviews.jsonl", "3", "7", "no,yes", "yes", asked="Which one")
    assert shown.status == 0, shown.left
    assert meta("reviews.jsonl")["label_names"] == ["no", "yes"]


def test_nothing_is_written_unless_it_is_accepted(workdir: Path) -> None:
    Path("quiz.csv").write_text(CLEAR)
    shown = answered("quiz.csv", "quit", asked="Is this right")
    assert (shown.status, "nothing was written" in shown.left) == (1, True)
    assert not Path("quiz.csv.meta.json").exists()
    stopped = on_terminal(
        [sys.executable, "-m", "assay", "init", "quiz.csv"],
        columns=100,
        environment=PLAIN,
        when=lambda screen: "Is this right" in screen,
        then=interrupted,
        repeats=True,
    )
    assert stopped.status == 130
    assert not Path("quiz.csv.meta.json").exists()


def test_a_meta_file_is_overwritten_only_on_request(workdir: Path) -> None:
    Path("quiz.csv").write_text(CLEAR)
    Path("quiz.csv.meta.json").write_text('{"abbr": "mine"}')
    shown = answered("quiz.csv", "yes", "n", asked="Is this right")
    assert (shown.status, meta("quiz.csv")) == (1, {"abbr": "mine"})
    shown = answered("quiz.csv", "yes", "y", asked="Is this right")
    assert shown.status == 0
    assert meta("quiz.csv")["abbr"] == "mine"
    assert meta("quiz.csv")["output_column"] == "correct"


def test_without_a_terminal_the_question_is_printed_as_commands(workdir: Path) -> None:
    Path("reviews.jsonl").write_text(REVIEWS)
    for more in ((), ("--yes",)):
        result = assay("init", "reviews.jsonl", *more)
        assert result.status == 2
        assert "TABLE-018" in result.err
        assert "--label-names" in result.err
    assert not Path("reviews.jsonl.meta.json").exists()
    flags = ("--input-columns", "text", "--answer-column", "label", "--label-names", "0=bad,1=good")
    assert assay("init", "reviews.jsonl", "--yes", *flags).status == 0
    assert meta("reviews.jsonl")["label_names"] == {"0": "bad", "1": "good"}


def test_without_a_terminal_a_certain_reading_is_accepted_by_a_flag(workdir: Path) -> None:
    Path("quiz.csv").write_text(CLEAR)
    result = assay("init", "quiz.csv")
    assert (result.status, "USAGE-022" in result.err, "--yes" in result.err) == (2, True, True)
    result = assay("init", "quiz.csv", "--yes")
    assert result.status == 0
    assert "right     A. Paris" in result.out
    assert "wrote  quiz.csv.meta.json" in result.out
    result = assay("init", "quiz.csv", "--yes")
    assert (result.status, "--force" in result.err) == (2, True)
    assert assay("init", "quiz.csv", "--yes", "--force").status == 0
    answer = json.loads(assay("init", "quiz.csv", "--yes", "--force", "--json").out)
    assert (answer["kind"], answer["meta_file"]) == ("init", "quiz.csv.meta.json")
    assert answer["meta"] == meta("quiz.csv")


@pytest.mark.parametrize("name", ["raising.py", "no_such_file.csv"])
def test_what_is_no_table_is_rejected(workdir: Path, name: str) -> None:
    Path("raising.py").write_text("datasets = []\n")
    result = assay("init", name, "--yes")
    assert result.status == 2
    assert "USAGE-022" in result.err or "SOURCE-001" in result.err


def test_a_benchmark_needs_no_description(workdir: Path) -> None:
    result = assay("init", "lm_eval:gsm8k", "--yes")
    assert (result.status, "USAGE-022" in result.err) == (2, True)
    assert "assay run lm_eval:gsm8k" in result.err
