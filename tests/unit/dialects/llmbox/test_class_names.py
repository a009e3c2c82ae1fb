"""Names of dataset classes, and the imports of a class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.core.errors import Problem
from assay.dialects.llmbox.detect import ClassName
from assay.sources.dataset_folder import DatasetMissing
from fakes.classes import compile_one

CLASS = """
class Words(GenerationDataset):
    instruction = "{word}"
    metrics = [Em()]
    load_args = ()
    def format_instance(self, instance):
        return dict(word=instance["word"], target=instance["word"])
    @property
    def references(self):
        return [[row["word"]] for row in self.evaluation_data]
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/my.py", ClassName(Path("a/my.py"), None, "")),
        ("my.py::Mine", ClassName(Path("my.py"), "Mine", "")),
        ("my.py:one,[two],!x*", ClassName(Path("my.py"), None, "one,[two],!x*")),
        ("wmt16=my.py::Mine:de-en", ClassName(Path("my.py"), "Mine", "de-en", "wmt16")),
        ("a/b=c.py", ClassName(Path("a/b=c.py"), None, "")),
    ],
)
def test_a_name_is_divided(text: str, expected: ClassName) -> None:
    assert ClassName.of(text) == expected


def test_one_file_serves_a_dataset_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "data" / "wmt16").mkdir(parents=True)
    (tmp_path / "data" / "wmt16" / "test.jsonl").write_text('{"word": "one"}\n', encoding="utf-8")
    text = CLASS.replace("load_args = ()", 'load_args = ()\n    evaluation_set = "test"')
    with pytest.raises(DatasetMissing, match="'my_dataset'"):
        compile_one(tmp_path, text, hub=tmp_path / "data")
    one = compile_one(tmp_path, text, hub=tmp_path / "data", prefix="wmt16=")
    assert one.task.spec.name == "wmt16"


def test_a_metrics_own_module_can_be_imported(tmp_path: Path) -> None:
    text = "from ..metric.drop_utils import get_answers\n" + CLASS
    assert compile_one(tmp_path, text, [{"word": "one"}]).task.spec.n_rows == 1


def test_a_file_that_a_class_opens_itself_and_misses_is_missing_data(tmp_path: Path) -> None:
    text = CLASS + "    def load_raw_dataset(self, *_):\n        open('/nowhere/at-all.json')\n"
    with pytest.raises(DatasetMissing, match=r"line 12: class Words.*'/nowhere/at-all.json'") as caught:
        compile_one(tmp_path, text)
    assert caught.value.problems[0].code == "DATA-001"


def test_a_missing_file_beside_the_class_is_missing_data(tmp_path: Path) -> None:
    text = CLASS + (
        "    def load_raw_dataset(self, *_):\n"
        "        from .utils import load_raw_dataset_from_file\n"
        "        self.evaluation_data = load_raw_dataset_from_file('rows.jsonl')\n"
    )
    with pytest.raises(DatasetMissing, match="SOURCE-001"):
        compile_one(tmp_path, text)


def test_references_that_ask_for_another_key_say_so(
    tmp_path: Path, problem_of: Callable[[Callable[[], object]], Problem]
) -> None:
    text = CLASS.replace('[[row["word"]]', '[[row["answer"]]')
    found = problem_of(lambda: compile_one(tmp_path, text, [{"word": "one"}]))
    assert (found.code, "the missing key 'answer'" in found.what) == ("LLMBOX-003", True)
