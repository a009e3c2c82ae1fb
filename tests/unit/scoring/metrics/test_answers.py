from __future__ import annotations

import re
import string
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.scoring.metrics import F1, Em
from assay.scoring.metrics.answers import combine_references
from assay.scoring.metrics.words import bag_f1, squad_form, treebank_words

TEXTS = st.lists(
    st.sampled_from(["a", "The", "and", "fox", "fox's", "4", "4.5", "-", "runs", "well-known", "(red)"]),
    max_size=8,
).map(" ".join)


def slow_form(text: str) -> str:
    """The normal form written out step by step, as an oracle."""
    kept = "".join(character for character in text.lower() if character not in string.punctuation)
    words = [word for word in kept.split() if word not in {"a", "an", "the", "and"}]
    return " ".join(words)


def slow_f1(prediction: str, reference: str) -> float:
    got, wanted = slow_form(prediction).split(), slow_form(reference).split()
    if not got or not wanted:
        return float(got == wanted)
    shared, left = 0, list(wanted)
    for word in got:
        if word in left:
            left.remove(word)
            shared += 1
    if not shared:
        return 0.0
    precision, recall = shared / len(got), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


@given(TEXTS, TEXTS)
def test_em_and_f1_agree_with_the_formulas_written_out(prediction: str, reference: str) -> None:
    em, f1 = Em(), F1(word_tokenize="split")
    em([prediction], [reference])
    f1([prediction], [reference])
    assert em.last_score_lists["EM"] == [float(slow_form(prediction) == slow_form(reference))]
    assert f1.last_score_lists["F1"] == [pytest.approx(slow_f1(prediction, reference))]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_leave_one_out_is_the_mean_of_the_best_without_each(scores: list[float]) -> None:
    without = [max(scores[:index] + scores[index + 1 :]) for index in range(len(scores))]
    assert combine_references(scores, "leave_one_out") == pytest.approx(sum(without) / len(without))


def test_one_reference_counts_as_it_is_when_one_is_left_out() -> None:
    assert Em(multiref_strategy="leave_one_out")(["x"], [["x"]]) == {"EM": 100.0}


def test_several_references() -> None:
    references = [["red", "dark red", "crimson"]]
    assert Em()(["Crimson."], references) == {"EM": 100.0}
    assert Em(multiref_strategy="leave_one_out")(["Crimson."], references) == {"EM": pytest.approx(200 / 3)}
    result = F1(multiref_strategy="leave_one_out")(["red"], references)
    assert result == {"F1": pytest.approx(100 * (2 * 1 + 2 / 3) / 3)}


def test_a_plain_text_is_one_reference_and_not_its_characters() -> None:
    assert Em()(["x"], ["xyz"]) == {"EM": 0.0}
    assert Em()(["xyz"], ["xyz"]) == {"EM": 100.0}
    assert F1()(["x y"], ["x z"]) == {"F1": 50.0}


def test_a_reference_of_several_parts_is_joined() -> None:
    assert Em()(["Tom, Ann"], [[("Tom", "Ann"), ("x",)]]) == {"EM": 100.0}


def test_em_drops_and_as_documented() -> None:
    assert Em()(["salt and pepper"], ["salt, pepper"]) == {"EM": 100.0}
    assert squad_form("salt and pepper") == "salt and pepper"


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [(4, "4"), (None, "x"), ("x", 4), ("x", []), ("x", [4]), ("x", None), (["x", 1], "x")],
)
@pytest.mark.parametrize("metric", [Em(), F1()])
def test_what_is_no_text_is_an_error(metric: Em | F1, prediction: Any, reference: Any) -> None:
    with pytest.raises(AuthorError, match=r"METRIC-002 .*row 2"):
        metric(["x", prediction], ["x", reference])


@pytest.mark.parametrize(
    "options",
    [
        {"multiref_strategy": "min"},
        {"word_tokenize": "nlkt"},
        {"normalize_level": "all"},
        {"align_bag": "bag"},
    ],
)
def test_unknown_options_are_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(AuthorError, match="METRIC-003 F1"):
        F1(**options)


def test_the_treebank_tokenizer_needs_no_downloads() -> None:
    assert treebank_words("Don't stop (now).") == ["Do", "n't", "stop", "(", "now", ")", "."]


@pytest.mark.parametrize(("bag", "expected"), [("counter", 2 * 2 / (3 + 3)), ("set", 1.0)])
def test_repeats_count_in_a_counter_and_not_in_a_set(bag: Literal["counter", "set"], expected: float) -> None:
    metric = F1(align_bag=bag, word_tokenize="split")
    assert metric(["red red blue"], ["red blue blue"]) == {"F1": pytest.approx(100 * expected)}


def test_where_words_are_parted() -> None:
    prediction, reference = ["well-known man"], ["known man"]
    assert F1(word_tokenize="regex", normalize_level="token")(prediction, reference) == {
        "F1": pytest.approx(80.0)
    }
    assert F1(word_tokenize="split", normalize_level="token")(prediction, reference) == {"F1": 50.0}


def test_words_of_any_script() -> None:
    assert F1(word_tokenize="unicode")(["2008年北京"], ["北京2008年"]) == {"F1": 100.0}
    assert F1()(["2008年北京"], ["北京2008年"]) == {"F1": 0.0}


def test_the_level_of_normalisation() -> None:
    prediction, reference = ["THE fox"], ["a fox"]
    assert F1(word_tokenize="split", normalize_level="text")(prediction, reference) == {"F1": 100.0}
    # The articles have become one and the same empty word: as in the original.
    assert F1(word_tokenize="split", normalize_level="token")(["the dog"], ["a fox"]) == {"F1": 50.0}
    assert F1(word_tokenize="split", normalize_level="text")(["the dog"], ["a fox"]) == {"F1": 0.0}


@given(
    TEXTS,
    TEXTS,
    st.sampled_from(["nltk", "split", "regex", "unicode"]),
    st.sampled_from(["token", "text", "both"]),
)
def test_forcing_numbers_changes_no_score(
    prediction: str,
    reference: str,
    word_tokenize: Literal["nltk", "split", "regex", "unicode"],
    level: Literal["token", "text", "both"],
) -> None:
    """The documented fact about the original's option; a reference of numbers shares only numbers."""
    plain = F1(word_tokenize=word_tokenize, normalize_level=level)
    forced = F1(word_tokenize=word_tokenize, normalize_level=level, force_number_match=True)
    assert forced([prediction], [reference]) == plain([prediction], [reference])


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_bag_f1_is_symmetric_and_1_for_equal_bags_alone(one: list[int], other: list[int]) -> None:
    assert bag_f1(one, other) == bag_f1(other, one)
    assert (bag_f1(one, other) == 1) == (sorted(one) == sorted(other))


def test_the_form_of_words_within_words() -> None:
    assert squad_form("Another theory; an anthem") == re.sub(" an ", " ", "another theory an anthem")
