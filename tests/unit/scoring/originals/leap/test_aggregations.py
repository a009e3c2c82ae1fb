"""The functions that authors of Task classes import, against formulas written down independently."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.scoring.originals.leap import aggregations as known
from assay.scoring.originals.leap.aggregations import (
    AGGREGATIONS,
    AggregationTraits,
    Bleurt,
    get_traits,
    packages_lacking,
)

numbers = st.lists(st.floats(-100, 100), min_size=2, max_size=20)
labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)
flags = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30)
answers = st.text("ab A.,'(《》’ 가나", max_size=12)


@given(numbers)
def test_numbers_of_numbers(values: list[float]) -> None:
    assert known.mean(values) == pytest.approx(np.mean(values), abs=1e-9)
    assert known.median(values) == pytest.approx(np.median(values), abs=1e-9)
    assert known.pop_stddev(values) == pytest.approx(np.std(values), abs=1e-9)
    assert known.sample_stddev(values) == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert known.mean_stderr(values) == pytest.approx(
        np.std(values, ddof=1) / math.sqrt(len(values)), abs=1e-9
    )


def test_a_mean_of_truths_and_of_nothing() -> None:
    assert known.mean([True, np.bool_(False), np.int64(1), 0]) == 0.5
    assert math.isnan(known.mean([]))
    assert math.isnan(known.median([]))


def f1_of(items: Sequence[tuple[int, int]], positive: int) -> float:
    right = sum(gold == prediction == positive for gold, prediction in items)
    message = sum(prediction == positive for _, prediction in items)
    there = sum(gold == positive for gold, _ in items)
    if not right:
        return 0.0
    precision, recall = right / message, right / there
    return 2 * precision * recall / (precision + recall)


@given(flags)
def test_f1_of_the_class_1(items: list[tuple[int, int]]) -> None:
    assert known.f1_score(items) == pytest.approx(f1_of(items, 1))
    assert known.f1_score([(np.int64(g), np.int64(p)) for g, p in items]) == pytest.approx(f1_of(items, 1))


@pytest.mark.parametrize("items", [[(0, 1), (2, 1)], [(0, 2), (2, 0)], [("a", "b")]])
def test_f1_of_other_classes_is_rejected(items: list[tuple[Any, Any]]) -> None:
    with pytest.raises(ValueError, match="macro_f1_score"):
        known.f1_score(items)


@given(labels)
def test_macro_f1_is_the_mean_over_classes_that_are_there(items: list[tuple[int, int]]) -> None:
    classes = {label for pair in items for label in pair}
    expected = math.fsum(f1_of(items, label) for label in classes) / len(classes)
    assert known.macro_f1_score(items) == pytest.approx(expected)


@given(flags)
def test_matthews_of_two_classes(items: list[tuple[int, int]]) -> None:
    counts = Counter(items)
    tp, tn, fn, fp = counts[1, 1], counts[0, 0], counts[1, 0], counts[0, 1]
    below = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert known.matthews_corrcoef(items) == pytest.approx((tp * tn - fp * fn) / below if below else 0.0)


def test_a_question_is_right_when_all_its_answers_are() -> None:
    def doc(question: int, label: int) -> dict[str, Any]:
        return {"idx": {"paragraph": 1, "question": question}, "label": label}

    items = [(True, doc(1, 1)), (False, doc(1, 0)), (True, doc(2, 1)), (True, doc(2, 0))]
    assert known.acc_all(items) == 0.5


def test_small_ones() -> None:
    assert known.yesno(1) == "yes"
    assert known.yesno(False) == "no"
    best = known.metric_max_over_ground_truths(lambda one, other: float(one == other), "a", ["b", "a"])
    assert best == 1.0
    assert known.is_non_str_iterable(["a"])
    assert not known.is_non_str_iterable("a")


pairs = st.lists(st.tuples(st.floats(-50, 0), st.integers(1, 40)), min_size=1, max_size=10)


@given(pairs)
def test_ratios_of_sums(items: list[tuple[float, int]]) -> None:
    total, count = sum(a for a, _ in items), sum(b for _, b in items)
    assert known.weighted_mean(items) == pytest.approx(total / count)
    assert known.weighted_perplexity(items) == pytest.approx(math.exp(-total / count))
    assert known.bits_per_byte(items) == pytest.approx(-total / count / math.log(2))
    assert known.perplexity([a for a, _ in items]) == pytest.approx(math.exp(-total / len(items)))


@given(pairs, st.sampled_from(["weighted_mean", "weighted_perplexity", "bits_per_byte"]))
def test_a_ratio_is_made_of_its_parts(items: list[tuple[float, int]], name: str) -> None:
    function = AGGREGATIONS[name]
    ratio = get_traits(function).ratio
    assert ratio is not None
    parts = [ratio(item) for item in items]
    value = sum(part[0] for part in parts) / sum(part[1] for part in parts)
    assert function(items) == pytest.approx(math.exp(value) if parts[0][2] else value)


def plain(text: str) -> str:
    for mark in ("'", '"', "《", "》", "<", ">", "〈", "〉", "(", ")", "‘", "’"):
        text = text.replace(mark, " ")
    return " ".join("".join(char for char in text.lower() if char not in string.punctuation).split())


@given(answers, answers)
def test_answers_are_compared_in_their_normal_form(one: str, other: str) -> None:
    assert known.normalize_answer(one) == plain(one)
    assert known.exact_match_score(one, other) == (plain(one) == plain(other))
    got, wanted = plain(one).replace(" ", ""), plain(other).replace(" ", "")
    shared = sum(min(got.count(char), wanted.count(char)) for char in set(got))
    expected = 0.0 if not shared else 2 * shared / (len(got) + len(wanted))
    assert known.f1_score_sentence(one, other) == pytest.approx(expected)


REFERENCES = ["나는 오늘 학교에 갔다 그리고 왔다.", "the cat sat on the mat today"]
PREDICTIONS = ["나는 학교에 갔다 그리고 집에 왔다.", "the cat sat on a mat today"]


def test_scores_of_translations_are_sacrebleus() -> None:
    items = list(zip(REFERENCES, PREDICTIONS, strict=True))
    assert known.bleu(items) == pytest.approx(sacrebleu.corpus_bleu(PREDICTIONS, [REFERENCES]).score)
    assert known.chrf(items) == pytest.approx(sacrebleu.corpus_chrf(PREDICTIONS, [REFERENCES]).score)
    assert known.ter(items) == pytest.approx(sacrebleu.corpus_ter(PREDICTIONS, [REFERENCES]).score)
    wrapped = [([reference], [prediction]) for reference, prediction in items]
    assert known.bleu(wrapped) == pytest.approx(known.bleu(items))
    with pytest.raises(ValueError, match="must be a text"):
        known.bleu([("a", ["b", "c"])])


def test_rouge_is_the_share_of_the_references_words() -> None:
    assert known.rouge([("a b c d", "b d d x")]) == 0.5
    assert known.rouge([("a b. c", "c b"), ("x", "")]) == pytest.approx((2 / 3 + 0) / 2)


@given(st.lists(st.sampled_from("abcd"), min_size=1), st.lists(st.sampled_from("abcdxy")))
def test_a_word_counts_once(reference: list[str], prediction: list[str]) -> None:
    assume(reference)
    expected = len(set(reference) & set(prediction)) / len(set(reference))
    assert known.rouge([(" ".join(reference), " ".join(prediction))]) == pytest.approx(expected)


def test_bleurt_is_the_mean_of_what_its_model_says() -> None:
    asked: list[Any] = []

    def compare(model: str, first: Sequence[str], second: Sequence[str]) -> list[float]:
        asked.append((model, list(first), list(second)))
        return [0.25, 0.75]

    assert Bleurt(compare)([("ref", "pred"), (["r1", "r2"], ["p"])]) == 0.5
    assert asked == [("Elron/bleurt-base-128", ["ref", "r1"], ["pred", "p"])]


def test_what_needs_a_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "find_spec", lambda name: None)
    assert packages_lacking(AGGREGATIONS["bert_score"]) == ("bert_score",)
    assert packages_lacking(Bleurt(lambda *_: [])) == ("torch", "transformers")
    assert packages_lacking(known.mean) == ()
    assert get_traits([]) == get_traits(lambda values: 0.0) == AggregationTraits()


def test_every_function_is_known_by_its_name() -> None:
    assert {
        "mean",
        "f1_score",
        "macro_f1_score",
        "weighted_perplexity",
        "kobert_score",
    } <= AGGREGATIONS.keys()
    assert all(function.__name__ == name for name, function in AGGREGATIONS.items())
