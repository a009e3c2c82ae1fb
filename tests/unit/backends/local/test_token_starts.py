"""Where scored tokens lie in the scored text: against counted bytes, and against the tokens' own names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.backends.hf.loading import load_tokenizer
from assay.backends.local.rolling_windows import find_token_starts
from assay.backends.local.tokenization import EncodedSpan, EncodedWindows, Tokenization
from assay.core.prompt import Message, Prompt
from assay.core.request import Span, Windows
from assay.core.response import Likelihood, Outcome

MakeModel = Callable[..., Path]
MIXED = "ab eh.\n1é日한글🙂 hello world"
LETTERS = st.one_of(st.sampled_from(MIXED), st.characters(codec="utf-8"))
SHORT = st.text(LETTERS, min_size=1, max_size=24)


def spanned(tokenization: Tokenization, prompt: Prompt, start: int) -> EncodedSpan:
    encoded = tokenization.spans([Span(prompt, start)])[0]
    assert isinstance(encoded, EncodedSpan)
    assert len(encoded.starts) == len(encoded.ids) - encoded.first_scored
    return encoded


def slices(text: str, start: int, starts: Sequence[int]) -> list[str]:
    """Each token's part of a text whose scored part begins at `start`."""
    ends = [*starts[1:], len(text) - start]
    return [text[start + one : start + end] for one, end in zip(starts, ends, strict=True)]


# --- byte-level vocabularies, by counting bytes ---


def counted(tokenizer: Any, text: str) -> list[int]:
    """Where each token of a text begins: the character that holds its first byte. No offsets involved."""
    character_at = [n for n, character in enumerate(text) for _ in character.encode()]
    ids = tokenizer.encode(text, add_special_tokens=False)
    begins, at = [], 0
    for name in tokenizer.convert_ids_to_tokens(ids):
        begins.append(character_at[at])
        at += len(name)  # A byte-level vocabulary writes each byte as one letter.
    assert at == len(character_at)
    return begins


def check_counted(tokenizer: Any, tokenization: Tokenization, text: str, start: int) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    # SmolLM2 has no token for a few bytes and drops them: then they cannot be counted.
    assume(tokenizer.decode(ids) == text)
    assume(tokenizer.added_tokens_decoder.keys().isdisjoint(ids))
    encoded = spanned(tokenization, text, start)
    every = counted(tokenizer, text)
    assert list(encoded.starts) == [begin - start for begin in every[-len(encoded.starts) :]]
    assert encoded.straddles == (encoded.starts[0] < 0)
    for id_, part in zip(
        encoded.ids[encoded.first_scored :], slices(text, start, encoded.starts), strict=True
    ):
        decoded = tokenizer.decode([id_])
        assert "\ufffd" in decoded or part == decoded


@settings(max_examples=150)
@given(text=SHORT, data=st.data())
def test_starts_are_those_of_the_tokens_bytes(make_model: MakeModel, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    tokenizer = opened(make_model())
    check_counted(tokenizer, Tokenization(tokenizer), text, start)


@pytest.mark.model
@settings(max_examples=300)
@given(text=SHORT, data=st.data())
def test_starts_of_smollm2(smollm2: Any, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    check_counted(smollm2._tokenizer, smollm2._tokenization, text, start)


_OPENED: dict[Path, Any] = {}


def opened(folder: Path) -> Any:
    if folder not in _OPENED:
        _OPENED[folder] = load_tokenizer(folder)
    return _OPENED[folder]


def test_the_parts_of_a_character_share_its_place(make_model: MakeModel) -> None:
    encoded = spanned(Tokenization(opened(make_model())), "a鯨a", 1)
    assert encoded.starts == (0, 0, 0, 1)


def test_a_token_across_the_join_begins_before_it(make_model: MakeModel) -> None:
    encoded = spanned(Tokenization(opened(make_model())), "hello world", 9)
    assert encoded.straddles
    assert encoded.starts[0] == len("hello") - 9


@pytest.mark.parametrize("adds_bos", [True, False])
def test_starts_count_within_a_reply_that_is_begun(make_model: MakeModel, adds_bos: bool) -> None:
    tokenizer = opened(make_model(adds_bos=adds_bos, chat=True))
    reply = "The answer is 日本 yes"
    prompt = (Message("user", "hello <|im_end|>"), Message("assistant", reply))
    for start in range(len(reply)):
        encoded = spanned(Tokenization(tokenizer), prompt, start)
        first = max(start + encoded.starts[0], 0)
        assert "".join(slices(reply, start, [max(one, -start) for one in encoded.starts])) == reply[first:]
    whole = spanned(Tokenization(tokenizer), prompt, len("The answer is"))
    assert slices(reply, len("The answer is"), whole.starts)[-1] == " yes"


def test_a_beginning_that_goes_unscored_is_not_counted(make_model: MakeModel) -> None:
    tokenization = Tokenization(opened(make_model()))
    whole = spanned(tokenization, "hello world", 0)
    bare = tokenization.spans([Span("hello world", 0, scores_first_token=False)])[0]
    assert isinstance(bare, EncodedSpan)
    assert whole.starts[0] == 0
    assert bare.starts == whole.starts[1:]
    led = spanned(Tokenization(opened(make_model(adds_bos=True))), "<s>hello", 0)
    assert led.starts[0] == len("<s>")


# --- windows ---


def test_windows_have_starts_where_they_score_every_token(make_model: MakeModel) -> None:
    text = "hello world, the answer is yes, but no. 日本語 🙂 " * 9
    tokenization = Tokenization(opened(make_model()), 256)
    whole = spanned(tokenization, text, 0)

    def cut(windows: Windows) -> tuple[int, ...]:
        encoded = tokenization.spans([Span(text, 0, windows=windows)])[0]
        assert isinstance(encoded, EncodedWindows)
        assert len(encoded.starts) in (0, encoded.n_scored)
        return encoded.starts

    assert cut(Windows("classic", 16)) == whole.starts
    assert cut(Windows("hf-stride", 16, 7)) == whole.starts[1:]
    assert cut(Windows("hf-stride", 16, 16)) == ()  # The first token of each window is left out.
    assert cut(Windows("gptq", 16)) == ()


# --- vocabularies of the SentencePiece kind, by the names of their tokens ---

WORD = "\N{LOWER ONE EIGHTH BLOCK}"


@cache
def sentence_pieces(kind: str) -> Any:
    """Return a tokenizer that puts a space before a text, knows few letters, and spells others as bytes."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = [WORD, *"abehlowrd.1\n"]
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), (WORD, "hello"), (WORD, "w"), (WORD, WORD)]
    names = [
        "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters,
        *(one + other for one, other in merges),
    ]  # fmt: skip
    vocabulary = {name: at for at, name in enumerate(names)}
    model = models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    raw = Tokenizer(model)
    if kind == "normaliser":
        raw.normalizer = normalizers.Sequence([normalizers.Prepend(WORD), normalizers.Replace(" ", WORD)])
    else:
        raw.pre_tokenizer = pre_tokenizers.Metaspace(replacement=WORD, prepend_scheme="first", split=False)
    return PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.mark.parametrize("kind", ["normaliser", "splitter"])
@settings(max_examples=150)
@given(text=SHORT.filter(lambda text: WORD not in text), data=st.data())
def test_starts_of_sentence_pieces(kind: str, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    tokenizer = sentence_pieces(kind)
    assume(not any(special in text for special in ("<unk>", "<s>", "</s>")))
    encoded = spanned(Tokenization(tokenizer), text, start)
    assert list(encoded.starts) == sorted(encoded.starts)
    names = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    parts = slices(text, start, encoded.starts)
    adds_space = kind == "normaliser" or not text.startswith(" ")  # A splitter takes one that is there.
    for at, (name, part) in enumerate(zip(names[encoded.first_scored :], parts, strict=True)):
        if name.startswith("<0x"):
            # Bytes of one character: all but the last show nothing, the last shows it.
            assert part == "" or part.encode().endswith(bytes([int(name[3:5], 16)]))
        else:
            meant = name.replace(WORD, " ")
            # The space that the tokenizer puts before a text is in no text.
            is_added = at == 0 and encoded.first_scored == 1 and adds_space
            assert part == (meant[1:] if is_added else meant)
    assert "".join(parts) == text[start + encoded.starts[0] :]


def test_white_space_that_a_tokenizer_drops_belongs_to_the_token_before_it() -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.WordLevel({"<unk>": 0, "one": 1, "two": 2}, unk_token="<unk>"))
    raw.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>", eos_token="<unk>")
    text = "Ｏne   two two"
    encoded = spanned(Tokenization(tokenizer), text, 3)
    assert slices(text, 3, encoded.starts) == ["two ", "two"]


def test_tokens_that_do_not_follow_each_other_have_no_places() -> None:
    assert find_token_starts([(2, 3), (4, 6), (4, 6)], 3) == (-1, 1, 1)
    assert find_token_starts([(2, 3), (0, 2)], 0) == ()
    assert find_token_starts([], 0) == ()


def test_slices_are_read_as_documented() -> None:
    starts = (-2, 0, 0, 3)
    assert slices("abcdefg", 2, starts) == ["ab", "", "cde", "fg"]
    assert all(one <= other for one, other in pairwise(starts))


def test_an_answer_that_was_kept_without_places_is_read() -> None:
    old = (
        b'{"type":"likelihood","sum_logprob":-1.5,"n_tokens":1,"n_chars":1,"n_bytes":1,'
        b'"is_greedy":true,"n_prompt_tokens":3,"token_ids":[4],"token_logprobs":[-1.5]}'
    )
    outcome = msgspec.json.decode(old, type=Outcome)
    assert isinstance(outcome, Likelihood)
    assert outcome.token_starts == ()
    assert msgspec.json.encode(outcome) == old
