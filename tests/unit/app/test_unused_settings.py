"""Settings without an effect on a format: rejected, or noted if another dataset of the run uses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.app.datasets import compile_datasets
from assay.core.compilation import CompiledDataset
from assay.core.errors import UsageError
from assay.core.task import TaskSettings
from fakes.leap_tasks import CHOICE, questions
from fakes.transforms import GEN, PPL, choice_rows, write_dataset


@pytest.fixture
def task(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CHOICE, encoding="utf-8")
    (tmp_path / "rows.json").write_text(json.dumps({"validation": questions(3)}), encoding="utf-8")
    return str(tmp_path / "mine.py")


@pytest.fixture
def transform(tmp_path: Path) -> str:
    scripts = {"transform_gen_v0.py": GEN, "transform_ppl_v0.py": PPL}
    return str(write_dataset(tmp_path / "sets", choice_rows(3), scripts))


def compiled(*names: str, meta: str | None = None, **settings: Any) -> list[CompiledDataset]:
    return compile_datasets(names, TaskSettings(**settings), given={}, meta=meta, data_root=None, split=None)


def test_a_task_class_stays_one_when_a_transform_is_named(task: str, transform: str) -> None:
    with pytest.raises(UsageError, match="'dataset_args' has no effect on a Task class"):
        compiled(task, dataset_args={"transform": "v0"})
    both = compiled(task, transform, dataset_args={"transform": "v0"}, methods=("ppl",))
    assert [one.task.spec.dialect for one in both] == ["leap", "ultraeval"]


def test_what_one_of_two_languages_does_not_know_is_noted_there(task: str, transform: str) -> None:
    with pytest.raises(UsageError, match="'samples' has no effect"):
        compiled(task, samples=2)
    first, second = compiled(task, transform, samples=2, methods=("ppl",))
    assert first.notes == ("'samples' has no effect on a Task class",)
    assert not any("samples" in note for note in second.notes)


def test_a_meta_file_describes_tables_alone(task: str) -> None:
    with pytest.raises(UsageError, match="'meta' has no effect on a Task class"):
        compiled(task, meta="mine.meta.json")
