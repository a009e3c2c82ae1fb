"""Summarizers of configs: rows, groups, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.summary_group import Subset, SummaryGroup
from assay.dialects.openicl.config.loading import LoadedConfig
from assay.dialects.openicl.summary import ConfigSummary, read_summary


def config(**values: Any) -> LoadedConfig:
    return LoadedConfig(Path("c.py"), values, ())


def groups(*message: dict[str, Any]) -> tuple[SummaryGroup, ...]:
    return read_summary(config(summarizer={"summary_groups": list(message)})).groups


@pytest.mark.parametrize(
    ("message", "joining", "label"),
    [
        ({}, "naive_average", "naive_average"),
        ({"weights": {"a": 2}}, "weighted_average", "weighted_average"),
        ({"std": True}, "standard_deviation", "standard_deviation"),
        ({"sum": True}, "sum", "sum"),
        ({"harmonic_mean": True}, "harmonic_mean", "harmonic_mean"),
        ({"metric": "harmonic_mean"}, "harmonic_mean", "harmonic_mean"),
        ({"metric": "overall", "std": True}, "standard_deviation", "overall"),
        ({"metric": "overall"}, "naive_average", "overall"),
        ({"std": False, "sum": False, "weights": {}}, "naive_average", "naive_average"),
    ],
)
def test_how_a_group_is_joined(message: dict[str, Any], joining: str, label: str) -> None:
    (found,) = groups({"name": "g", "subsets": ["a", ["b", "f1"]], **message})
    assert (found.joining, found.label) == (joining, label)
    assert found.subsets == (Subset("a"), Subset("b", "f1"))


def test_rows_and_groups_by_suffix_where_the_summarizer_names_none() -> None:
    group = {"name": "g", "subsets": ["a"]}
    found = read_summary(
        config(summarizer={"dataset_abbrs": ["--- x ---", ("a", "f1")]}, a_summary_groups=[group])
    )
    assert found.rows == (Subset("--- x ---"), Subset("a", "f1"))
    assert [one.name for one in found.groups] == ["g"]
    assert read_summary(config()) == ConfigSummary()
    assert read_summary(config(other={"summary_groups": [group]}), "other").groups == found.groups


def test_a_summarizer_of_its_own_kind_is_reported() -> None:
    found = read_summary(config(summarizer={"type": "CircularSummarizer", "metric_types": ["x"]}))
    assert "CircularSummarizer: its own table is not supported" in found.notes[0]


@pytest.mark.parametrize(
    ("summarizer", "part"),
    [
        ({"summary_group": []}, "did you mean 'summary_groups'"),
        ({"summary_groups": {"name": "g"}}, "expected a list of dicts"),
        ({"summary_groups": ["g"]}, "summary_groups[0] is 'g', expected a dict"),
        ({"summary_groups": [{"name": "g", "ssubsets": ["a"]}]}, "did you mean 'subsets'"),
        ({"summary_groups": [{"subsets": ["a"]}]}, "has no name"),
        ({"summary_groups": [{"name": "g", "subsets": [3]}]}, "subsets has 3"),
        ({"summary_groups": [{"name": "g", "subsets": ["a"], "weights": {"b": 1}}]}, "weights names 'b'"),
        ({"summary_groups": [{"name": "g", "subsets": ["a"], "weights": {"a": -1}}]}, "is -1"),
        ({"summary_groups": [{"name": "g", "subsets": ["a"], "weights": {"a": 0}}]}, "all 0"),
        ({"summary_groups": [{"name": "g", "subsets": ["a"], "weights": {"a": True}}]}, "is True"),
        (
            {"summary_groups": [{"name": "g", "subsets": ["a"], "transforms": {"a": "open('x')"}}]},
            "is not arithmetic in x: found \"open('x')\"",
        ),
        ({"dataset_abbrs": "a"}, "expected a list"),
        ({"dataset_abbrs": [("a", "b", "c")]}, "expected a name or (name, metric)"),
    ],
)
def test_what_is_wrong_is_reported(summarizer: dict[str, Any], part: str) -> None:
    with pytest.raises(AuthorError) as raised:
        read_summary(config(summarizer=summarizer))
    assert "OPENICL-041 c.py" in str(raised.value)
    assert part in str(raised.value)


def test_a_variable_that_is_not_there() -> None:
    with pytest.raises(AuthorError, match="no summarizer 'smmarizer' \\(did you mean 'summarizer'"):
        read_summary(config(summarizer={}), "smmarizer")
