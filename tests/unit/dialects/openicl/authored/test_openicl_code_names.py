"""Resolution of names in configs and imports in authors' files, with a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.openicl_scoring import build_author_imports
from assay.dialects.openicl.authored.code import AuthorCode
from assay.dialects.openicl.config.symbol import Symbol

DATASET = """
from opencompass.openicl.icl_evaluator.icl_hf_evaluator import AccEvaluator
from opencompass.registry import ICL_EVALUATORS, TEXT_POSTPROCESSORS
from opencompass.utils.prompt import safe_format

@ICL_EVALUATORS.register_module()
class OwnEvaluator(AccEvaluator):
    pass

@TEXT_POSTPROCESSORS.register_module()
def own_postprocess(text):
    return safe_format('{a}{b}{c}', a=text, b='!')

@TEXT_POSTPROCESSORS.register_module('own-name')
def named_otherwise(text):
    return text

def not_registered(text):
    return text
"""

MISCELLANEOUS = """
from opencompass.registry import ICL_EVALUATORS

class AveragePPLEvaluator:
    pass

@ICL_EVALUATORS.register_module()
class UnknownEvaluator:
    pass
"""


@pytest.fixture
def code(tmp_path: Path) -> AuthorCode:
    folder = tmp_path / "opencompass" / "datasets"
    folder.mkdir(parents=True)
    (folder / "own.py").write_text(DATASET, encoding="utf-8")
    # What Assay has itself is not run from a checkout: it may need packages that are not there.
    evaluators = tmp_path / "opencompass" / "openicl" / "icl_evaluator"
    evaluators.mkdir(parents=True)
    (evaluators / "icl_hf_evaluator.py").write_text(
        "import no_such_package\nclass AccEvaluator: pass\n", encoding="utf-8"
    )
    (evaluators / "icl_misc_evaluator.py").write_text(MISCELLANEOUS, encoding="utf-8")
    return AuthorCode([], tmp_path, None, build_author_imports())


@pytest.mark.parametrize("name", ["OwnEvaluator", "own_postprocess", "own-name"])
def test_registered_names_are_found_before_their_file_was_run(code: AuthorCode, name: str) -> None:
    assert code.find(name) is not None


def test_a_function_that_is_not_registered_has_no_name_in_configs(code: AuthorCode) -> None:
    assert code.find("not_registered") is None


def test_texts_are_filled_as_the_originals_function_does(code: AuthorCode) -> None:
    function = code.find(Symbol("opencompass.datasets", "own_postprocess"))
    assert function("{b}") == "!!{c}"


@pytest.mark.parametrize("name", ["UnknownEvaluator", Symbol("opencompass.openicl", "UnknownEvaluator")])
def test_a_module_that_assay_has_in_part_gives_the_rest_from_the_checkout(
    code: AuthorCode, name: object
) -> None:
    found = code.find(name)
    assert found is not None
    assert found.__name__ == "UnknownEvaluator"
    # What Assay has is not taken from the checkout, even when the file is run.
    known = code.find(Symbol("opencompass.openicl.icl_evaluator.icl_misc_evaluator", "AveragePPLEvaluator"))
    assert hasattr(known, "score")
