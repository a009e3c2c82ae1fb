from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from assay.core.errors import AuthorError
from assay.scoring.metrics import Accuracy, WordAccuracy


def test_the_tag_is_in_the_name() -> None:
    metric = Accuracy("Norm")
    assert metric([0, 1], [0, 0]) == {"Accuracy:Norm": 50.0}
    assert list(metric.last_score_lists) == ["Accuracy:Norm"]


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [(2, "C"), ("C", 2), ("2", 2), ("a", ["a", "b"]), (0, None), (True, "True"), (np.int64(2), "C")],
)
def test_kinds_that_can_never_be_equal_are_an_error_and_not_0(prediction: Any, reference: Any) -> None:
    with pytest.raises(AuthorError, match="METRIC-002 Accuracy, row 2"):
        Accuracy()([1, prediction], [1, reference])


def test_no_answer_is_wrong_and_no_error() -> None:
    assert Accuracy()([None, "B", -1], ["A", "B", 1]) == {"Accuracy": pytest.approx(100 / 3)}


def test_values_of_numpy_count_as_pythons_own() -> None:
    predictions = np.array([0, 1, 2])
    assert Accuracy()(predictions, [np.int64(0), 1.0, True]) == {"Accuracy": pytest.approx(200 / 3)}  # type: ignore[arg-type]
    assert Accuracy()([np.array([1, 2])], [[1, 2]]) == {"Accuracy": 100.0}


class CharacterTokenizer:
    """As transformers': called with a text, special tokens unless set otherwise."""

    def __call__(self, text: str, add_special_tokens: bool = True) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[1] * add_special_tokens + [ord(character) for character in text])

    def decode(self, ids: list[int], clean_up_tokenization_spaces: bool = True) -> str:
        text = "".join(map(chr, ids))
        return text.replace(" .", ".") if clean_up_tokenization_spaces else text


class WordTokenizer:
    """As tiktoken's: plain encode and decode."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.words += text.split()
        return list(range(len(self.words) - len(text.split()), len(self.words)))

    def decode(self, ids: list[int]) -> str:
        return " " + " ".join(self.words[index] for index in ids)


@pytest.mark.parametrize("tokenizer", [CharacterTokenizer(), WordTokenizer()])
def test_word_accuracy_cuts_predictions_to_the_length_of_references(tokenizer: Any) -> None:
    metric = WordAccuracy()
    metric.setup_metric(None, None, None, SimpleNamespace(tokenizer=tokenizer))
    result = metric(["fox jumped far", "dog", "two words more"], ["fox", "cat", "two words"])
    assert result == {"Accuracy": pytest.approx(200 / 3)}
    assert metric.last_score_lists == {"Accuracy": [1.0, 0.0, 1.0]}


def test_word_accuracy_compares_tokens_as_they_are() -> None:
    metric = WordAccuracy()
    metric.setup_metric(dataset=SimpleNamespace(tokenizer=CharacterTokenizer()))
    assert metric(["a ."], ["a ."]) == {"Accuracy": 100.0}


def test_word_accuracy_without_a_tokenizer_is_an_error() -> None:
    metric = WordAccuracy()
    metric.setup_metric(None, None, None, SimpleNamespace())
    with pytest.raises(AuthorError, match=r"METRIC-004 WordAccuracy needs the model's tokenizer"):
        metric(["a"], ["a"])


def test_word_accuracy_with_a_tokenizer_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    raw = tokenizers.Tokenizer(tokenizers.models.BPE())
    raw.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(["the fox"], tokenizers.trainers.BpeTrainer(initial_alphabet=alphabet))
    bos = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    raw.post_processor = bos
    metric = WordAccuracy()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=raw)
    metric.setup_metric(None, None, None, SimpleNamespace(tokenizer=tokenizer))
    metric([" naïve fox", " fox", "東京都"], [" naïve", " ox", "東京"])
    assert metric.last_score_lists == {"Accuracy": [1.0, 0.0, 1.0]}
