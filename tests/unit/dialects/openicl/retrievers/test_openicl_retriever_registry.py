"""Retrievers by name: valid configs, and errors for the others."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.difference import select_differences
from assay.core.errors import AuthorError, UsageError
from assay.core.origin import Origin
from assay.dialects.openicl.retrievers.differences import DIFFERENCES
from assay.dialects.openicl.retrievers.registry import RETRIEVERS, make_retriever
from assay.dialects.openicl.retrievers.retriever import ZeroRetriever

NEEDED: dict[str, dict[str, Any]] = {
    "FixKRetriever": {"fix_id_list": [0, 2]},
    "SlidingWindowRetriever": {"k": 2},
}


def wrong(name: str, arguments: dict[str, Any]) -> str:
    with pytest.raises(AuthorError) as caught:
        make_retriever(name, arguments, where=Origin("quiz_gen.py quiz_datasets[0]"))
    assert {problem.code for problem in caught.value.problems} == {"OPENICL-009"}
    assert all("quiz_datasets[0]" in str(problem.where) for problem in caught.value.problems)
    return str(caught.value)


def test_an_unknown_name_is_reported_the_nearest() -> None:
    assert "there is no retriever 'FixkRetriever' (did you mean 'FixKRetriever'?)" in wrong(
        "FixkRetriever", {}
    )


def test_everything_wrong_with_the_arguments_is_said_at_once() -> None:
    message = wrong("FixKRetriever", {"fix_ids": [0], "ice_num": "three", "ice_separator": 1})
    assert "no argument 'fix_ids' (did you mean 'fix_id_list'?)" in message
    assert "the argument 'fix_id_list' is missing" in message
    assert "ice_num is 'three'" in message
    assert "ice_separator is 1" in message


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("FixKRetriever", {"fix_id_list": ["0"]}, "fix_id_list is ['0']"),
        ("FixKRetriever", {"fix_id_list": 3}, "fix_id_list is 3"),
        ("RandomRetriever", {"ice_num": -1}, "ice_num is -1"),
        ("RandomRetriever", {"ice_num": True}, "ice_num is True"),
        ("ZeroRetriever", {"ice_num": 3}, "no argument 'ice_num'"),
        ("SlidingWindowRetriever", {"k": 0}, "k is 0"),
        ("DPPRetriever", {"scale_factor": 0.0}, "scale_factor is 0.0"),
        ("MDLRetriever", {"ice_num": 8, "candidate_num": 4}, "candidate_num is 4, fewer than the 8"),
        ("DPPRetriever", {"ice_num": 2}, "candidate_num is 1, fewer than the 2"),
    ],
)
def test_a_wrong_value_is_named(name: str, arguments: dict[str, Any], words: str) -> None:
    assert words in wrong(name, arguments)


def test_a_range_is_a_list_of_rows() -> None:
    assert make_retriever("FixKRetriever", {"fix_id_list": range(3)}).count == 3


@pytest.mark.parametrize("name", RETRIEVERS)
def test_separators_are_there_for_the_templates(name: str) -> None:
    retriever = make_retriever(name, NEEDED.get(name, {}))
    expected = "" if name == "ZeroRetriever" else "\n"
    assert (retriever.ice_separator, retriever.ice_eos_token) == (expected, expected)
    message = make_retriever(name, {**NEEDED.get(name, {}), "ice_separator": "|", "ice_eos_token": "!"})
    assert (message.ice_separator, message.ice_eos_token) == ("|", "!")


@pytest.mark.parametrize(
    "name", [name for name in RETRIEVERS if name not in ("ZeroRetriever", "FixKRetriever")]
)
def test_another_number_of_examples_can_be_asked_for(name: str) -> None:
    message = make_retriever(name, {**NEEDED.get(name, {}), "ice_separator": "|"})
    other = message.with_count(7)
    assert (type(other), other.count, other.ice_separator) == (type(message), 7, "|")


@pytest.mark.parametrize("name", RETRIEVERS)
def test_no_examples_are_no_separators_either(name: str) -> None:
    assert make_retriever(name, NEEDED.get(name, {})).with_count(0) == ZeroRetriever()


def test_fewer_of_fixed_rows_are_the_first_of_them() -> None:
    retriever = make_retriever("FixKRetriever", {"fix_id_list": [4, 2, 0]}).with_count(2)
    assert retriever == make_retriever("FixKRetriever", {"fix_id_list": [4, 2]})


@pytest.mark.parametrize("name", ["ZeroRetriever", "FixKRetriever"])
def test_more_than_a_retriever_knows_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match=f"OPENICL-030 --shots 5: {name} has exactly"):
        make_retriever(name, NEEDED.get(name, {})).with_count(5)


def test_only_some_need_an_encoder_or_the_model() -> None:
    assert [name for name, one in RETRIEVERS.items() if one.needs_embedder] == [
        "TopkRetriever",
        "MDLRetriever",
        "DPPRetriever",
        "VotekRetriever",
    ]
    assert [name for name, one in RETRIEVERS.items() if one.needs_model] == ["MDLRetriever"]


def test_differences_touch_the_retrievers_they_are_about() -> None:
    def touching(name: str) -> set[str]:
        retriever = make_retriever(name, NEEDED.get(name, {}))
        return set(select_differences(DIFFERENCES, retriever))

    assert touching("ZeroRetriever") == set()
    assert touching("FixKRetriever") == {"own_row", "negative_index"}
    assert touching("RandomRetriever") == {"own_row", "draws"}
    assert {"own_row", "encoder", "draws", "mdl_model", "mdl_loss"} <= touching("MDLRetriever")
    names = list(DIFFERENCES)
    assert len(names) == len(set(names)) == len(set.union(*map(touching, RETRIEVERS)))
