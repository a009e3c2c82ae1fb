from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assay.app.dataset_list import ListedDataset, list_folder_datasets
from assay.core.errors import UsageError
from cli import assay

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def listed(workdir: Path) -> dict[str, ListedDataset]:
    for language in ("aisbench", "leap", "llmbox"):
        shutil.copytree(EXAMPLES / language, workdir / language)
    shutil.copytree(
        EXAMPLES / "ultraeval",
        workdir / "ultraeval",
        ignore=shutil.ignore_patterns("RawData", "data"),
    )
    (workdir / "한국어").mkdir()
    for name in (
        "한국어/질문.csv",
        "rows.jsonl",
        "rows.jsonl.meta.json",
        "hub.json",
        "notes.txt",
        ".hidden.csv",
    ):
        (workdir / name).write_text("question,answer\n1,2\n")
    (workdir / "runs" / "one").mkdir(parents=True)
    (workdir / "runs" / "one" / "samples.jsonl").write_text("{}\n")
    return {one.name: one for one in list_folder_datasets(Path())}


def test_datasets_of_every_language_are_listed(listed: dict[str, ListedDataset]) -> None:
    languages = {one.dialect for one in listed.values()}
    assert languages == {"table", "llmbox", "ultraeval", "leap", "openicl"}
    assert listed["한국어/질문.csv"].dialect == "table"
    assert listed["llmbox/arc.py"].dialect == "llmbox"
    assert listed["ultraeval/datasets/mmlu"].dialect == "ultraeval"
    tables = [name for name, one in listed.items() if one.dialect == "table"]
    assert tables == ["rows.jsonl", "한국어/질문.csv"]


def test_configs_in_folders_are_listed_once(workdir: Path) -> None:
    shutil.copytree(EXAMPLES / "aisbench", workdir / "aisbench")
    names = [one.name for one in list_folder_datasets(Path())]
    assert len(names) == len(set(names))
    assert sum(name.startswith("aisbench/gsm8k/") for name in names) == 4


def test_datasets_of_two_languages_may_lie_side_by_side(workdir: Path) -> None:
    for name, language in (("first", "ultraeval"), ("second", "leap")):
        assay("new", name, "--like", language)
    (workdir / "third.csv").write_text("question,answer\n1,2\n")
    found = {one.name: one.dialect for one in list_folder_datasets(Path())}
    assert found == {"first": "ultraeval", "second:second": "leap", "third.csv": "table"}


def test_a_registry_says_what_a_dataset_is_about(listed: dict[str, ListedDataset]) -> None:
    ynat = listed["leap:klue_ynat"]
    assert ynat.metrics == ("acc", "macro_f1")
    assert ynat.headline == "macro_f1"
    assert "뉴스" in ynat.about


def test_the_command_prints_a_table_or_json(listed: dict[str, ListedDataset]) -> None:
    shown = assay("ls", "datasets", "leap")
    assert "acc, macro_f1*" in shown.out
    assert "뉴스 기사의 주제를 분류하는 능력 평가" in shown.out
    entries = json.loads(assay("ls", "datasets", "leap", "llmbox", "--json").out)["datasets"]
    assert {entry["dialect"] for entry in entries} == {"leap", "llmbox"}
    assert "no runs" in assay("ls", "--runs-dir", "absent").out


def test_a_folder_without_datasets_and_no_folder(workdir: Path) -> None:
    assert "no datasets here" in assay("ls", "datasets").out
    with pytest.raises(UsageError, match="folder does not exist"):
        list_folder_datasets(Path("absent"))
    (workdir / "a.csv").write_text("x\n1\n")
    with pytest.raises(UsageError, match="not a folder"):
        list_folder_datasets(Path("a.csv"))
