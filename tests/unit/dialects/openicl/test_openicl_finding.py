"""Configs by name: the order of search folders, the comparison of names, the messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.dialects.openicl.config_search import ConfigFolders, NamedConfig, format_ambiguous_name


@pytest.fixture
def places(tmp_path: Path) -> ConfigFolders:
    for name in (
        *("own/datasets/quiz/Quiz_gen.py", "own/datasets/deep/er/quiz_gen.py", "own/models/mine.py"),
        *("root/opencompass/configs/datasets/quiz_gen.py", "root/opencompass/configs/datasets/__init__.py"),
        *(
            "root/opencompass/configs/dataset_collections/all_of_them.py",
            "root/ais_bench/benchmark/configs/models/m.py",
        ),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    return ConfigFolders(tmp_path / "own", tmp_path / "root")


def test_a_persons_own_comes_first_and_the_others_are_reported(places: ConfigFolders, tmp_path: Path) -> None:
    found = places.require("QUIZ_GEN/small_datasets", "datasets")
    assert found.path == tmp_path / "own/datasets/deep/er/quiz_gen.py"
    assert found.suffix == "small_datasets"
    assert len(found.others) == 2
    assert "3 files have this name" in format_ambiguous_name("quiz_gen", found)


def test_every_folder_of_a_kind(places: ConfigFolders) -> None:
    assert set(places.files("datasets")) == {"quiz_gen", "all_of_them"}
    assert set(places.files("models")) == {"mine", "m"}
    assert places.find("nobody", "models") is None


def test_a_name_that_is_not_there_has_a_nearest(places: ConfigFolders) -> None:
    with pytest.raises(UsageError, match="no dataset config 'quizz_gen' \\(did you mean 'quiz_gen'"):
        places.require("quizz_gen", "datasets")
    with pytest.raises(UsageError, match="neither --config-dir nor --openicl-root"):
        ConfigFolders(None, None).require("x", "models")


def test_a_config_that_is_where_the_person_is(workdir: Path) -> None:
    (workdir / "mine").mkdir()
    for name in ("here.py", "mine/below.py"):
        (workdir / name).write_text("quiz_datasets = [dict(type='Quiz')]", encoding="utf-8")
    (workdir / "other.py").write_text("x = 1", encoding="utf-8")
    places = ConfigFolders(None, None)
    assert places.require("here", "datasets").path == Path("here.py")
    assert places.require("below/_sets", "datasets") == NamedConfig(Path("mine/below.py"), "_sets")
    assert places.find("other", "datasets") is None
    assert places.find("here", "models") is None
