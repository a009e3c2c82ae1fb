"""Texts encoded in pieces have exactly the tokens and offsets of the whole text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from assay.backends.local.text_encoding import _WORD_PATTERNS, TextEncoder, encodes_words_separately

CORPUS = [
    "Question: What's 12 + 345?\nA. 357\nB. 350\n\nAnswer: A\n\nQuestion: Wie heißt das?  Größe:\t7 €.\n\n",
    "The cat sat on the mat. THE DOG'S ball -- it's 3.14159!\r\n  indented  twice 日本語 テキスト 한국어",
    "def f(x):\n    return x ** 2  # comment\n\n\nclass A:\n\tpass e\u0301 \u00a0 \u2003 wide",
]
PIECES = st.sampled_from(
    (
        *("a", "B", "cat", " ", "  ", "\n", "\n\n", "\t", "\r\n", ".", "?!", "'s", "'LL", "7", "1234"),
        *("é", "e\u0301", "\u0301", "\u00a0", "\u2003", "\x1c", "日本", "한국", "€", "-", "/", " the"),
        *("Answer:", "<mark>", "<two words>"),
    )
)
TEXTS = st.lists(
    st.tuples(st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=5)).map(
        lambda parts: "".join(parts[0]) + "".join(parts[1])
    ),
    min_size=1,
    max_size=6,
)


def train(splitter: Any, normalizer: Any = None, *added: AddedToken) -> Tokenizer:
    """Return a trained byte-level BPE tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = splitter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_tokens(list(added))
    return tokenizer


def split_by(pattern: str) -> Any:
    """Return a pre-tokenizer that splits by a pattern, as in Llama 3."""
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
CUT = {
    "gpt2": train(BYTE_LEVEL),
    "digits": train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTE_LEVEL])),
    "nfc": train(BYTE_LEVEL, normalizers.NFC()),
    "added": train(BYTE_LEVEL, None, AddedToken("<mark>", normalized=False)),
    **{f"pattern {n}": train(split_by(pattern)) for n, pattern in enumerate(sorted(_WORD_PATTERNS))},
}


def assert_equal_to_whole(tokenizer: Tokenizer, texts: list[str]) -> None:
    """Compare every text with its own encoding: ids, offsets, and the counts that boundaries need."""
    encoder = TextEncoder(tokenizer)
    for splits_end in (False, True, True):  # The last time with remembered pieces.
        encoded = encoder.encode(texts, splits_end=splits_end)
        assert set(encoded) == set(texts)
        for text, found in encoded.items():
            whole = tokenizer.encode(text, add_special_tokens=False)
            assert list(found.ids) == whole.ids
            assert found.list_offsets() == whole.offsets
            for first in range(len(whole.ids) + 1):
                assert found.list_offsets(first) == whole.offsets[first:]
            ends = [end for _, end in whole.offsets]
            if ends == sorted(ends):
                for boundary in range(len(text) + 1):
                    assert found.count_tokens_until(boundary) == sum(end <= boundary for end in ends)


def with_shared_beginnings(texts: list[str]) -> list[str]:
    """Return texts of which many begin alike, at every kind of place."""
    return [*texts, *(one + other for one in texts for other in texts), *(one + " A" for one in texts)]


@pytest.mark.parametrize("name", sorted(CUT))
def test_pieces_equal_the_whole(name: str) -> None:
    tokenizer = CUT[name]
    assert encodes_words_separately(tokenizer)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(TEXTS)
    def compare(texts: list[str]) -> None:
        assert_equal_to_whole(tokenizer, with_shared_beginnings(texts))

    compare()
    assert_equal_to_whole(tokenizer, [text[:n] for text in CORPUS for n in range(0, len(text), 7)])


WHOLE = {
    "no words": train(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)),
    "added space": train(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "metaspace": train(pre_tokenizers.Metaspace()),
    "unknown pattern": train(split_by(r"\w+ \w+|.")),
    "lowercase": train(BYTE_LEVEL, normalizers.Lowercase()),
    "token with a space": train(BYTE_LEVEL, None, AddedToken("<two words>")),
    "token that strips": train(BYTE_LEVEL, None, AddedToken("<mark>", rstrip=True)),
    "unigram": Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), (" ", -2.0), ("a a", -1.5)], 0)),
}


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_other_tokenizers_encode_whole_texts(name: str) -> None:
    tokenizer = WHOLE[name]
    assert not encodes_words_separately(tokenizer)
    assert_equal_to_whole(
        tokenizer, with_shared_beginnings(["a a", "a a a", "x<mark> y", "<two words>", *CORPUS])
    )


class CountingTokenizer:
    """Passes everything on and counts the characters that are encoded."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.n_chars = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def encode_batch(self, texts: list[str], **more: Any) -> Any:
        self.n_chars += sum(map(len, texts))
        return self._tokenizer.encode_batch(texts, **more)


def test_no_texts() -> None:
    assert TextEncoder(CUT["gpt2"]).encode([]) == {}


def test_what_texts_share_is_encoded_once() -> None:
    shots = CORPUS[0] * 20
    questions = [f"{shots}Question: {n} and {n}?\nAnswer:" for n in range(30)]
    texts = [question + label for question in questions for label in ("", " A", " B", "A", "B")]
    counted = CountingTokenizer(CUT["gpt2"])
    TextEncoder(counted).encode(texts)
    assert counted.n_chars < len(shots) + 30 * 120


def test_contexts_that_end_alike_share_their_last_piece() -> None:
    texts = [f"Question: {n}\nAnswer:" for n in ("one", "two", "seven")]
    encoded = TextEncoder(CUT["gpt2"]).encode(texts, splits_end=True)
    assert {text[encoded[text].pieces[-1].begin :] for text in texts} == {"Answer:"}
