"""All orders of options: values over rows and questions against plain counting."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.scoring.originals.opencompass.evaluators import EvaluatedRow, make_evaluator

KEYS = ("X", "Y", "W")
ROTATIONS = [("X", "Y", "W"), ("Y", "W", "X"), ("W", "X", "Y")]
verdicts = st.lists(st.tuples(*[st.booleans()] * 6), min_size=1, max_size=6)


def rows_of(question: int, orders: Sequence[tuple[str, ...]]) -> list[EvaluatedRow]:
    return [EvaluatedRow("X", {"qid": question, "circular_pattern": list(order)}) for order in orders]


def mean(values: list[bool]) -> Any:
    return pytest.approx(100 * sum(values) / len(values))


@given(verdicts)
def test_columns(right: list[tuple[bool, ...]]) -> None:
    orders = list(permutations(KEYS))
    rows = [row for question in range(len(right)) for row in rows_of(question, orders)]
    message = ["X" if is_right else "Y" for question in right for is_right in question]
    arguments = {"circular_pattern": "all_possible"}
    values = make_evaluator("datasets.CircularEvaluator", arguments, is_faithful=False)(message, rows)
    turned = [orders.index(order) for order in ROTATIONS]
    expected: dict[str, Any] = {
        "acc_origin": mean([one[0] for one in right]),
        "perf_origin": mean([one[0] for one in right]),
        "acc_circular": mean([one[at] for one in right for at in turned]),
        "perf_circular": mean([all(one[at] for at in turned) for one in right]),
        "acc_all_possible": mean([is_right for one in right for is_right in one]),
        "perf_all_possible": mean([all(one) for one in right]),
    }
    expected |= {
        f"more_{n}_circular": mean([sum(one[at] for at in turned) >= n for one in right]) for n in (1, 2)
    }
    expected |= {f"more_{n}_all_possible": mean([sum(one) >= n for one in right]) for n in range(1, 6)}
    assert values == expected


def test_a_question_that_lacks_an_order_is_left_out_of_values_over_all_orders() -> None:
    rows = [*rows_of(0, ROTATIONS), *rows_of(1, ROTATIONS[:2])]
    metric = make_evaluator("datasets.CircularEvaluator", {}, is_faithful=False)
    values = metric(["Y", "X", "X", "X", "X"], rows)
    assert (values["perf_circular"], values["more_2_circular"], values["acc_circular"]) == (0.0, 100.0, 80.0)
    assert values["acc_origin"] == 50.0
    assert "1 questions lack" in metric.notes()[0]
    original = make_evaluator("datasets.CircularEvaluator", {}, is_faithful=True)
    assert original(["Y", "X", "X", "X", "X"], rows)["more_2_circular"] == 100.0
    assert not original.notes()


def test_each_row_carries_its_part_of_its_question() -> None:
    metric = make_evaluator("datasets.CircularEvaluator", {}, is_faithful=False)
    metric(["X", "X", "X"], rows_of(0, ROTATIONS))
    assert metric.last_ratios["perf_circular"] == [(1 / 3, 1 / 3)] * 3
    assert metric.last_ratios["acc_origin"] == [(1.0, 1.0), (0.0, 0.0), (0.0, 0.0)]
    assert metric.last_correct == [1.0, 1.0, 1.0]


def test_references_that_hold_the_order_and_the_vote() -> None:
    orders = ["ABCD", "BCDA", "CDAB", "DABC"]
    rows = [EvaluatedRow(f"7--{'ABCD'[order.index('C')]}--{order}", {}) for order in orders]
    metric = make_evaluator("CircularEvaluator", {}, is_faithful=False)
    # Twice the right option C, once B, once nothing.
    values = metric(["C", "B", "D", "?"], rows)
    right = [order["ABCD".index(one)] == "C" for one, order in zip("CBD", orders, strict=False)]
    assert values["acc_4"] == 100 * sum(right) / 4
    assert (values["acc_1"], values["vote_1"], values["perf_4"], values["more_4_0"]) == (100, 100, 0, 100)
    assert values["vote_4"] == 100.0
    assert (values["prior_B"], values["prior_-"]) == (25.0, 25.0)


@pytest.mark.parametrize("gold", ["7--C", "7--E--ABCD", "x"])
def test_a_reference_of_another_form(gold: str) -> None:
    with pytest.raises(AuthorError, match="id--label--order"):
        make_evaluator("CircularEvaluator", {}, is_faithful=False)(["A"], [EvaluatedRow(gold, {})])


def test_options_of_ones_own_over_all_orders() -> None:
    rows = [
        EvaluatedRow(gold, {"A": a, "B": b, "qid": 0, "circular_pattern": list(order)})
        for gold, a, b, order in (("A", "yes", "no", "AB"), ("B", "no", "yes", "BA"))
    ]
    metric = make_evaluator("CircularOptionSimAccEvaluator", {"options": ["A", "B"]}, is_faithful=False)
    assert metric(["a", ""], rows)["acc_circular"] == 50.0
