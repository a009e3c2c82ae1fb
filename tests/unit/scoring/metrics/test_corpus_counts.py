from __future__ import annotations

import random
import tracemalloc

import pytest
import sacrebleu
from sacrebleu.metrics.base import Metric as SacreMetric

from assay.scoring.metrics import corpus_counts
from assay.scoring.metrics.corpus_counts import CorpusCounts
from assay.scoring.metrics.translation import add_rows, bleu_counts, chrf_counts

WORDS = ["the", "fox", "runs", "home", "red", "blue", "sleeps"]
METRICS = [sacrebleu.BLEU, sacrebleu.CHRF, sacrebleu.TER]


def corpus(n: int, *, seed: int = 1) -> tuple[list[str], list[str]]:
    """Make texts that share most of their words with the right ones."""
    draw = random.Random(seed)
    golds = [" ".join(draw.choices(WORDS, k=draw.randint(3, 12))) for _ in range(n)]
    texts = [
        " ".join(draw.choice(WORDS) if draw.random() < 0.3 else word for word in gold.split())
        for gold in golds
    ]
    return texts, golds


def added(metric: type[SacreMetric], texts: list[str], golds: list[str]) -> CorpusCounts:
    return add_rows(CorpusCounts(metric()), texts, [[gold] for gold in golds])


@pytest.mark.parametrize("n", [2, 7, 60])
def test_intervals_are_those_of_sacrebleu(n: int) -> None:
    texts, golds = corpus(n)
    for metric, counts in ((sacrebleu.BLEU(), bleu_counts()), (sacrebleu.CHRF(), chrf_counts())):
        score = metric.corpus_score(texts, [golds], n_bootstrap=1000)
        found = add_rows(counts, texts, [[gold] for gold in golds])
        # sacrebleu's mean of chrF is a float32.
        assert found.interval() == pytest.approx((score._mean - score._ci, score._mean + score._ci), rel=1e-5)
        assert found.value() == score.score


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("texts", "golds"),
    [
        (["猫がいる", "the fox"], ["犬", "the fox"]),
        (["猫", "犬"], ["the fox", "the dog"]),
        (["", "the fox"], ["the dog", "the fox"]),
        (["", ""], ["the dog", "the fox"]),
        (["x", "y", "the fox runs home"], ["", "", "the fox runs home"]),
    ],
)
def test_an_interval_exists_where_some_draws_match_nothing(
    metric: type[SacreMetric], texts: list[str], golds: list[str]
) -> None:
    found = added(metric, texts, golds)
    low, high = found.interval() or (1.0, 0.0)
    assert 0 <= low <= high, "no value is below 0, although sacrebleu's mean less its width can be"
    assert type(low) is float


@pytest.mark.parametrize("metric", METRICS)
def test_the_value_is_exact_however_rows_are_kept(
    metric: type[SacreMetric], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, golds = corpus(700)
    monkeypatch.setattr(corpus_counts, "MAX_DRAWN", 100)
    found = added(metric, texts, golds)
    assert not found.has_rows
    assert found.n == 700
    assert found.value() == pytest.approx(metric().corpus_score(texts, [golds]).score, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_interval_of_sums_comes_near_to_the_drawn_one(
    metric: type[SacreMetric], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, golds = corpus(3_000)
    drawn = added(metric, texts, golds).interval()
    monkeypatch.setattr(corpus_counts, "MAX_DRAWN", 100)
    found = added(metric, texts, golds).interval()
    assert drawn is not None
    assert found is not None
    assert found[1] - found[0] == pytest.approx(drawn[1] - drawn[0], rel=0.06)
    assert sum(found) / 2 == pytest.approx(sum(drawn) / 2, abs=0.05 * (drawn[1] - drawn[0]))


def test_what_no_row_has_does_not_widen_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_counts, "MAX_DRAWN", 10)
    # No word is ever right, some texts are empty, and one word of all is matched once.
    nothing = added(sacrebleu.BLEU, ["x y z", ""] * 40, ["a b c"] * 80)
    low, high = nothing.interval() or (1.0, 0.0)
    assert 0.0 <= low <= nothing.value() <= high < 1.0
    once = added(sacrebleu.BLEU, ["a", *["x y z"] * 79], ["a b c"] * 80)
    low, high = once.interval() or (1.0, 0.0)
    assert low <= once.value() <= high <= 100


def test_one_row_has_no_interval() -> None:
    assert add_rows(bleu_counts(), ["a b"], [["a b"]]).interval() is None


def test_memory_does_not_grow_with_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_counts, "MAX_DRAWN", 200)
    counts = bleu_counts()
    add_rows(counts, ["the red fox runs home"] * 300, [["the red fox sleeps"]] * 300)
    tracemalloc.start()
    add_rows(counts, ["the red fox runs home"] * 2_000, [["the red fox sleeps"]] * 2_000)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    # The lists that are passed aside, some rows that wait; 2,000 kept rows are 300 kB.
    assert held < 60_000


def test_draws_take_memory_for_rows_and_not_for_all_draws() -> None:
    n = 2_000
    counts = add_rows(bleu_counts(), ["the red fox runs home"] * n, [["the red fox sleeps"]] * n)
    tracemalloc.start()
    counts.interval()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * 4_000
