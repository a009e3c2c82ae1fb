"""Words as the original's tokenizer parts them: those expected here are of nltk 3.10 with its data."""

from __future__ import annotations

import pytest

from assay.dialects.openicl.retrievers.bm25 import split_treebank_words, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. We don't go out.", "It rains . We do n't go out ."),
        ("Mr. Smith met J. Doe. They talked.", "Mr. Smith met J. Doe . They talked ."),
        ('He said "no." Then he left.', "He said `` no . '' Then he left ."),
        ("It costs $3.50, or 1,000 won!", "It costs $ 3.50 , or 1,000 won !"),
        ("Why? Because (it seems) it can't.", "Why ? Because ( it seems ) it ca n't ."),
        ("", ""),
    ],
)
def test_words_are_nltks(text: str, expected: str) -> None:
    assert split_treebank_words(text) == expected.split()
    assert split_words(text) == expected.split()


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert split_words("GPT今天很好") == ["GPT", "今", "天", "很", "好"]
    assert split_treebank_words("GPT今天很好") == ["GPT今天很好"]
    assert split_words("한국어는 띄어 쓴다") == ["한국어는", "띄어", "쓴다"]
