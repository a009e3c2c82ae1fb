"""Texts of a wished length: exact by a tokenizer, near without one, and no two that begin alike."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.bench.texts import N_OPENINGS, TextGenerator, estimate_words, iter_words
from assay.bench.tokenizer import Tokenizer, open_tokenizer
from assay.core.errors import UsageError
from fakes.tokenizer_files import write_tokenizers


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    paths = write_tokenizers(tmp_path_factory.mktemp("tokenizers"))
    return {name: open_tokenizer(str(path)) for name, path in paths.items()}


def beginning(seed: int, number: int, n_words: int = 6) -> str:
    return "".join(islice(iter_words(seed, "test", number), n_words))


@given(st.integers(0, 3), st.integers(0, N_OPENINGS - 1), st.integers(0, N_OPENINGS - 1))
def test_no_two_texts_begin_alike(seed: int, one: int, other: int) -> None:
    # Given name, family name, "a", trade, "from", town.
    assert (beginning(seed, one) == beginning(seed, other)) == (one == other)


def test_openings_of_a_long_load_are_all_different() -> None:
    assert len({beginning(0, number) for number in range(20_000)}) == 20_000
    assert len({beginning(0, number, 1) for number in range(64)}) == 64


def test_words_depend_on_seed_purpose_and_number_alone() -> None:
    def text(seed: int, purpose: str, number: int) -> str:
        return "".join(islice(iter_words(seed, purpose, number), 60))

    assert text(0, "a", 5) == text(0, "a", 5)
    assert len({text(0, "a", 5), text(1, "a", 5), text(0, "b", 5), text(0, "a", 6)}) == 4


def test_texts_are_sentences() -> None:
    text = TextGenerator(0, "test").text(0, 400).text
    assert text.isascii()
    assert "  " not in text
    assert text.count(". ") > 15
    assert text.count("\n\n") > 3
    sentences = [sentence for part in text.split("\n\n") for sentence in part.split(". ")]
    assert all(sentence[0].isupper() for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


@settings(max_examples=150)
@given(
    st.sampled_from(["pieces", "letters", "unigram"]),
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.integers(0, 2),
)
def test_a_text_has_exactly_the_tokens_when_it_is_encoded_again(
    tokenizers: dict[str, Tokenizer], name: str, number: int, n_tokens: int, seed: int
) -> None:
    made = TextGenerator(seed, "test", tokenizers[name]).text(number, n_tokens)
    assert made.n_tokens == n_tokens
    assert tokenizers[name].count(made.text) == n_tokens


@settings(max_examples=60)
@given(
    st.sampled_from(["pieces", "letters", "unigram"]),
    st.integers(1, 120),
    st.integers(0, 200),
    st.integers(0, 50),
)
def test_a_text_continues_from_what_it_is_given(
    tokenizers: dict[str, Tokenizer], name: str, n_before: int, n_own: int, number: int
) -> None:
    texts = TextGenerator(0, "test", tokenizers[name])
    before = texts.text(10**6, n_before).text
    made = texts.text(number, n_before + n_own, after=before)
    assert made.text.startswith(before)
    assert made.n_tokens == tokenizers[name].count(made.text) == n_before + n_own


def test_blocks_add_up(tokenizers: dict[str, Tokenizer]) -> None:
    texts = TextGenerator(0, "test", tokenizers["pieces"])
    text = texts.text(0, 64).text + texts.block(1, 64) + texts.block(2, 64)
    assert tokenizers["pieces"].count(text) == 192


def test_a_tokenizer_that_cannot_be_exact_is_reported_as_it_is() -> None:
    class Pairs(Tokenizer):
        """Every text has an even number of tokens."""

        def __init__(self) -> None:
            pass

        def ends(self, text: str) -> list[int]:
            return [place for place in range(1, len(text) + 1) for _ in range(2)]

        def ids(self, text: str) -> list[int]:
            return [0] * (2 * len(text))

    made = TextGenerator(0, "test", Pairs()).text(0, 33)
    assert made.n_tokens == Pairs().count(made.text)
    assert made.n_tokens in (32, 34)


def test_without_a_tokenizer_words_are_counted() -> None:
    made = TextGenerator(0, "test").text(3, 100)
    assert made.n_tokens is None
    assert len(made.text.split()) == estimate_words(100) == 79
    longer = TextGenerator(0, "test").text(4, 200, after=made.text).text
    assert longer.startswith(made.text + "\n\n")
    assert len(longer.split()) == estimate_words(200)
    assert TextGenerator(0, "test").text(5, 1).text


@pytest.mark.model
def test_the_calibration_holds_for_a_real_tokenizer() -> None:
    from assay.backends.hf.embedded_model import EmbeddedFiles

    tokenizer = open_tokenizer(str(EmbeddedFiles().prepare_path()))
    for n_tokens in (64, 256, 1024):
        counts = [
            tokenizer.count(TextGenerator(0, "test").text(number, n_tokens).text) for number in range(20)
        ]
        assert sum(counts) / 20 == pytest.approx(n_tokens, rel=0.03)
        assert min(counts) > 0.9 * n_tokens
        assert max(counts) < 1.1 * n_tokens
    exact = TextGenerator(0, "test", tokenizer)
    assert {exact.text(number, 333).n_tokens for number in range(20)} == {333}


def test_special_tokens_are_no_plain_ids(tokenizers: dict[str, Tokenizer]) -> None:
    plain = tokenizers["pieces"].plain_ids()
    assert plain == list(range(2, 700))
    assert tokenizers["pieces"].plain_ids(10) == list(range(2, 10))


def test_a_tokenizer_is_found_below_a_folder(tmp_path: Path) -> None:
    paths = write_tokenizers(tmp_path)
    text = "The quiet harbor"
    assert open_tokenizer(str(paths["letters"].parent)).count(text) == len(text)
    assert open_tokenizer(str(tmp_path)).count(text) == len(text)


def test_a_tokenizer_that_is_not_there_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text('{"model": 1}', encoding="utf-8")
    for path, message in (
        (tmp_path / "nowhere", "the file or folder does not exist"),
        (tmp_path / "tokenizer.json", "cannot load the tokenizer"),
    ):
        with pytest.raises(UsageError) as caught:
            open_tokenizer(str(path))
        assert caught.value.problems[0].code == "BENCH-021"
        assert message in caught.value.problems[0].what
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"the folder has no tokenizer\.json"):
        open_tokenizer(str(tmp_path / "empty"))
