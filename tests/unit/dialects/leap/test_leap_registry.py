"""Which tasks a name means, and what a registry says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.app.check_files import expand_datasets
from assay.app.dialects import list_registered_datasets
from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, UsageError
from assay.core.method import Method
from assay.core.task import TaskSettings
from assay.dialects.leap.compile import compile_tasks
from assay.dialects.leap.task import LeapTask
from fakes.leap_tasks import CHOICE, HEAD, compile_text, questions, tools

BODY = CHOICE.partition("class Choice(Base):")[2]
KLUE = f"{HEAD}\nclass STS(Base):{BODY}\nclass YNAT(Base):{BODY}"
KORQUAD = f"""{HEAD}
class KorQuad(Base):
    DATASET_NAME = ""{BODY}

class KorQuadFewShot(KorQuad):
    VERSION = 2
"""
MADE = f"""{HEAD}
class KMMLU(Base):
    DATASET_PATH = "bm_ko-MMLU"{BODY}

for name in ("Math", "KoreanHistory", "RealEstate"):
    globals()[name] = type(name, (KMMLU,), {{"DATASET_NAME": name}})
"""
INIT = """
from . import klue
from .single import Choice
from .base import Task
TASK_REGISTRY = {"klue_sts": klue.STS, "org/ynat": klue.YNAT, "only": Choice}
"""
REGISTRY = """
import os
from .path import NOWHERE

EVAL_DATASET_METRIC = {"klue_sts": "acc", "single": "acc"}

def get_eval_datasets():
    return {
        "klue_sts": {"explain": "두 문장의 의미", "metrics": ["acc, f1"]},
        "single": {"explain": "하나", "metrics": ["acc"]},
    }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "evaluation" / "task"
    made.mkdir(parents=True)
    for name, text in (("klue", KLUE), ("single", CHOICE)):
        (made / f"{name}.py").write_text(text, encoding="utf-8")
    (made / "rows.json").write_text(json.dumps({"validation": questions(2)}), encoding="utf-8")
    (made / "base.py").write_text("raise RuntimeError('the original itself is not run')", encoding="utf-8")
    (made / "notes.py").write_text("raise RuntimeError('no task')", encoding="utf-8")
    return made


def registry(root: Path, text: str = REGISTRY) -> None:
    place = root / "api" / "config"
    place.mkdir(parents=True)
    (place / "dataset.py").write_text(text, encoding="utf-8")
    (place / "path.py").write_text("NOWHERE = '/nowhere'", encoding="utf-8")


def compiled(name: Path | str) -> list[Compilation[LeapTask]]:
    return compile_tasks(str(name), TaskSettings(), tools(Path(str(name).partition(":")[0]).parent / "cache"))


def names(name: Path | str) -> list[str]:
    return [one.task.spec.name for one in compiled(name)]


def test_without_a_registry_tasks_are_named_after_file_and_class(folder: Path) -> None:
    assert names(folder) == ["klue_sts", "klue_ynat", "single"]
    assert names(f"{folder}:klue_*") == ["klue_sts", "klue_ynat"]
    assert names(f"{folder}:*,!single") == ["klue_sts", "klue_ynat"]
    assert names(folder / "klue.py") == ["klue_sts", "klue_ynat"]
    assert names(f"{folder / 'klue.py'}::YNAT") == ["klue_ynat"]
    assert names(f"{folder / 'klue.py'}:klue_sts") == ["klue_sts"]
    assert names(folder.parents[1]) == ["klue_sts", "klue_ynat", "single"]


def test_tasks_of_one_file_are_reported_together(folder: Path) -> None:
    assert [one.task.spec.family for one in compiled(folder)] == ["klue", "klue", None]
    assert [one.task.spec.family for one in compiled(f"{folder}:klue_sts,single")] == [None, None]


def test_a_family_is_never_called_as_one_of_its_tasks(tmp_path: Path) -> None:
    entries = 'EVAL_DATASET_METRIC = {"korquad": "acc", "korquad_fewshot": "acc"}'
    (tmp_path / "korquad.py").write_text(KORQUAD + entries, encoding="utf-8")
    (tmp_path / "__init__.py").write_text(
        "from .korquad import *\nTASK_REGISTRY = {'korquad': KorQuad, 'korquad_fewshot': KorQuadFewShot}",
        encoding="utf-8",
    )
    (tmp_path / "rows.json").write_text(json.dumps({"validation": questions(2)}), encoding="utf-8")
    every = compiled(tmp_path)
    assert [(one.task.spec.name, one.task.spec.family) for one in every] == [
        ("korquad", None),
        ("korquad_fewshot", None),
    ]


def test_the_folders_own_list_of_classes_names_them(folder: Path) -> None:
    (folder / "__init__.py").write_text(INIT, encoding="utf-8")
    assert names(folder) == ["klue_sts", "org/ynat", "only"]
    assert names(f"{folder}:org/ynat") == ["org/ynat"]
    assert names(folder / "klue.py") == ["klue_sts", "org/ynat"]
    (request, *_) = (one := compiled(f"{folder}:org/ynat")[0]).task.requests(next(one.task.samples()))
    assert request.id.startswith("org/ynat/")


def test_a_list_that_does_not_run_is_no_trouble_for_one_file(folder: Path) -> None:
    (folder / "__init__.py").write_text("from . import nowhere\nTASK_REGISTRY = {}", encoding="utf-8")
    (first, _) = compiled(folder / "klue.py")
    assert "__init__.py failed" in first.notes[0]
    with pytest.raises(AuthorError, match=r"LEAP-001.*nowhere"):
        compiled(folder)


def test_a_registered_collection_means_what_its_registry_names(folder: Path) -> None:
    registry(folder.parents[1])
    for place in (folder, folder.parent, folder.parents[1]):
        first, second = compiled(place)
        assert (first.task.spec.name, second.task.spec.name) == ("klue_sts", "single")
        settings = first.task.spec.settings
        assert (settings["headline"], settings["explain"]) == ("acc", "두 문장의 의미")
        assert settings["registered_metrics"] == ["acc", "f1"]
        assert any("1 tasks are not in the registry" in note for note in first.notes)
    assert names(f"{folder}:*") == ["klue_sts", "klue_ynat", "single"]
    assert compiled(f"{folder / 'klue.py'}::STS")[0].task.spec.settings["headline"] == "acc"
    assert [one.task.spec.settings["headline"] for one in compiled(folder / "klue.py")] == ["acc", None]


def test_a_registry_may_stand_among_the_tasks(folder: Path) -> None:
    (folder / "registry.py").write_text("EVAL_DATASET_METRIC = {'Klue-YNAT': 'acc'}", encoding="utf-8")
    assert names(folder) == ["Klue-YNAT"]


def test_datasets_of_a_registry_are_listed(folder: Path) -> None:
    assert list_registered_datasets(folder.parents[1]) == []
    registry(folder.parents[1])
    first, second = list_registered_datasets(folder.parents[1])
    assert first == ("klue_sts", "두 문장의 의미", ("acc", "f1"), "acc", str(folder / "klue.py"), "STS")
    assert (second.name, second.class_name) == ("single", "Choice")


def test_a_registered_name_without_a_class(folder: Path) -> None:
    registry(folder.parents[1], "EVAL_DATASET_METRIC = {'klue_stts': 'acc'}")
    with pytest.raises(AuthorError, match=r"LEAP-010.*'klue_stts'.*'klue_sts'.*klue\.STS"):
        compiled(folder)


def test_classes_made_while_the_file_runs_count_and_their_base_does_not(tmp_path: Path) -> None:
    every = compile_text(tmp_path, MADE, {"validation": questions(2)}, name="kmmlu")
    assert [one.task.spec.name for one in every] == ["kmmlu_math", "kmmlu_koreanhistory", "kmmlu_realestate"]
    assert {one.task.spec.family for one in every} == {"kmmlu"}


def test_a_class_with_data_of_its_own_counts_although_another_extends_it(tmp_path: Path) -> None:
    every = compile_text(tmp_path, KORQUAD, {"validation": questions(2)}, name="korquad")
    assert [one.task.spec.name for one in every] == ["korquad_korquad", "korquad_korquadfewshot"]


def test_an_unfinished_class_is_left_out_and_reported(tmp_path: Path) -> None:
    text = CHOICE + "\nclass Unfinished(Task):\n    def doc_to_text(self, doc): return ''\n"
    (one,) = compile_text(tmp_path, text, {"validation": questions(2)})
    assert any("class Unfinished lacks 'aggregation'" in note for note in one.notes)


def test_a_selection_that_names_nothing(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"LEAP-010.*no task 'klue_st'.*did you mean 'klue_sts'"):
        compiled(f"{folder}:klue_st")


def test_a_folder_is_checked_task_by_task(folder: Path) -> None:
    members = expand_datasets([str(folder), "data.csv"], None)
    assert members.datasets == (f"{folder}:klue_sts", f"{folder}:klue_ynat", f"{folder}:single", "data.csv")
    assert expand_datasets([f"{folder}:klue_*"], None).datasets == members.datasets[:2]
    assert expand_datasets([str(folder / "klue.py")], None).datasets == (str(folder / "klue.py"),)
    assert expand_datasets([str(folder)], "table").datasets == (str(folder),)


def test_files_beside_a_task_are_its_siblings(tmp_path: Path) -> None:
    (tmp_path / "klue.py").write_text(KLUE, encoding="utf-8")
    (tmp_path / "utils.py").write_text("def shout(text):\n    return text.upper()\n", encoding="utf-8")
    text = (
        "from .klue import STS\nfrom .utils import general_detokenize, shout\nfrom task.klue import YNAT\n"
        "import evaluation.task.klue as again\nfrom evaluation.task.base import rf\n"
        "assert again.STS is STS\n"
        "class Mine(STS):\n    def doc_to_text(self, doc):\n        return shout(doc['q'])\n"
    )
    (one,) = compile_text(tmp_path, text, {"validation": questions(1)})
    assert one.task.spec.settings["class"] == "Mine"
    assert one.task.preview_prompt(next(one.task.samples()), Method.PPL) == "IS 0 EVEN?"
