"""Prices and what they make of a bill."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.billing import Bill, Price, compute_usd, find_price, format_usd, read_prices

PRICE = Price(2.0, 10.0, cached_input=0.5, batch_discount=0.5)


def test_cached_tokens_and_batches_cost_less() -> None:
    bill = Bill(1_000_000, 400_000, 100_000)
    assert compute_usd(bill, PRICE) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10)
    assert compute_usd(bill, PRICE, is_batch=True) == pytest.approx(1.2)
    assert compute_usd(bill, Price(2.0, 10.0)) == pytest.approx(3.0)


def test_a_listed_price_precedes_the_reported_cost() -> None:
    bill = Bill(1_000_000, usd=7.0)
    assert compute_usd(bill, PRICE) == 2.0
    assert compute_usd(bill, None) == 7.0
    assert compute_usd(Bill(1_000_000), None) is None


def test_tokens_that_nobody_counted_have_no_price() -> None:
    assert compute_usd(Bill(), PRICE) is None
    assert compute_usd(Bill(usd=0.25), PRICE) == 0.25


BILLS = st.builds(Bill, st.integers(0, 9), st.just(0), st.integers(0, 9), st.one_of(st.none(), st.just(0.5)))


@given(st.lists(BILLS, min_size=1))
def test_a_sum_of_bills_is_priced_like_its_parts(bills: list[Bill]) -> None:
    total = bills[0]
    for bill in bills[1:]:
        total = total.plus(bill)
    assert total.n_tokens == sum(bill.n_tokens for bill in bills)
    assert (total.usd is None) == any(bill.usd is None for bill in bills)
    if all(bill.n_tokens for bill in bills):
        assert compute_usd(total, PRICE) == pytest.approx(sum(compute_usd(one, PRICE) or 0 for one in bills))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai:gpt-5@https://api.openai.com/v1", 1.0),
        ("openai:gpt-5-mini@https://api.openai.com/v1", 2.0),
        ("openai:gpt-4@https://api.openai.com/v1", 3.0),
        ("openai:gpt-4@http://127.0.0.1:8000/v1", 4.0),
        ("anthropic:some", None),
    ],
)
def test_a_name_precedes_patterns_and_the_longest_pattern_precedes_others(
    model: str, expected: float | None
) -> None:
    prices = {
        "openai:*": Price(3.0, 0),
        "openai:gpt-5*": Price(2.0, 0),
        "openai:gpt-5": Price(1.0, 0),
        "openai:*@http://127.0.0.1:*": Price(4.0, 0),
    }
    found = find_price(prices, model)
    assert (None if found is None else found.input) == expected  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, r'write a table: [prices."openai:gpt-5"]'),
        ({"m": 3}, "write input and output"),
        ({"m": {"input": 1}}, "missing required field `output`"),
        ({"m": {"input": 1, "output": 2, "ouput": 3}}, "unknown field `ouput`"),
        ({"m": {"input": -1, "output": 2}}, ">= 0"),
        ({"m": {"input": 1, "output": 2, "batch_discount": 50}}, "<= 1"),
    ],
)
def test_a_wrong_entry_is_named(table: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read_prices(table)


def test_entries_are_read() -> None:
    table = {"m": {"input": 1, "output": 2.5}, "n": "reported"}
    assert read_prices(table) == {"m": Price(1.0, 2.5), "n": "reported"}


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0.0, "0.00 USD"), (1234.5, "1,234.50 USD"), (0.0123, "0.012 USD"), (0.000012, "0.000012 USD")],
)
def test_small_amounts_keep_their_digits(usd: float, text: str) -> None:
    assert format_usd(usd) == text
