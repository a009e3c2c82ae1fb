"""Axes and numbers of plots: few ticks at round values, and no value outside."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from browser.modules import module_address

N = 300


def call(page: Any, module: str, function: str, arguments: list[Any]) -> list[Any]:
    """Return what a function of a module returns for each list of arguments."""
    script = """async ([module, name, lists]) => {
        const called = await import(module);
        return lists.map((list) => called[name](...list));
    }"""
    found: list[Any] = page.evaluate(script, [module_address(module), function, arguments])
    return found


def spread(random: Random, low: float, high: float) -> float:
    """Draw a number whose order of magnitude is even between two."""
    return float(low * (high / low) ** random.random())


def test_even_ticks_are_few_and_inside(browser_page: Any) -> None:
    random = Random(1)
    cases = []
    for _ in range(N):
        low = random.choice((0.0, spread(random, 1e-3, 1e5)))
        cases.append([low, low + spread(random, 1e-3, 1e6), random.randint(2, 10)])
    for (low, high, n), ticks in zip(cases, call(browser_page, "axes", "ticks", cases), strict=True):
        assert len(ticks) <= n + 1
        slack = (high - low) * 1e-6 + low * 1e-9
        assert all(low - slack <= tick <= high + slack for tick in ticks)


def test_an_axis_of_amounts_holds_the_greatest(browser_page: Any) -> None:
    random = Random(2)
    cases = [[0.0], [0.3], *([spread(random, 1e-9, 1e9)] for _ in range(N))]
    for (high,), axis in zip(cases, call(browser_page, "axes", "amountAxis", cases), strict=True):
        assert axis["low"] == 0
        assert axis["high"] >= high * (1 - 1e-9)
        assert axis["ticks"][-1][0] == axis["high"]
        assert 2 <= len(axis["ticks"]) <= 6


def test_ticks_of_counts_are_whole(browser_page: Any) -> None:
    cases = [[high] for high in (*range(200), 999, 12_345, 10**6)]
    for (high,), axis in zip(cases, call(browser_page, "axes", "countAxis", cases), strict=True):
        assert axis["high"] >= high
        assert all(tick == int(tick) for tick, _ in axis["ticks"])
        assert 2 <= len({label for _, label in axis["ticks"]}) == len(axis["ticks"]) <= 6


@pytest.mark.parametrize("is_log", [False, True])
def test_places_keep_the_order_and_stay_inside(browser_page: Any, is_log: bool) -> None:
    random = Random(3)
    ends = [[low := spread(random, 1e-6, 1e3), low * spread(random, 10, 1e8)] for _ in range(N)]
    script = """async ([module, ends, isLog]) => {
        const { timeAxis } = await import(module);
        return ends.map(([low, high]) => {
            const axis = timeAxis(low, high, { isLog });
            const values = [-1, 0, 0.1, 0.5, 0.9, 1, 2].map((share) => low + share * (high - low));
            return [axis.ticks.map(([tick]) => tick), values.map(axis.at)];
        });
    }"""
    found = browser_page.evaluate(script, [module_address("axes"), ends, is_log])
    for (low, high), (ticks, places) in zip(ends, found, strict=True):
        assert (places[0], places[1]) == (0, 0)
        assert places[-2:] == pytest.approx([1, 1])
        assert places == sorted(places)
        assert 1 <= len(ticks) <= 7
        assert ticks == sorted(ticks)
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


@pytest.mark.parametrize(
    ("function", "cases"),
    [
        (
            "time",
            {
                0.0000123: "12.3 µs",
                0.0123: "12.3 ms",
                1.23: "1.23 s",
                200.0: "3.33 min",
                7300.0: "2.03 h",
                0.0: "0 s",
                None: "–",
            },
        ),
        (
            "roundTime",
            {0.1 * 10: "1 s", 0.5: "500 ms", 200: "200 s", 120: "2 min", 1000: "1000 s", 0.0: "0 s"},
        ),
        (
            "significant",
            {
                0: "0",
                0.01234: "0.0123",
                0.99996: "1.00",
                1.5: "1.50",
                12.345: "12.3",
                1234.5: "1,235",
                None: "–",
            },
        ),
        ("short", {0.25: "0.25", 5000: "5000", 20_000: "20k", 1_500_000: "1.5M"}),
        # Only none and all become 0 % and 100 %.
        ("strictPercent", {0: "0 %", 1: "100 %", 0.5: "50.0 %", 0.9999999: "99.99 %", 0.0000001: "0.01 %"}),
        ("countOf", {1: "1 request", 2000: "2,000 requests"}),
    ],
)
def test_numbers_as_text(browser_page: Any, function: str, cases: dict[float | None, str]) -> None:
    lists = [[value, "request"][: 2 if function == "countOf" else 1] for value in cases]
    assert call(browser_page, "numbers", function, lists) == list(cases.values())
