from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.hf.loading import load_tokenizer
from assay.backends.local.label_spellings import EncodedLabels
from assay.backends.local.tokenization import EncodedSpan, Tokenization
from assay.core.errors import BackendError
from assay.core.prompt import Message
from assay.core.request import Generate, Labels, Sampling, Span
from assay.core.response import Failure

MakeModel = Callable[..., Path]

JOINS = [
    ("Ans", "wer"), ("hello wor", "ld"), ("Answer:", " A"), ("Answer: ", "A"), ("日本", "語"),
    ("日", "本語のテキスト"), ("ok ", "🙂"), ("🙂", "🙂 yes"), ("Question?", "\nA. apple"),
    ("Question?\n", "\n\nA"), ("is yes,", " but no"),
    ("n", "\n1. x"), ("  ", "2"), ("caf", "é"), ("The end.", "\n\n"), ("a", " "),
]  # fmt: skip
"""(context, continuation): joins inside words, at white space, between characters of many bytes."""


def read(folder: Path) -> tuple[Any, Tokenization]:
    tokenizer = load_tokenizer(folder)
    return tokenizer, Tokenization(tokenizer)


def one(tokenization: Tokenization, ask: Span) -> EncodedSpan:
    encoded = tokenization.spans([ask])[0]
    assert isinstance(encoded, EncodedSpan)
    return encoded


def byte_lengths(tokenizer: Any, ids: list[int]) -> list[int]:
    """Return the number of text bytes of each token of a byte-level vocabulary."""
    special = set(tokenizer.all_special_ids)
    names = tokenizer.convert_ids_to_tokens(ids)
    return [len(n.encode()) if i in special else len(n) for i, n in zip(ids, names, strict=True)]


def expected_first(tokenizer: Any, ids: list[int], context: str) -> tuple[int, bool]:
    """Find the first token that ends after the join by counting bytes: no offsets involved."""
    join, end = len(context.encode()), 0
    for index, length in enumerate(byte_lengths(tokenizer, ids)):
        begin, end = end, end + length
        if end > join:
            # Bytes of one character belong together: a token that starts inside it does not straddle.
            return index, begin < join
    raise AssertionError("nothing after the join")


@pytest.mark.parametrize(("context", "continuation"), JOINS)
@pytest.mark.parametrize("adds_bos", [False, True])
def test_joins_on_a_trained_vocabulary(
    make_model: MakeModel, context: str, continuation: str, adds_bos: bool
) -> None:
    tokenizer, tokenization = read(make_model(adds_bos=adds_bos))
    ids = tokenizer.encode(context + continuation, add_special_tokens=False)
    first, straddles = expected_first(tokenizer, ids, context)
    encoded = one(tokenization, Span(context + continuation, len(context)))
    lead = [0] if adds_bos else [1] if first == 0 else []  # BOS, or EOS in the place of an empty context.
    assert list(encoded.ids) == lead + ids
    assert encoded.first_scored == first + len(lead)
    assert encoded.straddles == straddles
    assert encoded.n_chars == len(continuation.strip())
    assert encoded.n_bytes == len(continuation.strip().encode())


@pytest.mark.model
@pytest.mark.parametrize(("context", "continuation"), JOINS)
def test_joins_on_smollm2(smollm2: Any, context: str, continuation: str) -> None:
    tokenizer = smollm2._tokenizer
    ids = tokenizer.encode(context + continuation, add_special_tokens=False)
    first, straddles = expected_first(tokenizer, ids, context)
    encoded = one(smollm2._tokenization, Span(context + continuation, len(context)))
    lead = [1] if first == 0 else []
    assert list(encoded.ids) == lead + ids
    assert (encoded.first_scored, encoded.straddles) == (first + len(lead), straddles)


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet="ab \n.é日🙂1", min_size=1, max_size=24), data=st.data())
def test_any_text_cut_anywhere(make_model: MakeModel, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    tokenizer, tokenization = read_once(make_model())
    ids = tokenizer.encode(text, add_special_tokens=False)
    first, straddles = expected_first(tokenizer, ids, text[:start])
    encoded = one(tokenization, Span(text, start))
    assert list(encoded.ids)[-len(ids) :] == ids
    assert len(encoded.ids) - encoded.first_scored == len(ids) - first
    assert encoded.straddles == straddles


_READ: dict[Path, tuple[Any, Tokenization]] = {}


def read_once(folder: Path) -> tuple[Any, Tokenization]:
    if folder not in _READ:
        _READ[folder] = read(folder)
    return _READ[folder]


def test_tokens_of_one_character_are_all_scored(make_model: MakeModel) -> None:
    _, tokenization = read(make_model())
    encoded = one(tokenization, Span("a鯨", 1))  # An untrained character: several tokens with one span.
    assert len(encoded.ids) - encoded.first_scored > 1
    assert not encoded.straddles


CHAT_PROMPT = (Message("user", "hello"), Message("assistant", "yes"))


@pytest.mark.parametrize("adds_bos", [False, True])
def test_bos_table(make_model: MakeModel, adds_bos: bool) -> None:
    tokenizer, tokenization = read(make_model(adds_bos=adds_bos, chat=True))
    start = tokenizer.convert_tokens_to_ids("<|im_start|>")
    lead = [0] if adds_bos else []
    bare = tokenizer.encode("hello yes", add_special_tokens=False)
    # text: span, generation, labels
    assert list(one(tokenization, Span("hello yes", 5)).ids) == lead + bare
    assert tokenization.prompts(["hello yes"]) == [(*lead, *bare)]
    labels = tokenization.labels([Labels("hello yes", ((" A",), (" B",)))])[0]
    assert isinstance(labels, EncodedLabels)
    assert list(labels.context) == lead + bare
    # text that brings its own BOS: not doubled
    assert tokenization.prompts(["<s>hello yes"]) == [(0, *bare)]
    # whole text: something must stand before the first token, BOS or else EOS
    whole = one(tokenization, Span("hello yes", 0))
    assert list(whole.ids) == [0 if adds_bos else 1, *bare]
    assert whole.first_scored == 1
    # whole text that goes without: the first token is unscored, unless the tokenizer's own BOS is there
    bare_whole = one(tokenization, Span("hello yes", 0, scores_first_token=False))
    assert (list(bare_whole.ids), bare_whole.first_scored) == (lead + bare, 1)
    # chat: the template's own special tokens and no others, for every kind of ask
    for prompt in (CHAT_PROMPT, CHAT_PROMPT[:1]):
        ids = tokenization.prompts([prompt])[0]
        assert isinstance(ids, tuple)
        assert ids[0] == start
        assert 0 not in ids
    assert one(tokenization, Span(CHAT_PROMPT, 0)).ids[0] == start
    # nothing at all
    assert tokenization.prompts([""]) == [(0 if adds_bos else 1,)]


def test_template_that_writes_a_bos_gets_no_second(make_model: MakeModel) -> None:
    tokenizer = load_tokenizer(
        make_model(adds_bos=True), chat_template="<s>{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    assert Tokenization(tokenizer).prompts([(Message("user", "hello"),)])[0] == (
        0,
        *tokenizer.encode("hello", add_special_tokens=False),
    )


def test_prefill_is_verbatim_and_start_counts_within_it(make_model: MakeModel) -> None:
    tokenizer, tokenization = read(make_model(chat=True))
    prompt = (Message("user", "hello"), Message("assistant", "The answer is yes"))
    encoded = one(tokenization, Span(prompt, len("The answer is")))
    text = tokenizer.decode(list(encoded.ids))
    assert text == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nThe answer is yes"
    assert tokenizer.decode(list(encoded.ids[encoded.first_scored :])) == " yes"
    assert (encoded.n_chars, encoded.straddles) == (3, False)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ((Message("user", "hi"),), "final assistant"),
        ((), "no messages"),
    ],
)
def test_conversations_that_cannot_be_shown_are_failures(
    make_model: MakeModel, prompt: Any, message: str
) -> None:
    outcome = read(make_model(chat=True))[1].spans([Span(prompt, 0)])[0]
    assert isinstance(outcome, Failure)
    assert outcome.kind == "template"
    assert message in outcome.message


def test_base_model_has_no_template(make_model: MakeModel) -> None:
    outcome = read(make_model())[1].prompts([CHAT_PROMPT])[0]
    assert isinstance(outcome, Failure)
    assert outcome.kind == "template"


@pytest.mark.parametrize("ask", [Span("hello", 5), Span("", 0), Span("a", 0, scores_first_token=False)])
def test_nothing_to_score_is_a_failure(make_model: MakeModel, ask: Span) -> None:
    outcome = read(make_model())[1].spans([ask])[0]
    assert isinstance(outcome, Failure)
    assert outcome.kind == "empty"


def labels_of(tokenization: Tokenization, prompt: Any, *labels: tuple[str, ...]) -> EncodedLabels | Failure:
    return tokenization.labels([Labels(prompt, labels)])[0]


def test_labels_drop_trailing_spaces_but_not_newlines(make_model: MakeModel) -> None:
    tokenizer, tokenization = read(make_model())
    for text, kept in (("Answer:  ", "Answer:"), ("Answer:\n", "Answer:\n")):
        found = labels_of(tokenization, text, (" A", "A"), (" B", "B"))
        assert isinstance(found, EncodedLabels)
        assert list(found.context) == tokenizer.encode(kept, add_special_tokens=False)


def test_spellings_that_are_longer_or_merge_are_spans(make_model: MakeModel) -> None:
    tokenizer, tokenization = read(make_model())
    found = labels_of(tokenization, "the an", ("swer",), (" xyz",), (" ",))
    assert isinstance(found, EncodedLabels)
    (merged,), (longer,), _ = found.labels
    assert not merged.is_next_token
    assert tokenizer.decode(list(merged.ids[merged.first_scored :])) == " answer"
    assert not longer.is_next_token
    ids, first_scored = found.build_whole(longer)
    assert tokenizer.decode(list(ids)) == "the an xyz"
    assert tokenizer.decode(list(ids[first_scored:])) == " xyz"


def test_spelling_that_extends_another_of_its_label_counts_once(make_model: MakeModel) -> None:
    _, tokenization = read(make_model())
    found = labels_of(tokenization, "Q:", ("A", "A", "A)"), ("B",))
    assert isinstance(found, EncodedLabels)
    assert [len(label) for label in found.labels] == [1, 1]


@pytest.mark.parametrize("labels", [(("A",), ("A",)), ((), ("A",)), (("",), ("A",)), ()])
def test_labels_that_make_no_sense_are_failures(make_model: MakeModel, labels: Any) -> None:
    outcome = labels_of(read(make_model())[1], "Q:", *labels)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "labels"


def test_tokens_for_people(make_model: MakeModel) -> None:
    _, tokenization = read(make_model(adds_bos=True, chat=True))
    tokens = tokenization.tokens(Span("hello wor" + "ld", 9))
    assert tokens[0].text == "<s>"
    assert "".join(token.text for token in tokens[1:]) == "hello world"
    assert [token.text for token in tokens if token.is_scored] == [tokens[-1].text]
    asked = tokenization.tokens(Generate((Message("user", "hello"),), Sampling()))
    assert asked[0].text == "<|im_start|>"
    assert not any(token.is_scored for token in asked)
    assert tokenization.tokens(Labels("Answer: ", (("A",), ("B",))))[-1].text == ":"
    assert tokenization.tokens(Span("", 0)) == []


def test_the_bos_token_can_be_added_or_omitted(make_model: MakeModel) -> None:
    tokenizer = load_tokenizer(make_model(adds_bos=True))
    own, with_bos, without = (
        Tokenization(tokenizer, adds_bos=adds).prompts(["hello"])[0] for adds in (None, True, False)
    )
    assert isinstance(without, tuple)
    assert own == with_bos == (tokenizer.bos_token_id, *without)


def test_a_bos_token_that_does_not_exist_is_an_error(make_model: MakeModel) -> None:
    with pytest.raises(BackendError, match="the tokenizer has no BOS token"):
        Tokenization(load_tokenizer(make_model(adds_bos=False)), adds_bos=True)


def test_white_space_at_the_end_of_the_template_is_scored_on_request(make_model: MakeModel) -> None:
    _, tokenization = read(make_model(chat=True))
    prompt = (Message("user", "hello"), Message("assistant", "yes"))
    plain, spaced = tokenization.spans([Span(prompt, 0), Span(prompt, 0, scores_white_space=True)])
    assert isinstance(plain, EncodedSpan)
    assert isinstance(spaced, EncodedSpan)
    assert spaced.ids == plain.ids
    assert spaced.first_scored < plain.first_scored
