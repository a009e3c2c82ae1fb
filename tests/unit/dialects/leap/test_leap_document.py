"""The document's own examples, completed, over the data they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.compilation import Compilation
from assay.core.limit import Limit
from assay.core.task import TaskSettings
from assay.dialects.leap.compile import compile_tasks
from assay.dialects.leap.task import LeapTask
from fakes.leap_document import KLUE, KORNLU
from fakes.leap_tasks import asks, contexts, scored, tools

pytest.importorskip("datasets")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("klue", KLUE), ("kornlu", KORNLU)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def compiled(folder: Path, name: str, data: Path, n: int = 20) -> Compilation[LeapTask]:
    settings = TaskSettings(limit=Limit(n, "first"))
    (one,) = compile_tasks(f"{folder}:{name}", settings, tools(folder / "cache", data_root=data))
    return one


def test_klue_sts_asks_what_the_document_shows(folder: Path, shared_data: Path) -> None:
    one = compiled(folder, "klue_sts", shared_data)
    by_guid = {sample.fields["guid"]: at for at, sample in enumerate(one.task.samples())}
    # The document of its example, and its text.
    at = by_guid["klue-sts-v1_dev_00001"]
    assert contexts(one)[at] == (
        "문장1: 주요 관광지 모두 걸어서 이동가능합니다.\n"
        "문장2: 위치는 피렌체 중심가까지 걸어서 이동 가능합니다.\n"
        "정답:"
    )
    assert [scored(ask) for ask in asks(one, at)] == [" 다름", " 같음"]
    sample = list(one.task.samples())[at]
    assert (sample.choices, sample.gold) == (("다름", "같음"), (0,))


def test_klue_ynat_compares_seven_topics(folder: Path, shared_data: Path) -> None:
    one = compiled(folder, "klue_ynat", shared_data)
    sample, *_ = one.task.samples()
    assert sample.choices == ("(과학)", "(경제)", "(사회)", "(생활)", "(세계)", "(스포츠)", "(정치)")
    assert sample.gold == (sample.fields["gold"],)
    assert [scored(ask) for ask in asks(one)] == [f" {choice}" for choice in sample.choices]
    assert contexts(one)[0] == sample.fields["title"]


def test_korsts_reads_its_tab_files(folder: Path, shared_data: Path) -> None:
    one = compiled(folder, "kornlu", shared_data)
    assert one.task.spec.n_rows == 1500
    for context in contexts(one):
        assert context.count("문장1: ") == 3
        assert context.endswith("\n정답:")
    assert all(isinstance(sample.fields["score"], float) for sample in one.task.samples())
