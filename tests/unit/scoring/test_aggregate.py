from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.origin import Origin
from assay.core.ports import Aggregator
from assay.core.sample import Sample
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.core.task import Evaluation
from assay.scoring.aggregate import Disagreement, MeanAggregator
from assay.scoring.statistics import RunningMean, wilson


def score(verdict: Verdict = Verdict.SCORED, value: float | None = None, **changes: Any) -> Score:
    given: dict[str, Any] = {"task": "t", "sample_id": "s", "track": "gen", "metric": "accuracy"}
    return Score(**{**given, "verdict": verdict, "value": value, **changes})


def right(**changes: Any) -> Score:
    return score(value=1.0, **changes)


def wrong(**changes: Any) -> Score:
    return score(value=0.0, **changes)


def totals(*scores: Score) -> dict[tuple[str, str | None], Metric]:
    aggregator: Aggregator = MeanAggregator()
    for one in scores:
        aggregator.add(one)
    return {(metric.metric, metric.group): metric for metric in aggregator.metrics()}


def test_accuracy_has_its_counts_and_wilsons_interval() -> None:
    metric = totals(right(), right(), wrong(is_truncated=True))["accuracy", None]
    assert metric.value == pytest.approx(2 / 3)
    assert (metric.low, metric.high) == wilson(2, 3)
    assert (metric.n, metric.n_scored, metric.n_truncated) == (3, 3, 1)
    assert (metric.is_headline, metric.higher_is_better, metric.method) == (True, True, "gen")


def test_unanswered_counts_as_not_right_and_failed_and_ungraded_are_left_out() -> None:
    metric = totals(
        right(),
        score(Verdict.UNANSWERED),
        score(Verdict.FAILED),
        score(Verdict.UNGRADED),
        score(Verdict.FAILED),
    )["accuracy", None]
    assert metric.value == 0.5
    assert (metric.n, metric.n_scored, metric.n_unanswered, metric.n_failed) == (5, 1, 1, 2)
    assert metric.n_counted == 2


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.UNGRADED])
def test_nothing_graded_has_no_value(verdict: Verdict) -> None:
    metric = totals(score(verdict))["accuracy", None]
    assert (metric.value, metric.low, metric.high, metric.stderr, metric.n) == (None, None, None, None, 1)
    assert metric.is_headline


def test_a_value_that_is_no_number_is_a_failure() -> None:
    metric = totals(right(), score(value=math.nan), score(value=None))["accuracy", None]
    assert (metric.value, metric.n, metric.n_scored, metric.n_failed) == (1.0, 3, 1, 2)


def test_another_metric_that_is_no_number_is_left_out_of_that_metric_alone() -> None:
    found = totals(right(also={"f1": math.nan}), right(also={"f1": 0.5}), wrong(also={"f1": math.nan}))
    assert (found["f1", None].value, found["f1", None].n_scored) == (0.5, 1)
    assert (found["accuracy", None].n_scored, found["accuracy", None].n_failed) == (3, 0)


def test_an_authors_share_has_an_interval_of_possible_values_and_its_digits() -> None:
    own = Metric("t", "gen", "own", None, 0.98765, 0.9, 1.1, 3, 3, 0, 0, 0)
    scale = msgspec.structs.replace(own, metric="bleu", value=38.76543, low=-2.0, high=60.0)
    aggregator = MeanAggregator()
    aggregator.take(
        Evaluation(
            [right(metric=name, also={}) for name in ("own", "bleu")],
            [own, scale],
            off_scale=frozenset({"bleu"}),
            digits=3,
        )
    )
    found = {one.metric: one for one in aggregator.metrics()}
    assert (found["own"].value, found["own"].low, found["own"].high) == (0.988, 0.9, 1.0)
    assert (found["bleu"].value, found["bleu"].low, found["bleu"].high) == (38.765, -2.0, 60.0)


def test_groups_and_their_macro_mean() -> None:
    scores = [
        right(group="b"),
        right(group="b"),
        wrong(group="b"),
        right(group="b"),
        wrong(group="a"),
        right(group="a"),
    ]
    found = totals(*scores)
    assert list(found) == [("accuracy", None), ("accuracy", "b"), ("accuracy", "a"), ("accuracy_macro", None)]
    assert found["accuracy", None].value == pytest.approx(4 / 6)
    assert found["accuracy", "b"].value == 0.75
    assert found["accuracy", "b"].n == 4
    macro = found["accuracy_macro", None]
    assert macro.value == pytest.approx((0.75 + 0.5) / 2)
    error = math.hypot(math.sqrt(0.75 * 0.25 / 3), math.sqrt(0.5 * 0.5 / 1)) / 2
    assert macro.stderr == pytest.approx(error)
    assert macro.high == 1.0
    assert macro.low == pytest.approx(0.625 - 1.959964 * error)
    assert (macro.n, macro.is_headline) == (6, False)
    assert found["accuracy", "b"].is_headline


def test_one_group_has_no_macro_mean() -> None:
    assert ("accuracy_macro", None) not in totals(right(group="a"), right(group="a"))


def test_groups_all_right_still_have_an_interval() -> None:
    scores = [right(group=group) for group in "aabb"]
    macro = totals(*scores)["accuracy_macro", None]
    assert (macro.value, macro.low, macro.high) == (1.0, wilson(4, 4).low, 1.0)


def test_a_group_of_one_leaves_the_macro_error_unknown() -> None:
    macro = totals(right(group="a"), right(group="b"), wrong(group="b"))["accuracy_macro", None]
    assert (macro.value, macro.stderr, macro.low) == (0.75, None, None)


def test_other_metrics_of_a_score() -> None:
    values = [0.2, 0.7, 0.6]
    found = totals(*[right(also={"f1": value, "brier": value}) for value in values])
    expected = RunningMean.of(values).student()
    assert found["f1", None].value == pytest.approx(0.5)
    assert found["f1", None].stderr == pytest.approx(expected.stderr)
    assert (found["f1", None].is_headline, found["f1", None].higher_is_better) == (False, True)
    assert found["f1", None].low == 0.0
    assert found["brier", None].higher_is_better is False
    assert found["brier", None].low == pytest.approx(expected.low)


def test_other_metrics_are_averaged_over_the_samples_that_carry_them() -> None:
    metric = totals(
        right(also={"f1": 1.0}), right(), score(Verdict.UNANSWERED, also={"f1": 0.0}), score(Verdict.FAILED)
    )["f1", None]
    assert (metric.value, metric.n_scored, metric.n_unanswered, metric.n, metric.n_failed) == (
        0.5,
        1,
        1,
        4,
        1,
    )


def test_mass_is_averaged_over_graded_and_ungraded_samples() -> None:
    found = totals(right(mass=0.9), score(Verdict.UNGRADED, mass=0.5), score(Verdict.FAILED))
    assert found["mass", None].value == pytest.approx(0.7)
    assert found["mass", None].n_scored == 2
    assert found["accuracy", None].n_scored == 1


def test_clusters_widen_the_interval() -> None:
    spread = [
        (right if cluster < 3 else wrong)(cluster=str(cluster)) for cluster in range(6) for _ in range(10)
    ]
    clustered, simple = (
        totals(*spread)["accuracy", None],
        totals(*[right()] * 30, *[wrong()] * 30)["accuracy", None],
    )
    assert clustered.value == simple.value == 0.5
    assert clustered.stderr == pytest.approx(math.sqrt(6 / 5 * 6 * 25) / 60)
    assert clustered.low is not None
    assert simple.low is not None
    assert clustered.low < simple.low


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_shares_without_spread_count_each_cluster_once(share: float) -> None:
    """Two questions of four rows each are two observations, not eight."""
    scores = [
        right(cluster=question, ratios={"perfect": Ratio(share / 4, 1 / 4)})
        for question in "pq"
        for _ in range(4)
    ]
    metric = totals(*scores)["perfect", None]
    assert metric.value == share
    assert (metric.low, metric.high) == pytest.approx(wilson(2 * share, 2))


def test_a_cluster_may_lie_in_several_groups() -> None:
    scores = [right(group=group, cluster="p") for group in "ab"] + [
        wrong(group=group, cluster="q") for group in "ab"
    ]
    whole = totals(*scores)["accuracy", None]
    assert whole.stderr == pytest.approx(math.sqrt(2 / 1 * 2) / 4)


def test_order_of_first_appearance_is_kept() -> None:
    aggregator = MeanAggregator()
    for task, track in (("z", "ppl"), ("a", "gen"), ("z", "gen"), ("z", "ppl")):
        aggregator.add(right(task=task, track=track))
    assert [(metric.task, metric.method) for metric in aggregator.metrics()] == [
        ("z", "ppl"),
        ("a", "gen"),
        ("z", "gen"),
    ]


def test_an_authors_own_metric_is_a_headline() -> None:
    found = totals(score(value=0.25, metric="rouge", also={"length": 7.0}))
    assert found["rouge", None].is_headline
    assert found["rouge", None].value == 0.25
    assert not found["length", None].is_headline


def test_metrics_may_be_read_while_scores_still_come() -> None:
    aggregator = MeanAggregator()
    aggregator.add(right())
    assert aggregator.metrics()[0].value == 1.0
    aggregator.add(wrong())
    assert aggregator.metrics()[0].value == 0.5


SCORES = st.builds(
    lambda task, track, verdict, value, group, cluster: score(
        verdict,
        value if verdict is Verdict.SCORED else None,
        task=task,
        track=track,
        group=group,
        cluster=cluster,
        also={"length": 7.0},
        mass=0.5,
    ),
    st.sampled_from("tu"),
    st.sampled_from(["ppl", "gen"]),
    st.sampled_from(Verdict),
    st.sampled_from([0.0, 1.0, 0.25]),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, "c", "d"]),
)


@given(st.lists(SCORES, max_size=40))
def test_what_is_read_while_scores_come_is_what_comes_out(scores: list[Score]) -> None:
    """The quick way to what each method is judged by, after every score, against all numbers in full."""
    aggregator = MeanAggregator()
    for one in scores:
        aggregator.add(one)
        whole = [m for m in aggregator.metrics() if m.is_headline and m.group is None]
        assert aggregator.headlines() == whole


def test_a_whole_lists_own_number_is_a_headline_once_it_is_there() -> None:
    aggregator = MeanAggregator()
    assert aggregator.headlines() == []
    given_ = Metric("t", "gen", "bleu", None, 31.0, None, None, 1, 1, 0, 0, 0, is_headline=True)
    aggregator.take(Evaluation([score(value=0.25, metric="bleu")], [given_], off_scale=frozenset({"bleu"})))
    whole = [m for m in aggregator.metrics() if m.is_headline and m.group is None]
    assert aggregator.headlines() == whole
    assert any(m.value == 31.0 for m in whole)


@given(st.permutations([("a", 1.0), ("a", 0.0), ("b", 1.0), (None, 1.0), ("b", None), ("a", 1.0)]))
def test_order_of_scores_does_not_change_the_numbers(rows: list[tuple[str | None, float | None]]) -> None:
    found = totals(
        *[
            score(Verdict.UNANSWERED if value is None else Verdict.SCORED, value, group=group)
            for group, value in rows
        ]
    )
    assert found["accuracy", None].value == pytest.approx(4 / 6)
    assert found["accuracy_macro", None].value == pytest.approx((2 / 3 + 1 / 2) / 2)


def text(surprise: float, n_tokens: int, **changes: Any) -> Score:
    ratio = Ratio(surprise, n_tokens, is_exponential=True)
    bits = Ratio(surprise, 2 * n_tokens)
    given = {"metric": "perplexity_token", "ratios": {"perplexity_token": ratio, "bits_per_byte": bits}}
    return score(value=math.exp(surprise / n_tokens), **{**given, **changes})


def test_a_perplexity_is_a_ratio_of_sums_and_no_mean_of_the_texts_own() -> None:
    found = totals(text(6.0, 2), text(10.0, 10))
    metric = found["perplexity_token", None]
    assert metric.value == pytest.approx(math.exp(16 / 12))
    assert metric.value != pytest.approx((math.exp(3) + math.exp(1)) / 2)
    assert (metric.n, metric.n_scored, metric.is_headline) == (2, 2, True)
    assert metric.higher_is_better is False
    assert found["bits_per_byte", None].value == pytest.approx(16 / 24)
    assert not found["bits_per_byte", None].is_headline


def test_perplexities_of_groups_have_no_macro_mean() -> None:
    found = totals(text(6.0, 2, group="a"), text(10.0, 10, group="b"), text(5.0, 5, group="b"))
    assert found["perplexity_token", "b"].value == pytest.approx(math.e)
    assert found["perplexity_token", None].value == pytest.approx(math.exp(21 / 17))
    assert not any(name.endswith("_macro") for name, _ in found)


def test_failed_texts_are_counted_and_left_out_wherever_they_stand() -> None:
    lost = score(Verdict.FAILED, metric="perplexity_token")
    for scores in ((lost, text(6.0, 2)), (text(6.0, 2), lost)):
        metric = totals(*scores)["perplexity_token", None]
        assert metric.value == pytest.approx(math.exp(3))
        assert (metric.n, metric.n_scored, metric.n_failed) == (2, 1, 1)
        assert (metric.low, metric.stderr) == (None, None)
    assert totals(lost)["perplexity_token", None].value is None


def test_the_interval_of_a_perplexity_does_not_fall_below_one() -> None:
    metric = totals(text(0.1, 10), text(30.0, 11))["perplexity_token", None]
    assert metric.low == 1.0
    assert metric.high is not None
    assert metric.high > (metric.value or math.inf)


def by(track: str, answer: str | None, verdict: Verdict = Verdict.SCORED) -> Score:
    return score(verdict, track=track, answer=answer)


SAMPLE = Sample("s", {}, Origin("here"), choices=("one", "two"), labels=("A", "B"))


@pytest.mark.parametrize(
    ("scores", "differs"),
    [
        ([by("ppl", "A"), by("gen", "A")], False),
        ([by("ppl", "A"), by("gen", "B")], True),
        ([by("ppl", "A"), by("prob", "A"), by("gen", None, Verdict.UNANSWERED)], True),
        ([by("ppl", None, Verdict.UNANSWERED), by("gen", None, Verdict.UNANSWERED)], False),
        ([by("ppl", "A"), by("gen", None, Verdict.FAILED)], False),
        ([by("ppl", "A", Verdict.UNGRADED), by("gen", "B", Verdict.UNGRADED)], True),
        # A text may mean an option, and a value names no answer.
        ([by("ppl", "A"), by("gen", "It is one.")], None),
        ([by("ppl", "A"), by("prob", "B"), by("gen", "It is one.")], True),
        ([by("cot", "It is one."), by("gen", "It is one.")], False),
        ([by("cot", "It is one."), by("gen", "It is two.")], True),
        ([by("ppl", None), by("gen", "A")], None),
        ([by("ppl", None), by("gen", None, Verdict.UNANSWERED)], None),
        ([by("ppl", None), by("prob", "A"), by("gen", None, Verdict.UNANSWERED)], True),
        ([by("ppl", None), by("gen", None, Verdict.FAILED)], False),
    ],
)
@pytest.mark.parametrize("n_late", [0, 1, 2])
def test_disagreement(scores: list[Score], differs: bool | None, n_late: int) -> None:
    disagreement = Disagreement({"t": len(scores)})
    at_once, late = scores[: len(scores) - n_late], scores[len(scores) - n_late :]
    disagreement.add("t", SAMPLE, at_once)
    if late:
        assert disagreement.counts() == {}
        disagreement.add_late([msgspec.structs.replace(one, sample_id="s") for one in late])
    assert disagreement.counts() == {"t": int(differs is True)}
    assert disagreement.count_undecided() == ({"t": 1} if differs is None else {})


def test_disagreement_counts_by_task_and_only_with_several_methods() -> None:
    disagreement = Disagreement({"one": 1, "t": 2})
    disagreement.add("one", SAMPLE, [right(task="one")])
    disagreement.add("unscored", SAMPLE, [])
    for answer in "AB":
        disagreement.add("t", SAMPLE, [by("ppl", "A"), by("gen", answer)])
    assert disagreement.counts() == {"t": 1}
    disagreement.add_late([right(task="one")])


def test_the_scale_and_direction_of_a_metric_are_those_of_its_own_task() -> None:
    aggregator = MeanAggregator()
    named = frozenset({"accuracy"})
    own = [score(value=50.0, task="own", group=group) for group in ("a", "b")]
    aggregator.take(Evaluation(own, lower_is_better=named, off_scale=named))
    aggregator.take(Evaluation([right(task="other"), wrong(task="other")]))
    found = {(one.task, one.metric, one.group): one for one in aggregator.metrics()}
    own_mean, other = found["own", "accuracy", None], found["other", "accuracy", None]
    assert (own_mean.value, own_mean.is_share, own_mean.higher_is_better) == (50.0, False, False)
    assert (other.value, other.is_share, other.higher_is_better) == (0.5, True, True)
    assert (other.low, other.high) == wilson(1, 2)
    # The mean of the groups is a number of the same kind.
    macro = found["own", "accuracy_macro", None]
    assert (macro.is_share, macro.higher_is_better) == (False, False)
    assert [one.is_share for one in aggregator.headlines()] == [False, True]
