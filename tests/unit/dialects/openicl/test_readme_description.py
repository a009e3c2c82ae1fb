"""The description of a config's task, without data and without running authors' code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.app.dataset_docs import find_value_names
from assay.dialects.openicl.authored.returned_names import read_evaluator_class
from assay.dialects.openicl.readme_description import (
    ConfigDescriber,
    ConfigDescription,
    count_inline_examples,
)
from assay.dialects.openicl.templates.template_parsing import TemplateSpec, read_template

CONFIG = """
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import FixKRetriever, ZeroRetriever
from opencompass.datasets import NoSuchDataset, OwnEvaluator

a_datasets = [
    dict(
        abbr="a",
        type=NoSuchDataset,
        reader_cfg=dict(input_columns=["question"], output_column="answer"),
        infer_cfg=dict(
            prompt_template=dict(type=PromptTemplate, template={template!r}),
            retriever={retriever},
            inferencer=dict(type=GenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type={evaluator})),
    )
]
"""
ZERO = "dict(type=ZeroRetriever)"


def described(
    folder: Path, template: Any = "Q: {question}", retriever: str = ZERO, evaluator: str = "AccEvaluator"
) -> ConfigDescription:
    path = folder / "a_gen.py"
    text = CONFIG.replace("{template!r}", repr(template)).replace("{retriever}", retriever)
    path.write_text(text.replace("{evaluator}", evaluator), encoding="utf-8")
    return ConfigDescriber(None, find_value_names).describe(path)


def test_a_config_is_described_without_its_dataset(tmp_path: Path) -> None:
    one = described(tmp_path, retriever="dict(type=FixKRetriever, fix_id_list=[0, 2, 4])")
    assert (one.methods, one.metrics, one.evaluators) == (("gen",), ("accuracy",), ("AccEvaluator",))
    assert (one.shots, one.formats) == ((3,), ("string format",))
    assert (one.is_of_opencompass, one.hands_on) == (True, None)


def test_a_file_that_only_names_another_config_hands_it_on(tmp_path: Path) -> None:
    described(tmp_path)
    alias = tmp_path / "a.py"
    alias.write_text(
        "from mmengine.config import read_base\n\nwith read_base():\n    from .a_gen import a_datasets\n"
    )
    one = ConfigDescriber(None, find_value_names).describe(alias)
    assert (one.hands_on, one.metrics) == ((tmp_path / "a_gen.py",), ("accuracy",))


TURNS = [
    {"role": "HUMAN", "prompt": "Q: 1+1"},
    {"role": "BOT", "prompt": "2"},
    {"role": "HUMAN", "prompt": "Q: 2+{x}"},
    {"role": "BOT", "prompt": "{4}"},
]
ASKED = {"role": "HUMAN", "prompt": "Q: {question}"}


@pytest.mark.parametrize(
    ("template", "n"),
    [
        ("Q: {question}\nA:", 0),
        ("Answer.\nQ: 1\nA: 1\n\nQ: 2\nA: 2\n\nQ: {question}\nA:", 2),
        ("Answer: {question}\nAnswer:", 0),
        # Braces in an example are no hole.
        ("Q: { x }\nA: 1\n\nQ: {question}\nA:", 1),
        # A rule between examples, as wide as the one before the question.
        ("Examples\n---\nQ: 1\n---\nQ: 2\n\n# Task\n---\n{question}", 2),
        ("- be brief\n- {question}", 0),
        ("{question}", 0),
        # The question itself counts by its own words, not by those of other columns.
        ("Passage: p\nQ: 1\nA: 1\n\nPassage: {passage}\nQ: {question}\nA:", 1),
        ({"round": [*TURNS, ASKED]}, 2),
        ({"begin": [{"role": "SYSTEM", "prompt": "Be brief."}], "round": [ASKED]}, 0),
        # What follows the question is no example.
        ({"A": {"round": [ASKED, {"role": "BOT", "prompt": "A"}]}}, 0),
        ({"A": "Q: x\nA: y\nQ: {question}\nA: a", "B": "Q: {question}"}, 1),
        ({"round": [{"role": "HUMAN", "prompt": "Q: 1\nA: 1\nQ: {question}"}]}, 1),
    ],
)
def test_examples_in_the_words_of_a_template_are_counted(template: Any, n: int) -> None:
    spec = TemplateSpec("PromptTemplate", {"template": template})
    read = read_template(spec, is_faithful=False, faults=[])
    assert count_inline_examples(read, ("question", "passage")) == n


def test_examples_of_the_retriever_and_of_the_template_add_up(tmp_path: Path) -> None:
    template = "Q: 1\nA: 1\n\nQ: {question}\nA:"
    assert described(tmp_path, template).shots == (1,)
    fixed = "dict(type=FixKRetriever, fix_id_list=[0, 2])"
    assert described(tmp_path, template, fixed).shots == (3,)


@pytest.mark.parametrize(
    ("score", "values"),
    [
        ('return {"accuracy": 1.0, "f1": 2.0, "details": []}', ("accuracy", "f1")),
        ("return dict(accuracy=1.0, details=[])", ("accuracy",)),
        ('if not p:\n            return {"error": "none"}\n        return {"em": 1.0}', ("em",)),
        ('r = {"em": 1.0}\n        r["f1"] = 2.0\n        return r', ("em", "f1")),
        ('r = {}\n        r.update({"em": 1.0}, f1=2.0)\n        return r', ("em", "f1")),
        ('r: dict = {"em": 1.0}\n        return {**{"f1": 2.0}, "em": 1.0}', ("f1", "em")),
        ('return {"em": 1.0} if p else {"f1": 1.0}', ("em", "f1")),
        # Names that are made while it runs cannot be read, and then none is.
        ('return {f"pass@{k}": 1.0 for k in p}', ()),
        ('r = {"em": 1.0}\n        r[f"pass@{len(p)}"] = 1.0\n        return r', ()),
        ('return {"em": 1.0, **helper(p)}', ()),
        ("return helper(p)", ()),
    ],
)
def test_the_names_that_an_evaluator_returns_are_read(
    tmp_path: Path, score: str, values: tuple[str, ...]
) -> None:
    path = tmp_path / "own.py"
    # Running it would end the test.
    path.write_text(
        f"raise SystemExit\n\n\nclass OwnEvaluator(Base):\n    def score(self, p, r):\n        {score}\n"
    )
    read = read_evaluator_class(path, "OwnEvaluator")
    assert read is not None
    assert (read.values, read.bases) == (values, ())
    assert read_evaluator_class(path, "Other") is None


def test_an_own_evaluator_may_have_its_score_from_another(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "class OwnEvaluator(Middle):\n    pass\n\n\nclass Middle(opencompass.RougeEvaluator):\n    pass\n"
    )
    assert described(tmp_path, evaluator="OwnEvaluator").metrics[:2] == ("rouge1", "rouge2")
    (tmp_path / "own.py").write_text("class AccEvaluator(opencompass.AccEvaluator):\n    pass\n")
    assert described(tmp_path).metrics == ("accuracy",)
    (tmp_path / "own.py").write_text(
        "class OwnEvaluator(Other):\n    n = 1\nclass Other(OwnEvaluator):\n    n = 1\n"
    )
    assert described(tmp_path, evaluator="OwnEvaluator").metrics == ()
    (tmp_path / "own.py").write_text("class OwnEvaluator(BaseEvaluator):\n    pass\n")
    one = described(tmp_path, evaluator="OwnEvaluator")
    assert (one.metrics, one.evaluators) == ((), ("OwnEvaluator",))


def test_evaluators_of_a_checkout_above_are_read_there(tmp_path: Path) -> None:
    configs = tmp_path / "opencompass" / "configs" / "datasets" / "a"
    configs.mkdir(parents=True)
    code = tmp_path / "opencompass" / "datasets"
    code.mkdir()
    (code / "own.py").write_text(
        'class OwnEvaluator:\n    def score(self, p, r):\n        return {"em": 1}\n'
    )
    assert described(configs, evaluator="OwnEvaluator").metrics == ("em",)


@pytest.mark.parametrize(
    ("name", "arguments", "values"),
    [
        ("AccEvaluator", {}, ["accuracy"]),
        ("GenericLLMEvaluator", {}, ["accuracy", "accuracy_given_attempted"]),
        ("GenericLLMEvaluator", {"dict_postprocessor": {"type": "get_a_or_b"}}, ["accuracy"]),
        ("NoSuchEvaluator", {}, None),
    ],
)
def test_judges_are_known_by_how_their_verdicts_are_read(
    name: str, arguments: Mapping[str, Any], values: Sequence[str] | None
) -> None:
    found = find_value_names(name, "", arguments)
    assert (found if found is None else list(found)[: len(values or ())]) == values
