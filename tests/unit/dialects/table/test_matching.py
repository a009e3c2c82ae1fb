"""Matching rules: `match` for free answers, `several_right` for options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.method import Method
from assay.core.prompt import final_text
from assay.core.request import Generate
from assay.core.task import ComponentSpec, TaskSettings
from assay.dialects.table.compile import CompiledTable, compile_table
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.prompts import ALL_OPTIONS
from fakes.tables import table

FREE = [{"question": "What is the capital of France?", "answer": "Paris"}]
CITIES = {"A": "Paris", "B": "Lyon", "C": "Rome", "D": "Milan"}
SEVERAL = [
    {"question": "Which are capitals?", **CITIES, "answer": ["A", "C"]},
    {"question": "Which is in the north of Italy?", **CITIES, "answer": ["D"]},
]
ONE = [{"question": "Which is the capital of France?", **CITIES, "answer": letter} for letter in "ABD"]


def compiled(path: str, message: TableMeta | None = None, **settings: Any) -> CompiledTable:
    return compile_table(path, TaskSettings(**settings), message)


def scorers(one: CompiledTable) -> list[ComponentSpec]:
    return [spec for spec in one.task.scorers() if isinstance(spec, ComponentSpec)]


def prompt(one: CompiledTable, method: Method = Method.GEN) -> str:
    return final_text(one.task.preview_prompt(next(iter(one.task.samples())), method))


@pytest.mark.parametrize("match", ["exact", "contains", "f1"])
def test_a_way_of_matching_is_given_to_the_scorer_and_recorded(tmp_path: Path, match: Any) -> None:
    one = compiled(table(tmp_path, FREE), TableMeta(match=match))
    (spec,) = scorers(one)
    assert (spec.name, spec.args["match"]) == ("generated_answer", match)
    assert one.task.spec.settings["match"] == match


def test_answers_are_stated_unless_said(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, FREE))
    (spec,) = scorers(one)
    assert "match" not in spec.args
    assert one.task.spec.settings["match"] == "stated"


def test_a_judge_is_a_way_of_matching(tmp_path: Path) -> None:
    (spec,) = scorers(compiled(table(tmp_path, FREE), TableMeta(match="judge")))
    assert (spec.name, spec.args["extract"]) == ("row_metrics", "whole")


def test_matching_has_no_effect_on_options(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, ONE), TableMeta(match="exact", several_right="any"))
    assert "'match' applies only to free-form answers: the table is mcq" in one.notes
    assert "'several_right' has no effect: no row has several right options" in one.notes
    (spec,) = scorers(one)
    assert "several_right" not in spec.args


def test_several_right_options_are_asked_for_and_counted_as_a_set(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, SEVERAL))
    (spec,) = scorers(one)
    assert (spec.name, spec.args["several_right"]) == ("generated_option", "exact")
    assert one.task.spec.settings["several_right"] == "exact"
    assert ALL_OPTIONS in prompt(one)


def test_any_right_option_counts_on_request_and_the_prompt_stays(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, SEVERAL), TableMeta(several_right="any"))
    (spec,) = scorers(one)
    assert spec.args["several_right"] == "any"
    assert ALL_OPTIONS not in prompt(one)


def test_methods_that_choose_one_option_count_any_right_one(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, SEVERAL), methods=("ppl", "prob", "gen"))
    assert [spec.args["several_right"] for spec in scorers(one)] == ["any", "any", "exact"]
    assert "'ppl', 'prob' can choose only one option: any of several right options counts" in one.notes
    assert ALL_OPTIONS not in prompt(one, Method.PROB)


def test_own_prompts_and_faithful_runs_stay_as_they_are(tmp_path: Path) -> None:
    path = table(tmp_path, SEVERAL)
    own = compiled(path, TableMeta(human_prompt="{question} {option_list}"))
    assert ALL_OPTIONS not in prompt(own)
    faithful = compiled(path, is_faithful=True)
    assert ALL_OPTIONS not in prompt(faithful)
    assert all("several_right" not in spec.args for spec in scorers(faithful))


def test_an_example_names_all_of_its_right_options(tmp_path: Path) -> None:
    one = compiled(table(tmp_path, SEVERAL), shots=1)
    asks = [one.task.requests(sample)[0].ask for sample in one.task.samples()]
    shown = [final_text(ask.prompt) for ask in asks if isinstance(ask, Generate)]
    assert "Answer: A, C" in shown[1]
    assert "Answer: D" in shown[0]
