from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.scoring.metrics import Bleu, Rouge
from assay.scoring.metrics.rouge import rouge
from assay.scoring.metrics.translation import (
    chrf,
    corpus_bleu,
    sentence_bleu,
    ter,
)

SENTENCES = st.lists(st.sampled_from(["red", "blue", "green", "fox"]), min_size=1, max_size=7).map(" ".join)


def grams(words: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def slow_bleu(predictions: list[str], references: list[str]) -> float:
    """Papineni's formula over a corpus, one reference each, as an oracle."""
    product, got, wanted = 1.0, 0, 0
    for prediction, reference in zip(predictions, references, strict=True):
        got, wanted = got + len(prediction.split()), wanted + len(reference.split())
    for size in range(1, 5):
        matched = total = 0
        for prediction, reference in zip(predictions, references, strict=True):
            mine = grams(prediction.split(), size)
            matched += (mine & grams(reference.split(), size)).total()
            total += mine.total()
        product *= matched / total if total else 0.0
    return 100 * min(1.0, math.exp(1 - wanted / got)) * math.pow(product, 1 / 4)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4))
def test_corpus_bleu_is_papinenis(pairs: list[tuple[str, str]]) -> None:
    predictions, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = slow_bleu(predictions, references)
    if expected:  # else the corpus's score is smoothed
        assert corpus_bleu(predictions, [[text] for text in references]) == pytest.approx(expected)


def test_bleu_of_sentences_and_of_the_corpus() -> None:
    predictions = ["Le chat dort", "Me gusta pizza", "Das Wetter ist schön"]
    references = ["Le chat dort", "Me gusta la pizza", "Das Wetter ist schön"]
    metric = Bleu()
    result = metric(predictions, references)
    assert result["Corpus_BLEU"] == pytest.approx(slow_bleu(predictions, references))
    sentences = [
        sentence_bleu(p, [r], tokenize="intl") / 100 for p, r in zip(predictions, references, strict=True)
    ]
    assert metric.last_score_lists == {"Sentence_BLEU": sentences}
    assert sentences[0] == pytest.approx(1.0)  # three words: no order that it is too short for
    assert result["Sentence_BLEU"] == pytest.approx(100 * sum(sentences) / 3)


def test_rows_may_have_different_numbers_of_references() -> None:
    predictions = ["the red fox runs home", "the blue fox sleeps here"]
    references = [
        ["something else entirely different", "the red fox runs home"],
        ["the blue fox sleeps here"],
    ]
    assert corpus_bleu(predictions, references) == pytest.approx(100)
    assert chrf(predictions, references) == pytest.approx(100)
    assert ter(predictions, references) == 0
    assert Bleu()(predictions, references) == {
        "Sentence_BLEU": pytest.approx(100),
        "Corpus_BLEU": pytest.approx(100),
    }


def test_the_whole_corpus_counts_and_not_its_first_row() -> None:
    predictions, references = ["same", "good morning"], [["same"], ["entirely different"]]
    assert chrf(predictions, references) < 50
    assert ter(predictions, references) == pytest.approx(100 * 2 / 3)


@pytest.mark.parametrize("references", [[["a"], ["b"]], [[]], []])
def test_rows_without_a_partner_are_rejected(references: list[list[str]]) -> None:
    with pytest.raises(ValueError, match=r"references for|a reference for each"):
        corpus_bleu(["a"], references)


def slow_rouge_n(prediction: str, reference: str, order: int) -> float:
    got, wanted = grams(prediction.split(), order), grams(reference.split(), order)
    shared = (got & wanted).total()
    return 2 * shared / (got.total() + wanted.total()) if shared else 0.0


def slow_rouge_l(prediction: str, reference: str) -> float:
    def common(one: list[str], other: list[str]) -> int:
        if not one or not other:
            return 0
        if one[0] == other[0]:
            return 1 + common(one[1:], other[1:])
        return max(common(one[1:], other), common(one, other[1:]))

    got, wanted = prediction.split(), reference.split()
    return 2 * common(got, wanted) / (len(got) + len(wanted))


@given(SENTENCES, SENTENCES)
def test_rouge_is_the_formula_written_out(prediction: str, reference: str) -> None:
    metric = Rouge()
    result = metric([prediction], [reference])
    assert result == {
        "ROUGE-1": pytest.approx(100 * slow_rouge_n(prediction, reference, 1)),
        "ROUGE-2": pytest.approx(100 * slow_rouge_n(prediction, reference, 2)),
        "ROUGE_L": pytest.approx(100 * slow_rouge_l(prediction, reference)),
    }
    assert metric.last_score_lists == {name: [pytest.approx(value / 100)] for name, value in result.items()}


def test_words_are_stemmed_for_authors() -> None:
    assert Rouge()(["foxes running"], ["fox runs"])["ROUGE-1"] == pytest.approx(100)
    assert rouge("foxes running", ["fox runs"])["rouge1"] == 0


def test_the_best_reference_counts() -> None:
    assert Rouge()(["red fox"], [["blue whale", "red fox"]])["ROUGE-2"] == pytest.approx(100)


def test_another_script_is_an_error_and_not_0() -> None:
    with pytest.raises(AuthorError, match=r"METRIC-002 Rouge, row 1: .*'机器学习很有趣'"):
        Rouge()(["机器学习"], ["机器学习很有趣"])
    result = Rouge(words="unicode")(["机器学习"], ["机器学习很有趣"])
    assert result["ROUGE-1"] == pytest.approx(100 * 2 * 4 / (4 + 7))
    assert Rouge(words="unicode")(["Straße lang"], ["STRASSE kurz"])["ROUGE-1"] == pytest.approx(50)


def test_marks_alone_are_a_text_without_words() -> None:
    assert Rouge()(["x"], ["..."]) == {"ROUGE-1": 0.0, "ROUGE-2": 0.0, "ROUGE_L": 0.0}


def test_bleu_of_chinese_needs_its_characters_parted() -> None:
    prediction, reference = ["他们现在有四只老鼠"], ["他们现在有五只老鼠"]
    assert Bleu()(prediction, reference)["Sentence_BLEU"] == 0.0  # one clause, one word
    parted = slow_bleu([" ".join(prediction[0])], [" ".join(reference[0])])
    assert Bleu(tokenize="char")(prediction, reference)["Corpus_BLEU"] == pytest.approx(parted)
    assert Bleu(tokenize="zh")(prediction, reference)["Corpus_BLEU"] == pytest.approx(parted)
    with pytest.raises(AuthorError, match="METRIC-003"):
        Bleu(tokenize="chinese")  # type: ignore[arg-type]


def test_rouge_takes_two_spellings_of_a_word_for_one() -> None:
    parted = "\u1109\u1165\u110b\u116e\u11af"
    assert rouge(f"{parted} ２０１０年", ["서울 2010年"], words="unicode")["rouge1"] == 1.0
