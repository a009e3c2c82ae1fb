"""Tokenisation of a text and the special tokens in front of it, for five model families."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.local.label_spellings import EncodedLabels
from assay.backends.local.tokenization import EncodedSpan, Tokenization
from assay.backends.registry import open_backend
from assay.core.prompt import Message, Prompt
from assay.core.request import Labels, Span, make_request
from assay.core.response import Failure, Likelihood
from fakes.families import BOS, CHAT, EOS, STYLES, MakeModel, MakeOracle, first_scored, make_tokenizer

JOINS = [
    ("Ans", "wer"), ("The Ans", "wer"), ("hello wor", "ld"), ("hello wor", "ld, the answer"),
    ("Answer:", " A"), ("Answer: ", "A"), ("Answer:", "  A"), ("Answer:\n", "A"), ("Answer:", "\nA"),
    ("日本", "語"), ("日", "本語のテキスト"), ("日本語の", "テキスト"), ("鯨", "鯨"), ("a", "鯨b"),
    ("ok ", "🙂"), ("🙂", "🙂 yes"), ("no", "🙂"), ("caf", "é"), ("Question?", "\nA. apple"),
    ("Question?\n", "\n\nA"), ("The end.", "\n\n"), ("is yes,", " but no"), ("1", "2 3"), ("one  ", "two"),
]  # fmt: skip
"""(context, continuation): joins inside words, at white space, between characters of many bytes."""


@lru_cache
def opened(style: str, adds_bos: bool | None = None, template: str | None = None) -> tuple[Any, Tokenization]:
    tokenizer = make_tokenizer(style, adds_bos=adds_bos, template=template)
    return tokenizer, Tokenization(tokenizer)


def span(tokenization: Tokenization, prompt: Prompt, start: int) -> EncodedSpan:
    encoded = tokenization.spans([Span(prompt, start)])[0]
    assert isinstance(encoded, EncodedSpan)
    return encoded


def lead(style: str, first: int) -> list[int]:
    """Return what must stand before a text: a BOS where the family adds one, else EOS before nothing."""
    if style in ("llama3", "llama2", "gemma"):
        return [BOS]
    return [EOS] if first == 0 else []


@pytest.mark.parametrize("style", STYLES)
def test_spans_and_sums_at_every_join_equal_brute_force(
    make_model: MakeModel, oracle: MakeOracle, style: str
) -> None:
    """L1 L6 L8: the tokens that end after the boundary are scored, each given exactly the text before it."""
    folder = make_model("llama", style)
    tokenizer, truth = opened(style)[0], oracle(folder)
    requests = [
        make_request("t", str(n), "ppl", "option", 0, Span(context + continuation, len(context)))
        for n, (context, continuation) in enumerate(JOINS)
    ]
    found = {r.request_id: r.outcome for r in open_backend(f"hf:{folder}", {}).run(requests)}
    n_merged = n_straddling = 0
    for one, (context, continuation) in zip(requests, JOINS, strict=True):
        outcome = found[one.id]
        assert isinstance(outcome, Likelihood), (context, continuation, outcome)
        ids, first, straddles = first_scored(style, tokenizer, context + continuation, len(context))
        before = lead(style, first)
        whole, first = (*before, *ids), first + len(before)
        assert outcome.token_ids == whole[first:], (context, continuation)
        assert (outcome.n_prompt_tokens, outcome.straddles) == (first, straddles), (context, continuation)
        assert outcome.token_logprobs == pytest.approx(truth.logprobs(whole, first), abs=1e-4)
        assert outcome.sum_logprob == pytest.approx(sum(truth.logprobs(whole, first)), abs=1e-4)
        assert outcome.is_greedy == truth.is_greedy(whole, first)
        assert (outcome.n_chars, outcome.n_bytes) == (
            len(continuation.strip()),
            len(continuation.strip().encode()),
        )
        apart = [
            *tokenizer.encode(context, add_special_tokens=False),
            *tokenizer.encode(continuation, add_special_tokens=False),
        ]
        n_merged += apart != ids
        n_straddling += straddles
    # Otherwise the joins would be easy ones, and the test would hold nothing.
    assert n_merged >= 5
    assert n_straddling >= 3


@settings(max_examples=150, deadline=None)
@given(
    style=st.sampled_from(STYLES),
    text=st.text(alphabet="Answerld \n.,é日本🙂鯨12", min_size=1, max_size=24),
    data=st.data(),
)
def test_any_text_may_be_cut_anywhere(style: str, text: str, data: st.DataObject) -> None:
    """L1: no text and no cut is special, whatever the family does with spaces and bytes."""
    start = data.draw(st.integers(1, len(text))) if len(text) > 1 else 0
    start = min(start, len(text) - 1)
    tokenizer, tokenization = opened(style)
    ids, first, straddles = first_scored(style, tokenizer, text, start)
    if start == 0:
        first = 0  # All of the text, the space that a family puts in front of it included.
    encoded = span(tokenization, text, start)
    assert list(encoded.ids) == lead(style, first) + ids
    assert len(encoded.ids) - encoded.first_scored == len(ids) - first
    assert encoded.straddles == (straddles and start > 0)


def test_characters_that_the_tokenizer_composes_do_not_move_the_join() -> None:
    """L1: Qwen's normaliser makes one character of `e` and an accent; the text's own are counted."""
    tokenizer, tokenization = opened("qwen")
    context = "cafe\u0301 " * 3 + "Answer:"
    encoded = span(tokenization, context + " yes", len(context))
    assert tokenizer.decode(list(encoded.ids[: encoded.first_scored])) == "caf\u00e9 " * 3 + "Answer:"
    assert tokenizer.decode(list(encoded.ids[encoded.first_scored :])) == " yes"
    assert not encoded.straddles


@pytest.mark.parametrize("style", STYLES)
def test_an_empty_context_is_bos_else_eos_and_is_never_scored(
    make_model: MakeModel, oracle: MakeOracle, style: str
) -> None:
    """L2: with nothing before it, the first token is conditioned on BOS, or on EOS where there is no BOS."""
    folder = make_model("llama", style)
    tokenizer, truth = opened(style)[0], oracle(folder)
    (response,) = open_backend(f"hf:{folder}", {}).run(
        [make_request("t", "s", "ppl", "option", 0, Span("hello world", 0))]
    )
    assert isinstance(response.outcome, Likelihood)
    prefix = BOS if lead(style, 0) == [BOS] else EOS
    ids = tuple(tokenizer.encode("hello world", add_special_tokens=False))
    assert response.outcome.token_ids == ids
    assert response.outcome.n_prompt_tokens == 1
    assert response.outcome.sum_logprob == pytest.approx(sum(truth.logprobs((prefix, *ids), 1)), abs=1e-4)


def test_an_empty_context_without_bos_and_eos_is_a_failure() -> None:
    """L2: nothing is made up in the place of a prefix that the model does not have."""
    tokenizer = make_tokenizer("gpt2", adds_bos=False)
    tokenizer.eos_token = None
    tokenization = Tokenization(tokenizer)
    for outcome in (*tokenization.spans([Span("hello", 0)]), *tokenization.prompts([""])):
        assert isinstance(outcome, Failure)
        assert outcome.kind == "no_prefix"
    assert isinstance(
        tokenization.spans([Span("hello", 0, scores_first_token=False)])[0], Failure
    )  # One token, unscored.
    assert isinstance(tokenization.spans([Span("hello world", 5)])[0], EncodedSpan)


USER = (Message("user", "hello"),)
REPLY = (*USER, Message("assistant", "Answer: A"))
WITH_BOS = "<s>" + CHAT


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("adds_bos", [True, False])
@pytest.mark.parametrize("template", [CHAT, WITH_BOS], ids=["template without BOS", "template with BOS"])
def test_bos_table(style: str, adds_bos: bool, template: str) -> None:
    """L3 L4: exactly the first ids that each kind of ask must have; a BOS never twice."""
    tokenizer, tokenization = opened(style, adds_bos, template)

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    text_lead = [BOS] if adds_bos else []
    bare = ids("hello Answer: A")
    # Plain text: the tokenizer's own BOS or nothing, whatever the template does.
    assert list(span(tokenization, "hello Answer: A", 13).ids) == text_lead + bare
    assert tokenization.prompts(["hello Answer: A"]) == [(*text_lead, *bare)]
    assert labels_context(tokenization, "hello Answer: A") == text_lead + bare
    # Nothing before the first token: BOS, else EOS.
    assert list(span(tokenization, "hello", 0).ids) == [BOS if adds_bos else EOS, *ids("hello")]
    assert tokenization.prompts([""]) == [(BOS if adds_bos else EOS,)]
    # A conversation: what the template writes and nothing else, whatever the tokenizer adds to plain text.
    opening = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    chat_lead = "<s>" if template is WITH_BOS else ""
    assert tokenization.prompts([USER]) == [tuple(ids(chat_lead + opening))]
    assert tokenization.prompts([REPLY]) == [tuple(ids(chat_lead + opening + "Answer: A"))]
    assert list(span(tokenization, REPLY, 7).ids) == ids(chat_lead + opening + "Answer: A")
    assert labels_context(tokenization, REPLY) == ids(chat_lead + opening + "Answer: A")
    first = tokenization.prompts([USER])[0]
    assert isinstance(first, tuple)
    assert first.count(BOS) == (template is WITH_BOS)


def labels_context(tokenization: Tokenization, prompt: Prompt) -> list[int]:
    encoded = tokenization.labels([Labels(prompt, ((" yes",), (" no",)))])[0]
    assert isinstance(encoded, EncodedLabels)
    return list(encoded.context)


@pytest.mark.parametrize("adds_bos", [True, False])
def test_each_text_of_a_batch_has_its_own_bos_or_gets_one(adds_bos: bool) -> None:
    """L3: whether a BOS is there already is asked of every text, not of the first of a batch."""
    tokenizer, tokenization = opened("llama3", adds_bos)
    bare = tuple(tokenizer.encode("hello world", add_special_tokens=False))
    texts = ["<s>hello world", "hello world", "<s>hello world"]
    plain = (BOS, *bare) if adds_bos else bare
    for order in (texts, texts[1:]):
        expected = [(BOS, *bare) if text.startswith("<s>") else plain for text in order]
        assert tokenization.prompts(order) == expected
        spans: Sequence[Any] = tokenization.spans([Span(text, len(text) - 6) for text in order])
        assert [encoded.ids for encoded in spans] == expected


def test_text_that_brings_its_own_bos_is_conditioned_on_it() -> None:
    """L2 L3: the BOS that a text begins with is its context and is not scored."""
    tokenizer, tokenization = opened("llama3")
    encoded = span(tokenization, "<s>hello", 0)
    assert list(encoded.ids) == [BOS, *tokenizer.encode("hello", add_special_tokens=False)]
    assert encoded.first_scored == 1


def test_a_system_message_that_the_template_rejects_begins_the_users_and_is_noted() -> None:
    """L4: a system message is never left out in silence."""
    refusing = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    _, tokenization = opened("gpt2", None, refusing)
    prompt = (Message("system", "be brief"), *USER)
    as_user = (Message("user", f"be brief\n{USER[0].text}"), *USER[1:])
    assert tokenization.notes() == ()
    assert tokenization.prompts([prompt]) == tokenization.prompts([as_user])
    assert "no system role" in tokenization.notes()[0]
