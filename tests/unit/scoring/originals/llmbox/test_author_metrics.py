"""Metrics of an author's own over whole lists: values, rows, intervals, and what goes wrong with them."""

from __future__ import annotations

import itertools
import math
import statistics
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import PlanError
from assay.core.method import Method
from assay.core.score import Score, Verdict
from assay.scoring.metrics import LIST_METRICS
from assay.scoring.originals.llmbox.author_metrics import AuthorMetrics
from assay.scoring.scorers.list_values import evaluate_metrics
from fakes.author_lists import Lists, scored


class Share:
    """The share of equal rows, with the value of each row."""

    def __init__(self) -> None:
        self.last_score_lists: dict[str, list[float]] = {}

    def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
        rows = [float(p == r) for p, r in zip(predictions, references, strict=True)]
        self.last_score_lists = {"Share": rows}
        return {"Share": sum(rows) / len(rows)}


class Length:
    """A corpus's value that is no mean: the ratio of all lengths."""

    def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
        return {"Length": sum(map(len, predictions)) / sum(map(len, references))}


class Spread:
    """A value that one row alone does not have."""

    def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
        return {"Spread": statistics.stdev(map(len, predictions))}


class Raising:
    def __init__(self, when: Callable[[str], bool]) -> None:
        self.when = when

    def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
        if any(map(self.when, predictions)):
            raise ValueError("cannot read it")
        return {"Raising": 1.0}


texts = st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, max_size=12)


@given(st.data())
def test_a_mean_is_left_to_the_aggregator(data: st.DataObject) -> None:
    predictions = data.draw(texts)
    references = data.draw(
        st.lists(st.sampled_from(["a", "bb"]), min_size=len(predictions), max_size=len(predictions))
    )
    evaluation, metrics = scored([Share()], predictions, references)
    assert evaluation.metrics == []
    metric = metrics["Share", None]
    assert metric.value == pytest.approx(Share()(predictions, references)["Share"])
    assert metric.n_scored == len(predictions)
    assert metric.is_headline
    assert [score.value for score in evaluation.scores] == [
        float(p == r) for p, r in zip(predictions, references, strict=True)
    ]


@given(st.data())
def test_any_other_value_is_handed_on_with_an_interval_around_it(data: st.DataObject) -> None:
    predictions = data.draw(texts)
    references = data.draw(
        st.lists(st.sampled_from(["a", "bbbb"]), min_size=len(predictions), max_size=len(predictions))
    )
    evaluation, metrics = scored([Length()], predictions, references)
    metric = metrics["Length", None]
    whole = Length()(predictions, references)["Length"]
    assert metric.value == pytest.approx(whole)
    # Where it happens to be the mean over the rows, it has a mean's interval.
    if evaluation.metrics and metric.low is not None and metric.high is not None:
        each = [len(p) / len(r) for p, r in zip(predictions, references, strict=True)]
        assert min(each) - 1e-9 <= metric.low <= metric.high <= max(each) + 1e-9


def test_the_resampled_interval_is_that_of_rows_drawn_with_replacement() -> None:
    """Against the textbook's ratio estimator: the two agree on many rows."""
    predictions = ["a" * (1 + n * 7 % 5) for n in range(250)]
    references = ["b" * (1 + n * 3 % 4) for n in range(250)]
    _, metrics = scored([Length()], predictions, references)
    metric = metrics["Length", None]
    x, y = [len(r) for r in references], [len(p) for p in predictions]
    ratio = sum(y) / sum(x)
    residual = math.fsum((b - ratio * a) ** 2 for a, b in zip(x, y, strict=True)) / (len(x) - 1)
    stderr = math.sqrt(residual / len(x)) / statistics.mean(x)
    assert metric.low is not None
    assert metric.high is not None
    assert (metric.high - metric.low) / (2 * 1.96 * stderr) == pytest.approx(1, abs=0.2)
    assert metric.low < ratio < metric.high


def test_a_value_that_single_rows_do_not_have() -> None:
    evaluation, metrics = scored([Spread(), Share()], ["a", "bbb", "cc"], ["a", "b", "c"])
    assert metrics["Spread", None].value == pytest.approx(1.0)
    assert metrics["Spread", None].is_headline
    assert not metrics["Share", None].is_headline
    assert metrics["Share", None].is_listed
    assert [(score.metric, score.verdict) for score in evaluation.scores] == [
        ("Spread", Verdict.UNGRADED)
    ] * 3
    assert all(list(score.also) == ["Share"] for score in evaluation.scores)
    alone, metrics = scored([Spread()], ["a", "bbb", "cc"], ["a", "b", "c"])
    assert {score.verdict for score in alone.scores} == {Verdict.UNGRADED}
    assert metrics["Spread", None].value == pytest.approx(1.0)
    assert metrics["Spread", None].n_scored == 3


@pytest.mark.parametrize("n_rows", [2, 5, 300])
def test_an_authors_metric_is_called_with_all_rows(n_rows: int) -> None:
    """The original calls it so: with one row a correlation is nan, and numpy warns."""

    class Correlation:
        def __init__(self) -> None:
            self.n_rows: list[int] = []

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            self.n_rows.append(len(predictions))
            pairs = np.corrcoef([len(p) for p in predictions], [len(r) for r in references])
            return {"Correlation": float(pairs[0, 1])}

    metric = Correlation()
    predictions = ["a" * (1 + n * 7 % 5) for n in range(n_rows)]
    references = ["b" * (1 + n * 3 % 4) for n in range(n_rows)]
    expected = Correlation()(predictions, references)["Correlation"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluation, metrics = scored([metric], predictions, references)
    assert set(metric.n_rows) == {n_rows}
    assert metrics["Correlation", None].value == expected
    assert metrics["Correlation", None].n_scored == n_rows
    assert {score.verdict for score in evaluation.scores} == {Verdict.UNGRADED}


def test_the_value_is_what_the_first_call_returned() -> None:
    class Counting:
        n_calls = 0

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            self.n_calls += 1
            return {"Calls": float(self.n_calls)}

    _, metrics = scored([Counting()], ["a", "b", "c"], ["a", "b", "c"])
    assert metrics["Calls", None].value == 1.0


def test_a_slow_metric_has_no_resampled_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Length):
        n_calls = 0

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            self.n_calls += 1
            return super().__call__(predictions, references)

    clock = itertools.count(0.0, 0.5)
    monkeypatch.setattr("assay.scoring.scorers.list_values.monotonic", lambda: next(clock))
    metric = Slow()
    _, metrics = scored([metric], ["a", "bbb"], ["aa", "b"])
    assert metrics["Length", None].value == pytest.approx(4 / 3)
    assert metrics["Length", None].low is None
    assert metric.n_calls == 2


def test_groups_of_a_corpuss_value_are_computed_from_their_rows() -> None:
    predictions, references = ["a", "bbbb", "cc"], ["aaaa", "b", "cc"]
    _, metrics = scored([Length()], predictions, references, groups=["x", "x", "y"])
    assert metrics["Length", "x"].value == pytest.approx(5 / 5)
    assert metrics["Length", "y"].value == pytest.approx(1.0)
    assert metrics["Length", None].value == pytest.approx(7 / 7)
    assert metrics["Length_macro", None].value == pytest.approx(1.0)
    assert (metrics["Length", "x"].n, metrics["Length", "x"].n_scored) == (2, 2)


def test_no_metric_scores_nothing() -> None:
    evaluation, metrics = scored([], ["a"], ["a"])
    assert [score.verdict for score in evaluation.scores] == [Verdict.UNGRADED]
    assert all(metric.value is None for metric in metrics.values())


def test_a_failed_request_is_no_prediction() -> None:
    class Counts(Share):
        n_rows = 0

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            Counts.n_rows = max(Counts.n_rows, len(predictions))
            return super().__call__(predictions, references)

    evaluation, metrics = scored([Counts()], ["a", None, "c"], ["a", "b", "x"])
    assert Counts.n_rows == 2
    assert [score.verdict for score in evaluation.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    assert metrics["Share", None].value == 0.5
    all_failed, metrics = scored([Share()], [None, None], ["a", "b"])
    assert {score.verdict for score in all_failed.scores} == {Verdict.FAILED}
    assert all(metric.value is None for metric in metrics.values())


def test_a_metric_that_raises_on_one_row_fails_that_row_alone() -> None:
    metrics = [Raising(lambda text: text == "bad"), Share()]
    evaluation, found = scored(metrics, ["a", "bad", "c"], ["a", "bad", "x"])
    assert [score.verdict for score in evaluation.scores] == [
        Verdict.UNGRADED,
        Verdict.FAILED,
        Verdict.UNGRADED,
    ]
    why = evaluation.scores[1].why or ""
    assert why.startswith("the metric Raising raised ValueError: cannot read it (")
    assert "test_author_metrics.py line " in why
    assert found["Raising", None].value == 1.0
    # The failed row counts for no metric, also not for those that could judge it.
    assert (found["Share", None].value, found["Share", None].n_scored) == (0.5, 2)
    # The order of the metrics plays no part.
    turned, same = scored(metrics[::-1], ["a", "bad", "c"], ["a", "bad", "x"])
    assert [score.verdict for score in turned.scores] == [Verdict.SCORED, Verdict.FAILED, Verdict.SCORED]
    assert same["Share", None].value == 0.5


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (Raising(lambda text: True), "raised ValueError"),
        (lambda predictions, references: 0.5, "returned float, expected a dict"),
        (lambda predictions, references: None, "returned NoneType"),
        (lambda predictions, references: {"a": "high"}, "expected a number for each name"),
        (lambda predictions, references: {"a": [1.0]}, "expected a number for each name"),
        (lambda predictions: {"a": 1.0}, "TypeError"),
    ],
)
def test_a_metric_that_cannot_be_used_stops_with_its_name(metric: Any, message: str) -> None:
    with pytest.raises(PlanError, match=rf"SCORE-003.*{message}"):
        scored([metric], ["a", "b"], ["a", "b"])


def test_a_metric_that_raises_on_all_rows_together_alone() -> None:
    class Few:
        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            if len(predictions) > 2:
                raise MemoryError("too many")
            return {"Few": 1.0}

    with pytest.raises(PlanError, match=r"SCORE-003.*Few raised MemoryError"):
        scored([Few()], ["a", "b", "c"], ["a", "b", "c"])


@pytest.mark.parametrize("nothing", [math.nan, None])
def test_a_row_without_a_number_is_failed_and_never_a_zero(nothing: float | None) -> None:
    class Gaps:
        def __init__(self) -> None:
            self.last_score_lists: dict[str, list[float | None]] = {}

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            self.last_score_lists = {"Gaps": [nothing if p == "?" else 1.0 for p in predictions]}
            return {"Gaps": 1.0}

    evaluation, metrics = scored([Gaps()], ["a", "?"], ["a", "b"])
    assert [score.verdict for score in evaluation.scores] == [Verdict.SCORED, Verdict.FAILED]
    assert "no number" in (evaluation.scores[1].why or "")
    metric = metrics["Gaps", None]
    assert (metric.value, metric.n_scored, metric.n_failed) == (1.0, 1, 1)


def test_lists_of_another_length_are_not_believed() -> None:
    class Stale(Length):
        last_score_lists: ClassVar = {"Length": [1.0]}

    evaluation, metrics = scored([Stale()], ["a", "b"], ["a", "x"])
    assert [score.verdict for score in evaluation.scores] == [Verdict.UNGRADED] * 2
    assert metrics["Length", None].value == 1.0


def test_percent_metrics_are_shares() -> None:
    accuracy = LIST_METRICS["Accuracy"]()
    evaluation, metrics = scored([accuracy, Share()], ["a", "b"], ["a", "x"])
    assert evaluation.off_scale == {"Share"}
    assert (metrics["Accuracy", None].value, metrics["Accuracy", None].is_share) == (0.5, True)
    assert metrics["Share", None].is_share is False
    (first, second) = evaluation.scores
    assert (first.value, first.also) == (1.0, {"Share": 1.0})
    assert (second.value, second.also) == (0.0, {"Share": 0.0})


def test_bleu_over_the_corpus_is_no_mean() -> None:
    predictions = ["the cat sat on the mat today", "a dog ran in the park yesterday", "no"]
    references = ["the cat sat on the mat today", "the dog ran in a park yesterday", "yes it is so"]
    _, metrics = scored([LIST_METRICS["Bleu"]()], predictions, references)
    assert metrics["Sentence_BLEU", None].value != pytest.approx(metrics["Corpus_BLEU", None].value)
    whole = LIST_METRICS["Bleu"]()(predictions, references)["Corpus_BLEU"]
    assert metrics["Corpus_BLEU", None].value == pytest.approx(whole / 100)
    low, high = metrics["Corpus_BLEU", None].low, metrics["Corpus_BLEU", None].high
    assert low is not None
    assert high is not None
    # sacrebleu's own interval, by a fixed seed.
    assert low < whole / 100 < high
    _, again = scored([LIST_METRICS["Bleu"]()], predictions, references)
    assert again["Corpus_BLEU", None] == metrics["Corpus_BLEU", None]


def test_resampling_asks_the_metric_that_it_is_about_alone() -> None:
    class Dear(Share):
        n_calls = 0

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            Dear.n_calls += 1
            return super().__call__(predictions, references)

    scored([Dear(), Length()], ["a", "bb"], ["a", "b"])
    assert Dear.n_calls == 1


def test_nothing_to_evaluate() -> None:
    values = evaluate_metrics([Share()], [], [])
    assert (values.per_row, values.whole) == ({}, {})
    assert AuthorMetrics(Method.GEN, Lists([Share()], [])).finish().scores == ()


class Verdicts:
    """A metric that asks a judge: its value is the mean over what was graded."""

    scale = 10.0

    def __init__(self) -> None:
        self.judge: Any = None
        self.last_score_lists: dict[str, list[float]] = {}
        self.last_verdicts: list[Score] = []

    def bind(self, judge: Any) -> None:
        self.judge = judge

    def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
        graded = [self.judge(p) for p in predictions]
        self.last_verdicts = [
            Score("t", "s", Method.GEN, "g", Verdict.FAILED, why="no number in it")
            if grade is None
            else Score("t", "s", Method.GEN, "g", Verdict.SCORED, grade)
            for grade in graded
        ]
        known = [grade for grade in graded if grade is not None]
        self.last_score_lists = {"Grade": [math.nan if g is None else g / 10 for g in graded]}
        return {"Grade": statistics.mean(known) if known else math.nan}


def test_a_judgement_that_is_missing_fails_its_row() -> None:
    metric = Verdicts()
    scorer = AuthorMetrics(Method.GEN, Lists([metric], ["a", "b"]))
    assert scorer.needs_judge
    scorer.bind({"a": 8.0, "b": None}.get)  # type: ignore[arg-type]
    evaluation, metrics = scored([metric], ["a", "b"], ["a", "b"])
    assert [score.verdict for score in evaluation.scores] == [Verdict.SCORED, Verdict.FAILED]
    assert evaluation.scores[1].why == "no verdict from the judge: no number in it"
    assert (metrics["Grade", None].value, metrics["Grade", None].n_failed) == (0.8, 1)
    metric.bind({}.get)
    nothing, metrics = scored([metric], ["a", "b"], ["a", "b"])
    assert {score.verdict for score in nothing.scores} == {Verdict.FAILED}
    assert metrics["Grade", None].value is None


def test_an_interval_that_the_metric_knows_itself_is_taken_for_groups_too() -> None:
    class Knows(Length):
        n_calls = 0

        def __init__(self) -> None:
            self.last_intervals: dict[str, tuple[float, float]] = {}

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            Knows.n_calls += 1
            self.last_intervals["Length"] = (0.0, float(len(predictions)))
            return super().__call__(predictions, references)

    predictions, references = ["a", "bbbb", "cc", "d"], ["aaaa", "b", "cc", "dd"]
    _, metrics = scored([Knows()], predictions, references, groups=["x", "x", "x", "y"])
    assert (metrics["Length", None].low, metrics["Length", None].high) == (0.0, 4.0)
    assert metrics["Length", "x"].high == 3.0
    assert metrics["Length", "y"].high is None
    assert Knows.n_calls < 20


def test_chosen_metrics_alone_are_reported_and_others_fail_no_row() -> None:
    metrics = [Raising(lambda text: text == "bb"), Share(), Length()]
    everything = evaluate_metrics(metrics, ["a", "bb", "a"], ["a", "bb", "ccc"])
    assert list(everything.troubles) == [1]
    chosen = evaluate_metrics(metrics, ["a", "bb", "a"], ["a", "bb", "ccc"], ("Length", "Share"))
    assert not chosen.troubles
    assert chosen.whole == {"Length": pytest.approx(4 / 6), "Share": pytest.approx(2 / 3)}
    assert (list(chosen.whole), list(chosen.per_row)) == (["Length", "Share"], ["Share"])


def test_code_that_makes_none_of_every_answer_is_named() -> None:
    class Forgets(Lists):
        rule = "post_processing: first_word"

        def is_unanswered(self, number: int) -> bool:
            return True

    evaluation, metrics = scored([Share()], ["a", "b"], ["c", "d"], author=Forgets)
    assert metrics["Share", None].n_unanswered == 2
    _, metrics = scored([Length()], ["a", "bbb"], ["cc", "d"], author=Forgets)
    counted = metrics["Length", None]
    assert counted.n_scored + counted.n_unanswered <= counted.n
    (note,) = evaluation.notes
    assert note.startswith("first_word returned None for all 2 answers")
    evaluation, _ = scored([Share()], ["a", "b"], ["a", "d"])
    assert list(evaluation.notes) == []


def test_a_value_of_nan_has_a_reason_of_its_own() -> None:
    class Undefined:
        is_costly = True

        def __call__(self, predictions: list[str], references: list[str]) -> dict[str, float]:
            return {"Undefined": math.nan}

    _, metrics = scored([Undefined()], ["a", "b"], ["a", "d"])
    metric = metrics["Undefined", None]
    assert (metric.value, metric.is_headline, metric.why) == (None, True, "Undefined returned nan")
