"""Names in an author's class that resemble known ones: reported, unless they are the author's own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from assay.dialects.shared.misspelt_names import find_misspelt_names, find_nearest_name

KNOWN = ("multi_turn", "post_processing", "extra_model_args", "load")


def found(tmp_path: Path, body: str, name: str = "Own") -> dict[str, tuple[str, int | None]]:
    path = tmp_path / "own.py"
    path.write_text(body, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("own_classes", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_classes"] = module
    spec.loader.exec_module(module)
    return {
        one.name: (one.meant, one.where.line)
        for one in find_misspelt_names(getattr(module, name), [path], KNOWN)
    }


def test_an_attribute_a_method_and_what_is_set_on_self(tmp_path: Path) -> None:
    body = """class Own:
    multiturn: bool = True
    topic = "birds"

    def postprocessing(self, predictions):
        self.extra_model_arg = {}
        return predictions
"""
    assert found(tmp_path, body) == {
        "multiturn": ("multi_turn", 2),
        "postprocessing": ("post_processing", 5),
        "extra_model_arg": ("extra_model_args", 6),
    }


@pytest.mark.parametrize(
    "body",
    [
        "class Own:\n    def post_process(self): ...\n    def post_processing(self): self.post_process()\n",
        "class Own:\n    def post_process(self): ...\n    def run(self): return self.post_process\n",
        'class Own:\n    multiturn = 1\n    def run(self): return getattr(self, "multiturn")\n',
        "class Own:\n    def post_process(self): ...\n    def post_processing(self): ...\n",
        "class Own:\n    loads: int\n",
        "class Own:\n    subject = 1\n    reload_all = 2\n",
    ],
    ids=[
        "a helper",
        "read as attribute",
        "read by getattr",
        "both defined",
        "an annotation alone",
        "unlike all",
    ],
)
def test_names_of_the_authors_own_are_left_alone(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == {}


def test_a_class_that_another_extends_is_looked_at_too(tmp_path: Path) -> None:
    body = "class Base:\n    multi_trun = True\nclass Own(Base):\n    load = 1\nclass Other:\n    lod = 1\n"
    assert found(tmp_path, body) == {"multi_trun": ("multi_turn", 2)}


def test_a_name_of_a_module_is_no_use_of_it(tmp_path: Path) -> None:
    body = "import json\nclass Own:\n    def loads(self): return json.loads('1')\n"
    assert found(tmp_path, body) == {"loads": ("load", 3)}


def test_case_and_underscores_do_not_count() -> None:
    assert find_nearest_name("MultiTurn", KNOWN) == "multi_turn"
    assert find_nearest_name("dataset", ("dataset_name",)) is None
