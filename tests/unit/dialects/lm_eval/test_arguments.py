"""The `--dataset-arg` arguments of task files."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.dialects.lm_eval.arguments import read_task_arguments
from assay.dialects.lm_eval.selection import SelectedTask


def generation(given: dict[str, str], **config: Any) -> Any:
    task = read_task_arguments(given).override_keys(SelectedTask("t", config, None))
    return task.config.get("generation_kwargs")


def test_gen_kwargs_replace_parts_of_the_tasks_own() -> None:
    own = {"until": ["\n"], "max_gen_toks": 9}
    assert generation({"gen_kwargs": '{"max_gen_toks": 4}'}, generation_kwargs=own) == {
        "until": ["\n"],
        "max_gen_toks": 4,
    }
    assert generation({"gen_kwargs": '{"temperature": 1}'}, fewshot_delimiter="##") == {
        "temperature": 1,
        "do_sample": False,
        "max_gen_toks": 256,
        "until": ["##"],
    }
    assert generation({}, generation_kwargs=own) == own
    assert generation({"gen_kwargs": '{"temperature": 1}'}, output_type="multiple_choice") is None


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"until": ["\n"]}, {"until": ["\n"], "max_gen_toks": 7}),
        ({"max_new_tokens": 3}, {"max_new_tokens": 3}),
        (None, None),
    ],
)
def test_the_models_length_applies_where_the_task_sets_none(own: Any, expected: Any) -> None:
    assert generation({"max_gen_toks": "7"}, generation_kwargs=own) == expected


def test_metadata_is_added() -> None:
    arguments = read_task_arguments({"metadata": '{"length": 4096}'})
    task = arguments.override_keys(SelectedTask("t", {"metadata": {"version": 1}}, None))
    assert task.config["metadata"] == {"version": 1, "length": 4096}


def test_documents_by_number_or_share() -> None:
    arguments = read_task_arguments({"samples": '{"a": [2, 0]}', "limit_share": "0.25"})
    assert arguments.choose_documents("a", 3) == frozenset({0, 2})
    assert arguments.choose_documents("b", 9) == frozenset({0, 1, 2})
    assert read_task_arguments({}).choose_documents("b", 9) is None


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"gen_kwarg": "{}"}, "no argument 'gen_kwarg' .did you mean 'gen_kwargs'"),
        ({"gen_kwargs": "temperature=1"}, "gen_kwargs: 'temperature=1' is not JSON"),
        ({"limit_share": "1.5"}, "limit_share"),
        ({"samples": '{"a": [-1]}'}, "samples"),
        ({"fewshot_as_multiturn": "maybe"}, "fewshot_as_multiturn"),
    ],
)
def test_wrong_arguments(given: dict[str, str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read_task_arguments(given)


def test_a_document_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="document 3 of task 'a', which has 3 documents"):
        read_task_arguments({"samples": '{"a": [3]}'}).choose_documents("a", 3)
