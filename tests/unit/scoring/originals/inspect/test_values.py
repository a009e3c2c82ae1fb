"""inspect's scorers. The values are those of inspect_ai 0.3.285, unless a comment says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from assay.scoring.originals.inspect.values import exact, f1, includes, match, pattern, reduce_values

REPLIES: list[tuple[str, Any, tuple[int, int, int, int, int, int, int, int, int]]] = [
    # reply, target: includes, match end, begin, any, exact, numeric end, numeric any, numeric begin; exact
    ("Paris", "Paris", (1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("It is Paris.", "Paris", (1, 1, 0, 1, 0, 1, 1, 0, 0)),
    ("Paris is it", "Paris", (1, 0, 1, 1, 0, 0, 1, 1, 0)),
    ("paris", "Paris", (1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("**Paris**", "Paris", (1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("The answer is 18", "18", (1, 1, 0, 1, 0, 1, 1, 1, 0)),
    ("18 apples", "18", (1, 0, 1, 1, 0, 1, 1, 1, 0)),
    ("$18.00", "18", (1, 0, 1, 1, 0, 1, 1, 1, 1)),
    ("1,800", "1800", (0, 0, 0, 0, 0, 1, 1, 1, 1)),
    ("so 5 + 13 = 18.", "18", (1, 1, 0, 1, 0, 1, 1, 0, 0)),
    ("118", "18", (1, 1, 0, 1, 0, 0, 0, 0, 0)),
    ("Rome", ["Paris", "Rome"], (1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("the Paris", "Paris", (1, 1, 0, 1, 0, 1, 1, 0, 1)),
    ("a  b", "a b", (0, 0, 0, 0, 0, 0, 0, 0, 1)),
    ("Paris, France", "Paris France", (0, 0, 0, 0, 0, 0, 0, 0, 1)),
    ("it's", "its", (0, 0, 0, 0, 0, 0, 0, 0, 1)),
    ("18%", "18", (1, 1, 1, 1, 1, 0, 0, 0, 1)),
    ("-18", "18", (1, 1, 1, 1, 1, 0, 0, 0, 1)),
    ("18 and 19", "18", (1, 0, 1, 1, 0, 0, 1, 1, 0)),
    ("1/2", "1/2", (1, 1, 1, 1, 1, 1, 1, 1, 1)),
    ("It is 50% . .", "50%", (1, 1, 0, 1, 0, 1, 1, 0, 0)),
    ("été", "ete", (0, 0, 0, 0, 0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("reply", "target", "values"), REPLIES)
def test_a_reply_has_inspects_values(reply: str, target: Any, values: tuple[int, ...]) -> None:
    targets = [target] if isinstance(target, str) else target
    found = (
        includes(reply, targets),
        *(match(reply, targets, location=location) for location in ("end", "begin", "any", "exact")),
        *(match(reply, targets, location=location, numeric=True) for location in ("end", "any", "begin")),
        exact(reply, targets),
    )
    assert found == values


@pytest.mark.parametrize(
    ("reply", "target", "value"),
    [
        ("It cost $1,800.50", "1800.5", 1),
        ("**18**", "18", 1),
        ("18.", "18.0", 1),
        ("x=18", "18", 0),
        ("18cm", "18", 0),
        ("€18", "18", 1),
        ("1.5e3", "1500", 1),
        ("18", "$18", 1),
        ("18", "18 dollars", 0),
        ("½", "½", 1),
        ("18%", "18%", 1),
    ],
)
def test_numbers_match_by_value(reply: str, target: str, value: int) -> None:
    assert match(reply, [target], numeric=True) == value


@pytest.mark.parametrize(
    ("reply", "target", "value"),
    [
        ("It is Paris.", "Paris", 0.5),
        ("so 5 + 13 = 18.", "18", 0.4),
        ("a b b", "b", 2 / 3),
        ("b b", "b b b", 0.8),
        ("New-York city", "new york city", 1.0),
        ("one two", "two one", 1.0),
        ("1e3", "1000", 1.0),
        ("US$ 5", "5", 2 / 3),
        ("The an a", "the", 0.0),
    ],
)
def test_f1_counts_words(reply: str, target: str, value: float) -> None:
    assert f1(reply, [target]) == pytest.approx(value)


@pytest.mark.parametrize(
    ("written", "message", "reply", "targets", "value"),
    [
        (r"ANSWER: (\w+)", {}, "ANSWER: paris", ["Paris"], 1),
        (r"ANSWER: (\w+)", {"ignore_case": False}, "answer: Paris", ["Paris"], 0),
        (r"(\d+)", {}, "1 then 18", ["18"], 0),
        (r"(\d+) (\d+)", {}, "1 18", ["18"], 1),
        (r"(\d+) (\d+)", {"match_all": True}, "18 18", ["18"], 1),
        (r"(\d+) (\d+)", {"match_all": True}, "1 18", ["18"], 0),
        (r"\d+", {}, "18", ["18"], 1),
        (r"ANSWER: (.*)", {}, "ANSWER: Paris.", ["Paris"], 0),
        (r"ANSWER: (\w+)", {}, "ANSWER: Rome", ["Paris", "Rome"], 1),
    ],
)
def test_a_pattern_compares_its_groups(
    written: str, message: dict[str, bool], reply: str, targets: list[str], value: int
) -> None:
    assert pattern(reply, targets, pattern=written, **message) == value


@pytest.mark.parametrize(
    ("reducer", "values"),
    [
        ("mean", (1 / 3, 2 / 3, 0.5)),
        ("median", (0, 1, 0.5)),
        ("mode", (0, 1, 1)),
        ("max", (1, 1, 1)),
        ("at_least_2", (0, 1, 0)),
        ("pass_at_2", (2 / 3, 1, 1)),
        ("pass_at_1", (1 / 3, 2 / 3, 0.5)),
    ],
)
def test_several_replies_are_reduced_as_in_inspect(reducer: str, values: tuple[float, ...]) -> None:
    found = [reduce_values(one, reducer) for one in ([1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0])]
    assert found == pytest.approx(values)
