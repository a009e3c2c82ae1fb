from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.team.folders import find_datasets, require_allowed
from assay.app.team.settings import TeamSettings
from assay.core.errors import AuthorError

ROOT = Path(__file__).parents[4]
LEAP = ROOT / "examples" / "leap"
_CSV = "question,A,B,answer\n1+1=,1,2,B\n"
_DEADLY = "raise SystemExit('this must not be run')\n"


def test_tables_are_found_and_python_beside_them_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "sums.csv").write_text(_CSV)
    (tmp_path / "deep" / "more.jsonl").write_text("{}\n")
    (tmp_path / "dataset.py").write_text(_DEADLY)
    for task in LEAP.glob("*.py"):
        (tmp_path / f"task_{task.name}").write_text(_DEADLY + task.read_text())
    reported = find_datasets(TeamSettings(datasets=(str(tmp_path),)))
    assert [(one.name, one.dialect) for one in reported.datasets] == [("more", "table"), ("sums", "table")]
    assert reported.problems == ()


def test_uploads_and_runs_in_such_a_folder_are_not_found_again(tmp_path: Path) -> None:
    for name in ("sums.csv", "team/uploads/mine/mine.csv", "kept/run/answers.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(_CSV)
    settings = TeamSettings(
        str(tmp_path / "team"), runs_dir=str(tmp_path / "kept"), datasets=(str(tmp_path),)
    )
    assert [one.name for one in find_datasets(settings).datasets] == ["sums"]


def test_a_registry_is_read_where_python_is_allowed() -> None:
    reported = {one.name: one for one in find_datasets(TeamSettings(allow_python=(str(LEAP),))).datasets}
    assert reported["klue_ynat"].metrics == ("acc", "macro_f1")
    assert reported["klue_ynat"].headline == "macro_f1"
    assert reported["klue_ynat"].explanation == "뉴스 기사의 주제를 분류하는 능력 평가"


def test_the_registry_of_a_whole_checkout_is_read(tmp_path: Path) -> None:
    """As its document has it: tasks in evaluation/task, and what is said of them in api/config/dataset.py."""
    tasks, config = tmp_path / "evaluation" / "task", tmp_path / "api" / "config"
    tasks.mkdir(parents=True)
    config.mkdir(parents=True)
    for task in LEAP.glob("*.py"):
        (config if task.name == "dataset.py" else tasks).joinpath(task.name).write_bytes(task.read_bytes())
    reported = {one.name: one for one in find_datasets(TeamSettings(allow_python=(str(tmp_path),))).datasets}
    assert reported["klue_sts"].metrics == ("acc", "f1")
    assert reported["klue_sts"].headline == "acc"


def test_two_of_one_name_are_distinguished_by_their_paths(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sums.csv").write_text(_CSV)
    (tmp_path / "alone.csv").write_text(_CSV)
    reported = find_datasets(TeamSettings(datasets=(str(tmp_path),)))
    top = tmp_path.name
    assert {one.name for one in reported.datasets} == {"alone", f"{top}.a.sums.csv", f"{top}.b.sums.csv"}


def test_a_folder_whose_code_fails_is_reported_and_the_others_are_found(tmp_path: Path) -> None:
    broken, fine = tmp_path / "broken", tmp_path / "fine"
    broken.mkdir()
    fine.mkdir()
    (fine / "sums.csv").write_text(_CSV)
    (broken / "task.py").write_text("from .base import Task\nclass X(Task):\n    pass\n1 / 0\n")
    (broken / "dataset.py").write_text("def get_eval_datasets():\n    return {'x': {}}\n")
    reported = find_datasets(TeamSettings(datasets=(str(fine),), allow_python=(str(broken),)))
    assert [one.name for one in reported.datasets] == ["sums"]
    assert [problem.code[:4] for problem in reported.problems] == ["LEAP"]


def test_python_runs_only_in_folders_that_allow_it(tmp_path: Path) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "xquad.py").write_bytes((LEAP / "xquad.py").read_bytes())
        (folder / "sums.csv").write_text(_CSV)
    require_allowed([str(allowed / "xquad.py"), f"{allowed}:xquad", str(other / "sums.csv")], [str(allowed)])
    (allowed / "link.py").symlink_to(other / "xquad.py")
    for place in (
        str(other / "xquad.py"),
        f"{other}:xquad",
        f"{other / 'xquad.py'}::XQuAD",
        str(allowed / "link.py"),
    ):
        with pytest.raises(AuthorError) as caught:
            require_allowed([place], [str(allowed)])
        assert caught.value.problems[0].code == "TEAM-045"
        assert str(tmp_path) not in str(caught.value)


def test_benchmarks_are_registered_by_name_and_run_only_if_the_owner_named_them() -> None:
    named = ("opencompass:mmlu_ppl", "lm_eval:hellaswag")
    found = find_datasets(TeamSettings(allow_python=named))
    assert [(one.name, one.place, one.dialect) for one in found.datasets] == [
        ("mmlu_ppl", "opencompass:mmlu_ppl", "openicl"),
        ("hellaswag", "lm_eval:hellaswag", "lm_eval"),
    ]
    require_allowed(named, named)
    with pytest.raises(AuthorError) as caught:
        require_allowed(("opencompass:mmlu_gen",), named)
    assert caught.value.problems[0].code == "TEAM-045"
