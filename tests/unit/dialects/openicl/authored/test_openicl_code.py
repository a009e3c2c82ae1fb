from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.core.origin import Origin
from assay.dialects.openicl.authored.base_classes import BaseDataset, BaseEvaluator
from assay.dialects.openicl.authored.code import AuthorCode, LibraryParts, find_source_file, get_short_name
from assay.dialects.openicl.authored.definitions import Definitions, has_definition
from assay.dialects.openicl.config.symbol import Symbol

HERE = Origin("quiz_gen.py")


def code_of(own: Path, root: Path | None = None, **offered: object) -> AuthorCode:
    return AuthorCode([own], root, None, LibraryParts(offered, {}))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of which one file cannot be imported here, and whose packages would run everything."""
    root = tmp_path / "checkout"
    datasets = root / "opencompass" / "datasets"
    (datasets / "deep").mkdir(parents=True)
    (root / "opencompass" / "utils").mkdir()
    files = {
        "datasets/__init__.py": "raise RuntimeError('a package is not run')",
        "datasets/quiz.py": (
            "from opencompass.registry import LOAD_DATASET, TEXT_POSTPROCESSORS\n"
            "from opencompass.utils import get_data_path, loud\n"
            "from .base import BaseDataset\n"
            "from .deep.part import Part\n"
            "@LOAD_DATASET.register_module()\n"
            "class Quiz(BaseDataset):\n"
            "    part = Part\n"
            "    loud = loud\n"
            "@TEXT_POSTPROCESSORS.register_module('quiz-post')\n"
            "def quiz_postprocess(text):\n"
            "    return text.upper()\n"
        ),
        "datasets/deep/part.py": "from ..other import VALUE\nfrom . import near\nPart = (VALUE, near.NEAR)",
        "datasets/deep/near.py": "NEAR = 2",
        "datasets/other.py": "VALUE = 1",
        "datasets/heavy.py": "import nobody_has_this\nclass Heavy: pass\nclass Heavier: pass",
        "utils/__init__.py": "from .words import *",
        "utils/words.py": (
            "def loud(text):\n    return text + '!'\ndef get_data_path(path):\n    return 'theirs'"
        ),
    }
    for name, text in files.items():
        (root / "opencompass" / name).write_text(text, encoding="utf-8")
    return root


def test_a_class_of_a_checkout_is_on_our_base_class(checkout: Path, tmp_path: Path) -> None:
    code = code_of(tmp_path / "nothing", checkout)
    quiz = code.require(Symbol("opencompass.datasets", "Quiz"), "dataset class", HERE)
    assert issubclass(quiz, BaseDataset)
    assert quiz.part == (1, 2)
    assert quiz.loud("a") == "a!"
    assert find_source_file(quiz) == checkout / "opencompass" / "datasets" / "quiz.py"
    assert code.find("opencompass.datasets.quiz.Quiz") is quiz
    assert code.find(Symbol("opencompass.datasets.quiz", "Quiz")) is quiz
    assert code.find("Quiz") is quiz
    assert code.find("quiz-post")("a") == "A"
    assert not any(name.startswith("opencompass") for name in sys.modules)


def test_the_librarys_names_go_before_those_of_a_checkout(checkout: Path, tmp_path: Path) -> None:
    code = code_of(tmp_path / "nothing", checkout)
    code.find(Symbol("opencompass.datasets", "Quiz"))
    finder = code.find(Symbol("opencompass.utils", "get_data_path"))
    with pytest.raises(FileNotFoundError, match="no-such"):
        finder("no-such")


def test_a_checkouts_file_leaves_the_librarys_names_to_others(checkout: Path, tmp_path: Path) -> None:
    datasets = checkout / "opencompass" / "datasets"
    (datasets / "base.py").write_text(
        "class BaseDataset: theirs = True\nclass Beside: pass", encoding="utf-8"
    )
    code = code_of(tmp_path / "nothing", checkout)
    assert code.find(Symbol("opencompass.datasets.base", "Beside")).__name__ == "Beside"
    assert issubclass(code.find(Symbol("opencompass.datasets", "Quiz")), BaseDataset)


def test_a_file_that_does_not_import_says_so_every_time(checkout: Path, tmp_path: Path) -> None:
    code = code_of(tmp_path / "nothing", checkout)
    for name in ("Heavy", "Heavier"):
        with pytest.raises(AuthorError, match=r"nobody_has_this.*not installed"):
            code.find(Symbol("opencompass.datasets", name))


def test_the_persons_own_file_goes_before_all_others(checkout: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.py").write_text("from .base import BaseDataset\nclass Quiz(BaseDataset): mine = True")
    code = code_of(own, checkout)
    for module in ("opencompass.datasets", "ais_bench.benchmark.datasets", "mine"):
        assert code.require(Symbol(module, "Quiz"), "dataset class", HERE).mine
    assert code.is_own(Symbol("opencompass.datasets", "Quiz"))
    assert not code.is_own(Symbol("opencompass.datasets", "Heavy"))


def test_a_file_in_a_folder_below_the_configs_is_written_as_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "loaders").mkdir()
    (tmp_path / "beside.py").write_text("VALUE = 1")
    (tmp_path / "loaders" / "near.py").write_text("VALUE = 2")
    (tmp_path / "loaders" / "mine.py").write_text(
        "from .base import BaseDataset\nfrom .beside import VALUE\nfrom .near import VALUE as NEAR\n"
        "class Mine(BaseDataset):\n    values = VALUE, NEAR"
    )
    mine = code_of(tmp_path).require(Symbol("ais_bench.benchmark.datasets", "Mine"), "dataset class", HERE)
    assert issubclass(mine, BaseDataset)
    assert mine.values == (1, 2)
    nested = "from ..base import BaseDataset\nclass Nested(BaseDataset): pass"
    (tmp_path / "loaders" / "nested.py").write_text(nested)
    assert issubclass(code_of(tmp_path).find(Symbol("x", "Nested")), BaseDataset)


def test_a_name_that_nobody_has(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "mine.py").write_text("class QuizDataset: pass")
    with pytest.raises(
        AuthorError, match=r"OPENICL-011 .*'QuizDataste' \(did you mean 'QuizDataset'"
    ) as error:
        code_of(tmp_path).require(Symbol("opencompass.datasets", "QuizDataste"), "dataset class", HERE)
    assert "--openicl-root" in error.value.problems[0].fix
    with pytest.raises(AuthorError, match="nor does") as error:
        code_of(tmp_path, checkout).require("NoSuch", "evaluator", HERE)
    assert "--openicl-root" not in error.value.problems[0].fix


def test_an_installed_package_of_the_persons_own(tmp_path: Path) -> None:
    assert code_of(tmp_path).find(Symbol("pathlib", "Path")) is Path
    assert code_of(tmp_path).find(Symbol("pathlib", "NoPath")) is None


def test_what_a_config_defines_itself_is_taken_as_it_is(tmp_path: Path) -> None:
    class Own(BaseEvaluator):
        pass

    assert code_of(tmp_path).find(Own) is Own
    assert get_short_name(Own) == "Own"
    assert get_short_name(Symbol("a.b", "C")) == get_short_name("a.b.C") == "C"


def test_what_other_rooms_offer_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from opencompass.utils.text_postprocessors import shout\n"
        "from ais_bench.benchmark.utils.postprocess.text_postprocessors import shout as again\n"
        "assert shout is again\n"
        "def mine(text):\n    return shout(text)"
    )
    assert code_of(tmp_path, shout=str.upper).find(Symbol("x", "mine"))("a") == "A"


def test_aisbenchs_own_modules_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ais_bench.benchmark.datasets.utils.datasets import get_content_str, get_data_path\n"
        "from ais_bench.benchmark.utils.logging import AISLogger\n"
        "from ais_bench.benchmark.utils.logging.error_codes import DSET_CODES\n"
        "from ais_bench.benchmark.utils.logging.exceptions import ParameterValueError\n"
        "from ais_bench.benchmark.utils.prompt import AIS_CONTENT_TAG, AIS_TEXT_START\n"
        "AISLogger().warning('told')\n"
        "def fail():\n    raise ParameterValueError(DSET_CODES.BAD, 'too many')\n"
        "content = get_content_str([{'type': 'image_url', 'image_url': {'url': 'a.png'}}, "
        "{'type': 'text', 'text': 'What?'}])\n"
        "ending = AIS_TEXT_START + 'What?' + AIS_CONTENT_TAG\n"
    )
    code = code_of(tmp_path)
    assert code.find(Symbol("mine", "content")) == (
        "<AIS_IMAGE_START>a.png<AIS_CONTENT_TAG><AIS_TEXT_START>What?<AIS_CONTENT_TAG>"
    )
    with pytest.raises(Exception, match="too many"):
        code.find(Symbol("mine", "fail"))()


def test_definitions_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "raise RuntimeError\nclass One: pass\ndef two(): pass\nTHREE: int = 3\nfour == 4"
    )
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text(
        "class One: pass\nclass Five: pass\nX.register_module(name='six')"
    )
    found = Definitions(tmp_path)
    assert found.find_file("One") == tmp_path / "a.py"
    assert found.find_file("Five") == tmp_path / "deep" / "b.py"
    assert found.find_registering_file("six") == tmp_path / "deep" / "b.py"
    for folder in ("configs", "tests"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "c.py").write_text("class Seven: pass")
    assert Definitions(tmp_path).find_file("Seven") is None
    assert Definitions(tmp_path, depth=0).find_file("Five") is None
    assert has_definition(tmp_path / "a.py", "THREE")
    assert not has_definition(tmp_path / "a.py", "four")


def test_a_name_that_two_files_define_is_that_of_the_module_that_was_named(tmp_path: Path) -> None:
    for name in ("first", "second"):
        text = f"class Quiz: file = {name!r}"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    code = code_of(tmp_path)
    for module in ("opencompass.datasets.second", "ais_bench.benchmark.datasets.second", "second"):
        assert code.require(Symbol(module, "Quiz"), "dataset class", HERE).file == "second"
    assert code.require("opencompass.datasets.second.Quiz", "dataset class", HERE).file == "second"
    with pytest.raises(AuthorError, match=r"OPENICL-011 .*'Quiz' is defined in 'first.py', 'second.py'"):
        code.require(Symbol("opencompass.datasets", "Quiz"), "dataset class", HERE)


def test_a_text_names_what_is_registered_or_defined_beside_the_config(tmp_path: Path) -> None:
    text = (
        "from opencompass.registry import LOAD_DATASET\n"
        "@LOAD_DATASET.register_module('other-name')\nclass Registered: pass\nclass Plain: pass\n"
    )
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    code = code_of(tmp_path)
    assert code.require("other-name", "dataset class", HERE).__name__ == "Registered"
    assert code.require("Plain", "dataset class", HERE).__name__ == "Plain"


def test_of_two_files_that_define_a_name_the_nearest_to_the_config_counts(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "mine.py").write_text("class Quiz: file = 'near'", encoding="utf-8")
    (tmp_path / "deep" / "mine.py").write_text("class Quiz: file = 'far'", encoding="utf-8")
    found = code_of(tmp_path).require(Symbol("opencompass.datasets", "Quiz"), "dataset class", HERE)
    assert found.file == "near"
