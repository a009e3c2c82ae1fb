from __future__ import annotations

from pathlib import Path

import pytest

from assay.dialects.llmbox.detect import ClassName, is_class_file, is_framework_file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py", ("a.py", None, "")),
        ("dir/a.py::Name", ("dir/a.py", "Name", "")),
        ("a.py:x,y", ("a.py", None, "x,y")),
        ("a.py::Name:[stem],!x", ("a.py", "Name", "[stem],!x")),
        ("odd:folder/a.py:x", ("odd:folder/a.py", None, "x")),
        ("a.py:", ("a.py", None, "")),
        ("data.csv", ("data.csv", None, "")),
        ("mmlu:anatomy", ("mmlu:anatomy", None, "")),
    ],
)
def test_names(text: str, expected: tuple[str, str | None, str]) -> None:
    assert ClassName.of(text) == ClassName(Path(expected[0]), *expected[1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A(GenerationDataset):\n    pass\n", True),
        ("class A(base.MultipleChoiceDataset):\n    pass\n", True),
        ("from .generation_dataset import GenerationDataset as G\nclass A(G):\n    pass\n", True),
        ("from utilization.dataset import x\n", True),
        ("from .squad import Squad\nclass A(Squad):\n    pass\n", True),
        ("class A(Other):\n    load_args = ('x',)\n", True),
        ("class A(Other):\n    load_args: tuple = ('x',)\n", True),
        ("class A(Other):\n    def format_instance(self, row):\n        return row\n", True),
        ("def A(GenerationDataset):\n    pass\n", True),
        ("class A(GenerationDataset):\n    x = (\n", True),
        ("datasets = [{'path': 'a.csv'}]\n", False),
        ("from .mmlu_ppl import mmlu_datasets\ndatasets = [*mmlu_datasets]\n", False),
        ("class A:\n    pass\n", False),
        ("x = (\n", False),
        ("", False),
    ],
)
def test_a_file_is_known_by_what_it_defines(tmp_path: Path, text: str, expected: bool) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    assert is_class_file(path) is expected
    assert is_class_file(path.rename(tmp_path / "mine.txt")) is False
    assert is_class_file(tmp_path / "absent.py") is False


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("dataset.py", "class Dataset:\n    pass\n", True),
        ("__init__.py", "from .dataset import Dataset\n", True),
        ("dataset.py", "class Mine(GenerationDataset):\n    pass\n", False),
        ("dataset.py", "class Mine(GenerationDataset):\n    x = (\n", False),
        ("mine.py", "class Dataset:\n    pass\n", False),
    ],
)
def test_files_of_the_originals_own(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert is_framework_file(path) is expected
