from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.detect import ConfigName, find_config_files, is_config, is_loader
from assay.dialects.openicl.entries import load_entries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/quiz.py", ConfigName(Path("a/quiz.py"))),
        ("a/quiz.py:one,two", ConfigName(Path("a/quiz.py"), None, ("one", "two"))),
        ("a/quiz.py/_test_sets", ConfigName(Path("a/quiz.py"), "_test_sets")),
        ("a/quiz.py/_sets:one", ConfigName(Path("a/quiz.py"), "_sets", ("one",))),
        ("folder", ConfigName(Path("folder"))),
    ],
)
def test_names(text: str, expected: ConfigName) -> None:
    assert ConfigName.of(text) == expected


CONFIGS = {
    "own.py": "quiz_datasets = [dict(type=Quiz, infer_cfg=1)]",
    "based.py": "from mmengine import read_base\nwith read_base():\n    from .own import quiz_datasets",
    "all.py": "from mmengine import read_base\nwith read_base():\n    from .own import *",
    "run.py": "datasets = [dict(type='X')]\nmodels = []",
    "defines.py": "class A(Base):\n    pass\nquiz_datasets = [dict(type=A, infer_cfg=1)]",
    "broken.py": "quiz_datasets = [dict(type=Quiz)\n",
}
OTHERS = {
    "tables.py": "datasets = [{'path': 'a.csv', 'data_type': 'mcq'}]",
    "cls.py": "class A(Dataset):\n    type = 'x'\ndatasets = [1]",
    "code.py": "import datasets\ntype = 1",
    "words.py": "# my_datasets = [dict(type=1)]",
}


def test_configs_are_reported_from_other_files(workdir: Path) -> None:
    for name, text in {**CONFIGS, **OTHERS}.items():
        (workdir / name).write_text(text, encoding="utf-8")
    assert {name for name in (*CONFIGS, *OTHERS) if is_config(name)} == set(CONFIGS)
    assert {path.name for path in find_config_files(workdir)} == set(CONFIGS)
    assert is_config("own.py:quiz")
    assert not is_config("nowhere.py")


def test_a_file_of_classes_is_reported_to_be_no_config(workdir: Path) -> None:
    loader = "from .base import BaseDataset\n\nclass Quiz(BaseDataset):\n    pass\n"
    (workdir / "quiz.py").write_text(loader, encoding="utf-8")
    (workdir / "other.py").write_text("class A(Dataset):\n    pass\n", encoding="utf-8")
    assert is_loader("quiz.py")
    assert not is_loader("other.py")
    with pytest.raises(AuthorError, match=r"OPENICL-008 quiz\.py: the file contains dataset classes"):
        load_entries("quiz.py", None)
