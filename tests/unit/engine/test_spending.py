"""The meter of a model and the gate of a budget."""

from __future__ import annotations

import random

import pytest

from assay.core.billing import Bill, Price
from assay.core.budget import Budget
from assay.core.request import Generate, Request, Sampling, make_request
from assay.core.response import Completion, Failure, Finish, Output, Response
from assay.engine.spending import BudgetGate, Meter

PRICE = Price(1_000_000.0, 1_000_000.0)
"""One dollar per token."""


def request(n: int, max_tokens: int = 10) -> Request:
    return make_request("t", str(n), "gen", "answer", 0, Generate(f"question {n}", Sampling(max_tokens)))


def answer(asked: Request, bill: Bill | None, *, cached: bool = False) -> Response:
    outcome = Completion((Output("A", Finish.END, 2),), 3)
    return Response(asked.id, asked.key, outcome, seconds=0.5, cached=cached, bill=bill)


def test_answers_are_charged_as_billed_else_by_their_tokens_and_cached_ones_cost_nothing() -> None:
    meter = Meter("model", "m", PRICE)
    assert meter.add(answer(request(1), Bill(5, 0, 2))) == 7
    assert meter.add(answer(request(2), None)) == 5
    assert meter.add(answer(request(3), Bill(5, 0, 2), cached=True)) == 0
    assert meter.add(Response("x", "y", Failure("timeout", "late"))) == 0
    charge = meter.charge()
    assert charge is not None
    assert (charge.usd, charge.n_priced, charge.n_reused, charge.n_unpriced) == (12, 2, 1, 0)
    assert (charge.n_input_tokens, charge.n_output_tokens) == (8, 4)


def test_without_a_price_only_reported_costs_are_known() -> None:
    meter = Meter("model", "m", None)
    assert meter.add(answer(request(1), Bill(5, 0, 2))) is None
    assert meter.charge() is None
    assert meter.add(answer(request(2), Bill(5, 0, 2, usd=0.25))) == 0.25
    charge = meter.charge()
    assert charge is not None
    assert (charge.usd, charge.n_unpriced) == (0.25, 1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_at_once", [1, 4, 64])
def test_a_run_ends_close_to_its_budget(seed: int, n_at_once: int) -> None:
    """Answers of different lengths arrive in any order; the budget is never exceeded by much."""
    draw = random.Random(seed)
    meter, gate = Meter("model", "m", PRICE), BudgetGate(Budget(usd=1000.0))
    waiting: list[Request] = []
    n = 0
    while True:
        asked = request(n)
        if len(waiting) < n_at_once and gate.may_send([asked], meter):
            gate.reserve(asked, meter)
            waiting.append(asked)
            n += 1
            continue
        if not waiting:
            break
        done = waiting.pop(draw.randrange(len(waiting)))
        gate.settle(answer(done, Bill(5, 0, draw.randint(1, 9))), meter)
    assert 900 <= gate.spent.usd <= 1000 + 9 * 64 / 4
    assert "1,000.00 USD" in str(gate.reached())


def test_what_earlier_starts_spent_counts() -> None:
    meter = Meter("model", "m", PRICE)
    stored = [answer(request(n), Bill(5, 0, 5)) for n in range(3)]
    stored.append(answer(request(4), Bill(5, 0, 5), cached=True))

    def resume(**limits: float) -> BudgetGate:
        gate = BudgetGate(Budget(**limits))  # type: ignore[arg-type]
        gate.remember(stored, meter)
        return gate

    spent = resume(seconds=9.0).spent
    assert (spent.usd, spent.tokens) == (30, 30)
    assert not resume(tokens=30).may_send([request(9)], meter)
    assert not resume(tokens=39).may_send([request(9)], meter)
    assert resume(tokens=40).may_send([request(9)], meter)
    assert not resume(seconds=1.5).may_send([request(9)], meter)


def test_the_first_request_shows_what_others_cost() -> None:
    """Without any idea of the cost, one request is sent; the rest wait for its answer."""
    meter, gate = Meter("model", "m", None), BudgetGate(Budget(usd=1.0))
    assert gate.may_send([request(1)], meter)
    gate.reserve(request(1), meter)
    assert not gate.may_send([request(2)], meter)
    gate.settle(answer(request(1), Bill(5, 0, 2, usd=0.6)), meter)
    assert not gate.may_send([request(2)], meter)


def test_an_answer_of_unknown_cost_ends_a_run_whose_money_is_limited() -> None:
    meter, gate = Meter("model", "m", None), BudgetGate(Budget(usd=1.0))
    gate.reserve(request(1), meter)
    gate.settle(answer(request(1), Bill(5, 0, 2)), meter)
    assert not gate.may_send([request(2)], meter)
    assert gate.reached().problems[0].code == "BUDGET-003"
