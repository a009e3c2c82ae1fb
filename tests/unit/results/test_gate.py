"""The rule of a gate: its texts, its directions, several checks, and how often it fails by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.results.comparison import MetricComparison, PairedDifference, RunComparison, Side
from assay.results.gate import Gate, GateRule, GateVerdict, decide
from assay.results.paired import (
    compare_means,
    compare_ratios,
    compare_shares,
    compute_hypothesis_p,
    holm,
    mcnemar,
)

SIDES = (Side("base", "", "", "", None), Side("new", "", "", "", None))


def share(only_base: int, only_new: int, n: int = 300) -> PairedDifference:
    """A comparison of right answers, with so many that only one side has right."""
    both = (n - only_base - only_new) // 2
    a = [1.0] * (both + only_base) + [0.0] * (n - both - only_base)
    b = [1.0] * both + [0.0] * only_base + [1.0] * only_new + [0.0] * (n - both - only_base - only_new)
    return compare_shares(np.array(a), np.array(b))


def check(result: PairedDifference, **more: Any) -> MetricComparison:
    given: dict[str, Any] = {
        "task": "t", "is_share": True, "is_factor": False, "higher_is_better": True, **more,
    }  # fmt: skip
    return MetricComparison(
        method="gen", metric="accuracy", first=0, second=1, result=result, is_headline=True, **given
    )


def gate(*checks: MetricComparison, rule: str = "worse", per_group: bool = False) -> Gate:
    return decide(RunComparison(SIDES, checks, ()), GateRule.parse(rule), per_group=per_group)


@pytest.mark.parametrize("text", ["worse", "worse:2", "worse-or-unsure", "worse-or-unsure:0.5"])
def test_a_rule_reads_what_it_writes(text: str) -> None:
    assert str(GateRule.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "worst", "worse:", "worse:-1", "worse:100", "better", "worse:2x", "worse:nan"]
)
def test_other_rules_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="GATE-001"):
        GateRule.parse(text)


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.0, 1.0, 2.0, 5.0]))
def test_a_single_check_is_worse_as_its_interval_and_test_say(lost: int, won: int, margin: float) -> None:
    result = share(lost, won)
    outcome = gate(check(result), rule=f"worse:{margin:g}" if margin else "worse")
    assert result.high is not None
    assert result.low is not None
    (one,) = outcome.checks
    is_below = result.high < -margin / 100
    if margin:
        # The test of a margin is the one that the interval inverts.
        assert (one.verdict is GateVerdict.WORSE) == is_below
    else:
        assert (one.verdict is GateVerdict.WORSE) == (is_below and mcnemar(lost, won) < 0.05)
    assert outcome.has_passed == (one.verdict is not GateVerdict.WORSE)
    strict = gate(check(result), rule=f"worse-or-unsure:{margin:g}" if margin else "worse-or-unsure")
    assert strict.has_passed == (result.low > -margin / 100)


@given(st.integers(1, 60), st.integers(0, 60), st.floats(-0.3, 0.3))
def test_the_p_of_a_hypothesis_is_below_005_exactly_outside_the_interval(
    lost: int, won: int, hypothesis: float
) -> None:
    result = share(lost, won)
    assert result.low is not None
    assert result.high is not None
    if hypothesis == 0 or min(abs(hypothesis - result.low), abs(hypothesis - result.high)) < 1e-6:
        return
    p = compute_hypothesis_p(result, hypothesis, is_factor=False, is_mean=False)
    assert p is not None
    assert (p < 0.05) == (not result.low < hypothesis < result.high)


def test_the_p_of_a_hypothesis_about_means_and_ratios() -> None:
    generator = np.random.default_rng(5)
    a = generator.normal(5, 1, 40)
    b = a + generator.normal(0.3, 0.5, 40)
    ones = np.ones(40)
    for result, is_factor in (
        (compare_means(a, b), False),
        (compare_ratios((a, ones), (b, ones), is_exponential=True), True),
    ):
        assert result.low is not None
        assert result.high is not None
        for bound in (result.low, result.high):
            p = compute_hypothesis_p(result, bound, is_factor=is_factor, is_mean=False)
            assert p == pytest.approx(0.05, rel=1e-6)
    assert (
        compute_hypothesis_p(compare_means(a, b), 0.0, is_factor=False, is_mean=False)
        == compare_means(a, b).p
    )


def test_lower_is_better_turns_the_direction() -> None:
    better = share(5, 40)
    assert not gate(check(better, higher_is_better=False)).has_passed
    assert gate(check(better)).has_passed
    assert gate(check(share(40, 5), higher_is_better=False)).has_passed
    assert gate(check(share(40, 5), higher_is_better=False), rule="worse-or-unsure").has_passed


def test_a_margin_of_a_perplexity_is_a_percentage() -> None:
    texts = np.full(200, 100.0)
    tokens = np.random.default_rng(1).normal(300, 20, 200)
    worse = compare_ratios(
        (tokens, texts), (tokens * 1.03 + np.linspace(-1, 1, 200), texts), is_exponential=True
    )
    assert worse.difference == pytest.approx(math.exp(0.09), rel=0.01)
    one = check(worse, is_share=False, is_factor=True, higher_is_better=False)
    assert not gate(one).has_passed
    assert not gate(one, rule="worse:5").has_passed
    assert gate(one, rule="worse:20").has_passed
    assert gate(one, rule="worse-or-unsure:20").has_passed


def test_a_margin_of_another_scale_is_in_its_own_unit() -> None:
    a = np.linspace(4, 9, 60)
    result = compare_means(a, a - 1.5 + np.linspace(-0.2, 0.2, 60))
    one = check(result, is_share=False)
    assert not gate(one, rule="worse:1").has_passed
    assert gate(one, rule="worse:2").has_passed


def test_several_checks_are_corrected_by_holms_method() -> None:
    results = [share(16, 4), share(10, 10), share(8, 9), share(12, 10)]
    assert results[0].p is not None
    assert results[0].p < 0.05 / 4
    nearly = share(15, 5)
    assert nearly.p is not None
    assert 0.05 / 4 < nearly.p < 0.05
    assert not gate(*map(check, results)).has_passed
    assert not gate(check(nearly)).has_passed
    together = gate(*map(check, [nearly, *results[1:]]))
    assert together.has_passed
    assert [one.p for one in together.checks] == holm(
        [one.compared.result.p or 0.0 for one in together.checks]
    )


def test_a_check_without_an_interval_is_unsure() -> None:
    same = compare_means(np.full(9, 0.5), np.full(9, 0.2))
    assert gate(check(same, is_share=False)).checks[0].verdict is GateVerdict.UNSURE
    assert not gate(check(same, is_share=False), rule="worse-or-unsure").has_passed
    alone = gate(check(share(1, 0, n=1)))
    assert alone.has_passed


def test_subsets_and_groups_are_checks_only_if_asked_for() -> None:
    mean = check(share(10, 10), task="all", n_subsets=2, subsets=("a", "b"))
    parts = [check(share(40, 5), task="a"), check(share(5, 5), task="b"), check(share(9, 9), task="c")]
    group = check(share(9, 1), task="c", group="hard")
    assert [one.compared.task for one in gate(mean, *parts, group).checks] == ["all", "c"]
    everything = gate(mean, *parts, group, per_group=True)
    assert [one.compared.task for one in everything.failing] == ["a"]
    assert len(everything.checks) == 5


def test_only_comparisons_with_the_first_side_count() -> None:
    other = MetricComparison(
        "t", "gen", "accuracy", 1, 2, share(40, 5),
        is_headline=True, is_share=True, is_factor=False, higher_is_better=True,
    )  # fmt: skip
    assert gate(check(share(5, 5)), other).has_passed


@pytest.mark.parametrize("checks", [(), (check(compare_shares(np.array([]), np.array([]))),)])
def test_a_gate_without_pairs_is_an_error(checks: Sequence[MetricComparison]) -> None:
    with pytest.raises(UsageError, match="GATE-004"):
        gate(*checks)


def draw(generator: np.random.Generator, n: int, noise: float, drop: float) -> PairedDifference:
    """Two runs of a model that is right on 75 % of the rows; they disagree on a share of them."""
    is_random = generator.random(n) < 2 * noise
    sure = generator.random(n) < (0.75 - noise) / (1 - 2 * noise)
    a, b = (np.where(is_random, generator.random(n) < 0.5, sure) for _ in range(2))
    b &= generator.random(n) >= drop / 0.75
    return compare_shares(a.astype(float), b.astype(float))


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_how_often_a_gate_fails_by_chance_and_how_often_it_catches_a_drop(noise: float) -> None:
    generator = np.random.default_rng(17)
    by_chance = sum(not gate(check(draw(generator, 300, noise, 0.0))).has_passed for _ in range(400))
    caught = sum(not gate(check(draw(generator, 300, noise, 0.1))).has_passed for _ in range(400))
    assert by_chance <= 0.04 * 400
    assert caught >= 0.95 * 400


def test_many_groups_do_not_fail_by_chance() -> None:
    generator = np.random.default_rng(18)
    failed = sum(
        not gate(*(check(draw(generator, 50, 0.1, 0.0), task=f"t{at}") for at in range(20))).has_passed
        for _ in range(100)
    )
    assert failed <= 5
