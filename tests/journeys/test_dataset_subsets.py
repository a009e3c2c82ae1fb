"""Dataset classes on the mock model, through the whole command line: kinds of datasets, choice of subsets."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli import assay

SUBJECTS = {
    "stem": ["algebra", "geometry", "physics"],
    "humanities": ["history", "law"],
    "other": ["misc"],
}

EXAM = f"""
from .multiple_choice_dataset import MultipleChoiceDataset

class Exam(MultipleChoiceDataset):
    instruction = "{{{{question}}}}{{{{'\\\\n' + options if options}}}}\\nAnswer:"
    evaluation_set = "test"
    example_set = "dev"
    load_args = ("org/exam",)
    categorized_subsets = {SUBJECTS!r}
    banned_subsets = ["all"]

    def format_instance(self, instance):
        return dict(question=instance["question"], options=["yes", "no"], target_idx=instance["answer"])

    @property
    def references(self):
        return [row["answer"] for row in self.evaluation_data]
"""


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def exam(workdir: Path) -> Path:
    """A dataset of six subsets in three categories, and one that is banned."""
    for number, subject in enumerate([*(name for names in SUBJECTS.values() for name in names), "all"]):
        for split in ("test", "dev"):
            rows = [{"question": f"{subject} {split} {n}?", "answer": n % 2} for n in range(4 + number)]
            write_rows(workdir / "data" / "org" / "exam" / subject / f"{split}.jsonl", rows)
    (workdir / "exam.py").write_text(EXAM, encoding="utf-8")
    return workdir


def summary(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return rows


@pytest.mark.parametrize(
    ("selection", "subsets"),
    [
        ("", {"algebra", "geometry", "physics", "history", "law", "misc"}),
        (":algebra,law", {"algebra", "law"}),
        (":[stem]", {"algebra", "geometry", "physics"}),
        (":[humanities],misc", {"history", "law", "misc"}),
        (":*o*", {"geometry", "history"}),
        (":!phys*,!law", {"algebra", "geometry", "history", "misc"}),
        (":[stem],!geometry", {"algebra", "physics"}),
    ],
)
def test_a_selection_decides_which_subsets_are_evaluated(
    exam: Path, selection: str, subsets: set[str]
) -> None:
    result = assay("run", f"exam.py{selection}", "-m", "mock", "--data-root", "data", "--out", "run")
    assert result.status == 0, result.err
    tasks = {str(row["task"]) for row in summary(exam / "run")}
    assert tasks - {"exam"} == {f"exam:{subset}" for subset in subsets}


def test_a_selection_that_means_nothing_is_rejected_with_what_there_is(exam: Path) -> None:
    result = assay("run", "exam.py:algebr", "-m", "mock", "--data-root", "data")
    assert (result.status, "did you mean 'algebra'?" in result.err) == (2, True)
    assert "LLMBOX-008" in assay("run", "exam.py:[arts]", "-m", "mock", "--data-root", "data").err


def test_subsets_are_also_reported_by_category_and_together(exam: Path) -> None:
    result = assay("run", "exam.py", "-m", "mock", "--data-root", "data", "--out", "run", "--shots", "2")
    assert result.status == 0, result.err
    metrics = {
        (row["task"], row["group"]): row
        for row in summary(exam / "run")
        if row["is_headline"] and row["method"] == "ppl"
    }
    value = {task: metrics[f"exam:{task}", None]["value"] for tasks in SUBJECTS.values() for task in tasks}
    # Each subset counts once, however many rows it has.
    assert metrics["exam", None]["value"] == pytest.approx(sum(value.values()) / 6)
    assert metrics["exam", "stem"]["value"] == pytest.approx(
        sum(value[name] for name in SUBJECTS["stem"]) / 3
    )
    assert metrics["exam", "humanities"]["n"] == 7 + 8
    report = (exam / "run" / "report.md").read_text(encoding="utf-8")
    for text in (result.out, report):
        for label in ("exam, mean of 6", r"exam:\[stem\], mean of 3", "exam:algebra"):
            assert re.search(rf"{label} +(\| )?ppl +(\| )?\d+/", text), label


def test_several_datasets_at_once_each_with_its_own_selection(exam: Path) -> None:
    (exam / "other.py").write_text(EXAM, encoding="utf-8")
    result = assay(
        *("run", "exam.py:law", "other.py:[humanities]", "test=exam.py:misc"),
        *("-m", "mock", "--data-root", "data", "--out", "run"),
    )
    assert result.status == 0, result.err
    tasks = {str(row["task"]) for row in summary(exam / "run")}
    assert tasks == {"exam:law", "other:history", "other:law", "other", "test:misc", "test"}


TEXTS = """
from .validation_perplexity_dataset import ValidationPerplexityDataset
from ..metric import PPL

class Texts(ValidationPerplexityDataset):
    evaluation_set = "test"
    load_args = ("texts",)
    metrics = [PPL()]

    def format_instance(self, instance):
        return dict(text=instance["text"], options=[instance["text"]])
"""


def test_a_dataset_of_texts_is_measured_by_surprise_per_token(workdir: Path) -> None:
    write_rows(
        workdir / "data" / "texts" / "test.jsonl", [{"text": f"Once upon {n} times"} for n in range(3)]
    )
    (workdir / "texts.py").write_text(TEXTS, encoding="utf-8")
    result = assay("run", "texts.py", "-m", "mock", "--data-root", "data", "--out", "run")
    assert result.status == 0, result.err
    (row,) = [row for row in summary(workdir / "run") if row["metric"] == "PPL"]
    journal = (workdir / "run" / "responses.jsonl").read_text(encoding="utf-8")
    responses = [json.loads(line) for line in journal.splitlines()]
    each = [-one["outcome"]["sum_logprob"] / one["outcome"]["n_tokens"] for one in responses]
    assert row["value"] == pytest.approx(sum(each) / 3)


LAST_WORD = """
from .generation_dataset import GenerationDataset
from ..metric import WordAccuracy

class LastWord(GenerationDataset):
    instruction = "{source}"
    evaluation_set = "test"
    load_args = ("words",)
    metrics = [WordAccuracy()]

    def format_instance(self, instance):
        source, target = instance["text"].rsplit(" ", 1)
        return dict(source=source, target=target)

    @property
    def references(self):
        return [" " + row["text"].rsplit(" ", 1)[1] for row in self.evaluation_data]
"""


def test_the_last_word_is_compared_in_the_models_own_tokens(workdir: Path) -> None:
    texts = ["I went straight home", "I went straight away"]
    write_rows(workdir / "data" / "words" / "test.jsonl", [{"text": text} for text in texts])
    (workdir / "last.py").write_text(LAST_WORD, encoding="utf-8")
    result = assay(
        *("run", "last.py", "-m", "mock", "--model-arg", "answer= home again"),
        *("--data-root", "data", "--out", "run"),
    )
    assert result.status == 0, result.err
    values = [row["value"] for row in summary(workdir / "run") if row["is_headline"]]
    assert values == [0.5]
