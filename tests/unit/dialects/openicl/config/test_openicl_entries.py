"""The contents of a config: lists by name, and entries with checked keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.dialects.openicl.config.checking import check_entries
from assay.dialects.openicl.config.entry import Component, DatasetEntry, Entry, TableEntry
from assay.dialects.openicl.config.lists import find_dataset_lists, read_model_dicts, read_summarizer
from assay.dialects.openicl.config.loading import LoadedConfig
from assay.dialects.openicl.config.symbol import Symbol

GEN = Symbol("opencompass.openicl.icl_inferencer", "GenInferencer")


def entry(abbr: str | None = "quiz", **more: Any) -> dict[str, Any]:
    return {
        "type": Symbol("opencompass.datasets", "QuizDataset"),
        "abbr": abbr,
        "path": "data/quiz",
        "reader_cfg": {"input_columns": "question hint", "output_column": None, "test_range": "[0:16]"},
        "infer_cfg": {
            "ice_template": {"type": "PromptTemplate", "template": "{question}</E>", "ice_token": "</E>"},
            "retriever": {"type": "FixKRetriever", "fix_id_list": [0, 1]},
            "inferencer": {"type": GEN, "max_out_len": 5},
            "max_out_len": 50,
        },
        "eval_cfg": {"evaluator": {"type": "AccEvaluator"}, "pred_role": "BOT", "sc_size": 3},
    } | more


def config(**values: Any) -> LoadedConfig:
    return LoadedConfig(Path("quiz.py"), values, ())


def entries(*written: dict[str, Any]) -> list[Entry]:
    loaded = config(quiz_datasets=list(written))
    return [one.entry for one in check_entries(loaded, find_dataset_lists(loaded))]


def test_lists_by_suffix_and_the_list_of_a_run() -> None:
    values = {"a_datasets": [entry("a")], "b_datasets": (entry("b"),), "c_sets": [entry("c")], "models": []}
    assert [one.variable for one in find_dataset_lists(config(**values))] == ["a_datasets", "b_datasets"]
    assert [one.variable for one in find_dataset_lists(config(**values), "c_sets")] == ["c_sets"]
    whole = config(**values, datasets=[entry("d")])
    assert [one.variable for one in find_dataset_lists(whole)] == ["datasets"]
    assert [one.variable for one in find_dataset_lists(whole, "_datasets")] == ["a_datasets", "b_datasets"]


def test_models_and_the_summarizer() -> None:
    loaded = config(models=[{"abbr": "m"}], summarizer={"dataset_abbrs": ["quiz"]})
    assert read_model_dicts(loaded) == [{"abbr": "m"}]
    assert read_summarizer(loaded) == {"dataset_abbrs": ["quiz"]}
    assert read_model_dicts(config()) == ()
    assert read_summarizer(config()) is None
    for call, wrong in ((read_model_dicts, config(models={})), (read_summarizer, config(summarizer=[1]))):
        with pytest.raises(AuthorError, match="OPENICL-008"):
            call(wrong)


def test_an_entry_is_taken_apart() -> None:
    (one,) = entries(entry(n=4, k=[1, 4], name="easy"))
    assert isinstance(one, DatasetEntry)
    assert one.reader_cfg.input_columns == ("question", "hint")
    assert (one.reader_cfg.test_split, one.reader_cfg.test_range) == ("test", "[0:16]")
    assert one.infer_cfg.inferencer == Component(GEN, {"max_out_len": 5})
    assert one.infer_cfg.prompt_template is None
    assert one.infer_cfg.without_effect == ("max_out_len",)
    assert one.eval_cfg is not None
    assert (one.eval_cfg.pred_role, one.eval_cfg.without_effect) == ("BOT", ("sc_size",))
    assert one.load_arguments == {"path": "data/quiz", "name": "easy"}
    assert (one.n, one.k) == (4, (1, 4))


def test_names_that_an_entry_has_without_an_abbr() -> None:
    assert [one.abbr for one in entries(entry(abbr=None), entry(abbr=None, name="easy"))] == [
        "data_quiz",
        "data_quiz_easy",
    ]


def test_an_entry_without_code_is_a_table() -> None:
    (one,) = entries({"abbr": "t", "path": "x.csv", "data_type": "mcq"})
    assert one == TableEntry("t", "x.csv", {"data_type": "mcq"})
    with pytest.raises(AuthorError, match="no 'type' and no 'path'"):
        entries({"abbr": "t", "data_type": "mcq"})
    with pytest.raises(AuthorError, match="abbr is 3") as caught:
        entries({"abbr": 3, "path": "x.csv"})
    assert caught.value.total == 1


def test_an_entry_in_two_lists_is_one() -> None:
    same = entry("c")
    loaded = config(a_datasets=[entry("a"), same], all_datasets=[entry("a"), entry("b"), same])
    assert [one.entry.abbr for one in check_entries(loaded, find_dataset_lists(loaded))] == ["a", "c", "b"]


def test_two_judges_of_one_dataset_are_two_entries() -> None:
    judged = [entry(judge_infer_cfg={"judge_model": {"abbr": name}}) for name in ("strict", "kind")]
    assert [one.name for one in entries(*judged)] == ["quiz-strict", "quiz-kind"]
    with pytest.raises(AuthorError, match="OPENICL-010"):
        entries(judged[0], judged[0] | {"n": 2})


def test_everything_that_is_wrong_is_said_at_once() -> None:
    wrong = entry("a", n=0, type=None)
    wrong["eval_cfg"] = {"evaluator": "acc", "pred_role": 3, "num_gpus": "two"}
    wrong["reader_cfg"] = {"input_columns": [1], "output_column": "answer"}
    with pytest.raises(AuthorError) as caught:
        entries(wrong, entry("b", reader_cfg=None))
    places = [str(problem.where) for problem in caught.value.problems]
    assert places == [*["quiz.py quiz_datasets[0]"] * 6, "quiz.py quiz_datasets[1]"]
    assert {problem.code for problem in caught.value.problems} == {"OPENICL-009"}
