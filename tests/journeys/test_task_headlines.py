"""Headlines of registered tasks, and tasks with missing data or columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.leap_registry import write_registry, write_task

pytest.importorskip("datasets")
RUN = ("--task-dir", "task", "-m", "mock", "--no-cache", "--out", "run")


@pytest.fixture
def folder(workdir: Path) -> Path:
    (workdir / "task").mkdir()
    return workdir / "task"


def summary(folder: str = "run") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return found


def test_a_headline_without_a_value_for_one_document_stays_the_headline(
    folder: Path, recwarn: pytest.WarningsRecorder
) -> None:
    write_task(folder, "sts", "Sts")
    write_registry(folder, {"sts": ("sts.Sts", "pearson")})
    result = assay("run", "task", *RUN)
    assert result.status == 0
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]
    rows = [line for line in result.out.splitlines() if line.startswith("sts ")]
    assert [row.split()[2] for row in rows[-3:]] == ["pearson", "acc", "acc_norm"]
    assert [(one["metric"], one["is_headline"]) for one in summary()] == [
        ("pearson", True),
        ("acc", False),
        ("acc_norm", False),
    ]
    scores = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    assert {score["metric"] for score in scores} == {"pearson"}
    assert all(set(score["also"]) == {"acc", "acc_norm"} for score in scores)
    listed = json.loads(assay("ls", "--runs-dir", ".", "--json").out)["runs"]
    assert [one["metric"] for one in listed[0]["metrics"]] == ["pearson"]


def test_a_family_is_the_mean_of_its_tasks_headlines(folder: Path) -> None:
    write_task(folder, "kobest", "BoolQ")
    write_task(folder, "kobest", "HellaSwag", continuations=(" no", " yes, that is how it is"))
    write_registry(folder, {"boolq": ("kobest.BoolQ", "acc"), "hellaswag": ("kobest.HellaSwag", "acc_norm")})
    result = assay("run", "task", *RUN)
    assert result.status == 0
    heads = {one["task"]: one for one in summary() if one["is_headline"]}
    expected = (heads["boolq"]["value"] + heads["hellaswag"]["value"]) / 2
    assert heads["kobest"]["metric"] == "headline_macro"
    assert heads["kobest"]["value"] == pytest.approx(expected)
    assert not [one for one in summary() if one["task"] == "kobest" and one["metric"].startswith("acc")]
    assert "BoolQ; HellaSwag" in result.out
    assert "acc; acc_norm" in result.out


def test_the_header_of_a_family_shows_the_examples_of_each_subset(folder: Path) -> None:
    write_task(folder, "pair", "First")
    write_task(folder, "pair", "Second")
    module = folder / "pair.py"
    first, second = module.read_text().split("class Second")
    shown = "    def n_shot(self):\n        return 2\n\n    def has_training_docs"
    module.write_text(f"{first}class Second{second.replace('    def has_training_docs', shown, 1)}")
    write_registry(folder, {"first": ("pair.First", "acc"), "second": ("pair.Second", "acc")})
    lines = assay("run", "task", *RUN).out.splitlines()
    assert [line.split(None, 1)[1] for line in lines if line.startswith("  shots ")] == ["none; 2"]


def test_a_task_without_data_does_not_stop_the_others(folder: Path) -> None:
    write_task(folder, "one", "One")
    write_task(folder, "other", "Other", file="absent.json")
    write_registry(folder, {"one": ("one.One", "acc"), "other": ("other.Other", "acc")})
    result = assay("run", "task", *RUN)
    assert result.status == 0
    assert "other is omitted because its data is missing: LEAP-007" in result.out
    assert {one["task"] for one in summary()} == {"one"}
    alone = assay("run", "task:other", *RUN[:-1], "alone")
    assert (alone.status, "LEAP-007" in alone.err) == (2, True)


READS = 'return self.dataset["validation"]'


@pytest.mark.parametrize(
    ("edits", "code", "parts"),
    [
        (
            {READS: 'return [{"q": one["question"]} for one in self.dataset["validation"]]'},
            "LEAP-003",
            ("line 31", "the missing key 'question'", "the row has 'q', 'gold'"),
        ),
        ({READS: 'return self.dataset["validaton"]'}, "LEAP-005", ("the split 'validaton'",)),
        (
            {'DATASET_TYPE = "json"': 'DATASET_TYPE = "jsno"'},
            "LEAP-007",
            ("DATASET_TYPE is 'jsno' (did you mean 'json'?)",),
        ),
        (
            {"from .base import": "from leap.evaluation.base import"},
            "LEAP-001",
            ("leap.evaluation.base", "fix: correct the import"),
        ),
    ],
)
def test_mistakes_are_named_for_what_they_are(
    folder: Path, edits: dict[str, str], code: str, parts: tuple[str, ...]
) -> None:
    write_task(folder, "wrong", "Wrong", edits=edits)
    result = assay("run", "task/wrong.py", *RUN)
    assert result.status == 2
    for part in (code, *parts):
        assert part in result.err
    assert "pip install leap" not in result.err


def test_the_original_may_be_imported_by_its_full_name(folder: Path) -> None:
    edits = {
        "from .base": "from leap.evaluation.task.base",
        "from .metrics": "from leap.evaluation.task.metrics",
    }
    write_task(folder, "full", "Full", edits=edits)
    assert assay("run", "task/full.py", *RUN).status == 0
