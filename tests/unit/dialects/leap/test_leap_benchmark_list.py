from __future__ import annotations

import shutil
from pathlib import Path

from assay.core.method import Method
from assay.dialects.leap.benchmark_list import list_tasks

LEAP = Path(__file__).parents[4] / "examples" / "leap"


def test_tasks_are_named_and_described_as_in_the_registry_without_running_it(tmp_path: Path) -> None:
    for file in LEAP.glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text() + "\nraise SystemExit('this must not be run')\n")
    tasks = {one.name: one for one in list_tasks(tmp_path)}
    assert set(tasks) == {"klue_ynat", "klue_sts", "korsts", "kornli", "xquad"}
    assert tasks["klue_ynat"].about == "뉴스 기사의 주제를 분류하는 능력 평가"
    assert tasks["klue_ynat"].target == f"{tmp_path}:klue_ynat"
    assert (tasks["kornli"].methods, tasks["xquad"].methods) == ((Method.PPL,), (Method.GEN,))


def test_a_task_registry_names_the_classes(tmp_path: Path) -> None:
    shutil.copy(LEAP / "kornlu.py", tmp_path)
    classes = [one.name for one in list_tasks(tmp_path)]
    assert classes == ["kornlu_korsts", "kornlu_kornli"]
    (tmp_path / "__init__.py").write_text('from . import kornlu\n\nTASK_REGISTRY = {"sts": kornlu.KorSTS}\n')
    assert [one.name for one in list_tasks(tmp_path)] == ["sts"]
