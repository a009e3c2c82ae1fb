"""Recognition of files with Task classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.dialects import detect_dialect
from assay.dialects.leap.detect import TaskName, find_task_folder, is_task, is_task_file, task_files
from fakes.leap_tasks import CHOICE

TASKS = {
    "relative": "from .base import rf, Task\nclass A(Task): pass",
    "absolute": "from evaluation.task.base import Task\nclass A(Task): pass",
    "shorter": "from task.base import Task\nclass A(Task): pass",
    "classic": "from lm_eval.base import MultipleChoiceTask\nclass A(MultipleChoiceTask): pass",
    "without_import": "class A(Task):\n    def doc_to_text(self, doc): return ''",
    "own_base": "class A(Mine):\n    def construct_requests(self, doc, ctx): return None",
    "no_class_yet": "from .base import Task, rf",
    "syntax": "from .base import Task\nclass A(Task):\n    def x(self:\n",
}
OTHERS = {
    "nothing": "x = 1",
    "other_task": "class A(Task):\n    def run(self): return 1",
    "other_base": "from .base import Model\nclass A(Model): pass",
    "llmbox": "from .generation_dataset import GenerationDataset\nclass A(GenerationDataset): pass",
    "transform": "def transform(data, num_sample, r, dataset_name): return {}",
    "syntax": "class A(:\n",
}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(TASKS[name], encoding="utf-8")
    assert is_task_file(path)
    assert detect_dialect(str(path), None, {}) == "leap"
    assert detect_dialect(f"{path}::A", None, {}) == "leap"


@pytest.mark.parametrize("name", OTHERS)
def test_no_task_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(OTHERS[name], encoding="utf-8")
    assert not is_task_file(path)
    assert detect_dialect(str(path), None, {}) != "leap"


def test_a_class_that_extends_one_of_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "klue.py").write_text(CHOICE, encoding="utf-8")
    path = tmp_path / "mine.py"
    path.write_text("from .klue import Choice\nclass Mine(Choice):\n    VERSION = 2\n", encoding="utf-8")
    assert detect_dialect(str(path), None, {}) == "leap"
    path.write_text("from .other import Choice\nclass Mine(Choice):\n    VERSION = 2\n", encoding="utf-8")
    assert not is_task_file(path)


def test_files_of_the_original_itself_are_no_tasks(tmp_path: Path) -> None:
    for name in ("__init__", "base", "metrics", "template", "utils", "klue"):
        (tmp_path / f"{name}.py").write_text(CHOICE, encoding="utf-8")
    assert [path.stem for path in task_files(tmp_path)] == ["klue"]


@pytest.mark.parametrize("inside", [".", "evaluation/task", "lm_eval/tasks"])
def test_a_folder_of_tasks_or_a_whole_checkout(tmp_path: Path, inside: str) -> None:
    folder = tmp_path / inside
    folder.mkdir(parents=True, exist_ok=True)
    assert find_task_folder(tmp_path) is None
    assert not is_task(str(tmp_path))
    (folder / "klue.py").write_text(CHOICE, encoding="utf-8")
    assert find_task_folder(tmp_path) == folder
    assert detect_dialect(str(tmp_path), None, {}) == "leap"
    assert detect_dialect(f"{tmp_path}:klue_ynat,kobest_*", None, {}) == "leap"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a/klue.py", ("a/klue.py", None, "")),
        ("a/klue.py::YNAT", ("a/klue.py", "YNAT", "")),
        ("a/klue.py:klue_ynat", ("a/klue.py", None, "klue_ynat")),
        ("tasks", ("tasks", None, "")),
        ("tasks:a,b_*", ("tasks", None, "a,b_*")),
        ("tasks:org/name", ("tasks", None, "org/name")),
        ("nowhere:a", ("nowhere:a", None, "")),
    ],
)
def test_names(workdir: Path, text: str, parts: tuple[str, str | None, str]) -> None:
    (workdir / "tasks").mkdir()
    named = TaskName.of(text)
    assert (str(named.path), named.class_name, named.selection) == parts
