"""Token log-probabilities in replies: against brute force, and with every possible fault."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.openai.label_probabilities import find_spellings, read_top_list
from assay.backends.openai.likelihood import LONGEST_TOKEN, LogprobMethod, score_by_context, score_by_texts
from assay.backends.openai.tokens import (
    NextToken,
    Tokens,
    read_echo,
    read_next_tokens,
    read_prompt_logprobs,
    read_token_ids,
)
from assay.core.request import Labels, Span
from assay.core.response import Failure, LabelProbs, Likelihood

LETTERS = st.text(st.sampled_from("ab é語🙂\n"), min_size=1, max_size=12)
ECHO = LogprobMethod("echo", 0)
PROMPT = LogprobMethod("prompt_logprobs", 1)


# --- where the scored tokens begin ---


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], int]:
    """A text, the bytes that each of its tokens holds, and a join."""
    text = draw(LETTERS)
    n_bytes = len(text.encode())
    cuts = sorted(draw(st.sets(st.integers(1, max(1, n_bytes - 1)), max_size=8)) | {0, n_bytes})
    cuts = [cut for cut in cuts if cut <= n_bytes]
    return text, list(pairwise(cuts)), draw(st.integers(0, len(text) - 1))


def chars_of(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The characters that each token has a byte of: the oracle, as local tokenizers tell it."""
    owner = [at for at, char in enumerate(text) for _ in char.encode()]
    return [(owner[begin], owner[end - 1] + 1) for begin, end in spans]


def texts_of(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """What a server tells of each token: whole characters, once their last byte is there."""
    reported: list[str] = []
    shown = 0
    for _, end in spans:
        try:
            whole = text.encode()[:end].decode()
        except UnicodeDecodeError:
            reported.append("")
            continue
        reported.append(whole[shown:])
        shown = len(whole)
    return reported


@given(cut_texts(), st.booleans(), st.booleans())
def test_scored_are_the_tokens_that_end_after_the_join(
    cut: tuple[str, list[tuple[int, int]], int], has_bos: bool, is_vllm: bool
) -> None:
    text, spans, start = cut
    lead = ["<s>"] if has_bos else []
    texts: list[str | None] = [*lead, *texts_of(text, spans)]
    if is_vllm:
        texts[0] = None
    logprobs = [None, *(-float(at) for at in range(1, len(texts)))]
    ids = tuple(range(len(texts))) if is_vllm else ()
    tokens = Tokens(tuple(texts), tuple(logprobs), (True,) * len(texts), ids)
    offsets = chars_of(text, spans)
    first = next(at for at, (_, end) in enumerate(offsets) if end > start)
    straddles = offsets[first][0] < start
    made = score_by_texts(Span(text, start), tokens, len(lead))
    if made is None:
        assert straddles or not text.isascii(), "only tokens of several characters hide a join"
        return
    expected = first + len(lead)
    if expected == 0:
        assert isinstance(made, Failure)
        assert made.kind == "unscored"
        return
    assert isinstance(made, Likelihood)
    assert made.token_logprobs == tuple(logprobs[expected:])
    assert made.n_prompt_tokens == expected
    assert made.straddles == straddles
    assert made.token_ids == ids[expected:]
    assert made.n_chars == len(text[start:].strip())


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), max_size=9))
def test_with_the_context_alone_scoring_begins_where_ids_differ(whole: list[int], context: list[int]) -> None:
    def tokens(ids: list[int]) -> Tokens:
        n = len(ids)
        return Tokens((None,) * n, (None, *[-1.0] * (n - 1)), (None,) * n, tuple(ids))

    before = [9, *context]
    n = 0
    while n < min(len(whole) + 1, len(before)) and [9, *whole][n] == before[n]:
        n += 1
    made = score_by_context(Span("a text", 2), tokens([9, *whole]), tokens(before))
    if n == len(whole) + 1:
        assert isinstance(made, Failure)
    else:
        assert isinstance(made, Likelihood)
        assert made.n_prompt_tokens == n
        assert made.straddles == (n < len(before))
        assert made.token_ids == tuple(whole[n - 1 :])
        assert made.is_greedy is None


def test_a_recut_that_reaches_far_back_is_no_recut() -> None:
    many = Tokens((None,) * 40, (None, *[-1.0] * 39), (None,) * 40, tuple(range(40)))
    others = Tokens((None,) * 40, (None, *[-1.0] * 39), (None,) * 40, (0, *range(100, 139)))
    made = score_by_context(Span("a text", 2), many, others)
    assert isinstance(made, Failure)
    assert made.kind == "unequal"


def test_a_prompt_that_was_cut_at_its_beginning_is_not_taken_for_a_long_first_token() -> None:
    text = "x" * (LONGEST_TOKEN + 1) + " yes"
    cut = Tokens((None, " yes"), (None, -1.0), (None, True), (1, 2))
    assert score_by_texts(Span(text, len(text) - 4), cut, 0) is None


# --- replies that are wrong ---


def completion(**choice: Any) -> dict[str, Any]:
    return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


def at(logprob: Any, rank: Any = 1) -> dict[str, Any]:
    return {"5": {"logprob": logprob, "rank": rank, "decoded_token": "b"}}


GOOD = [None, at(-1.0), at(-2.0)]
ECHOED = {"tokens": ["a", "b", "c"], "token_logprobs": [None, -1.0, -2.0]}


def test_good_replies_are_read() -> None:
    assert read_prompt_logprobs(completion(prompt_logprobs=GOOD)) == Tokens(
        (None, "b", "b"), (None, -1.0, -2.0), (None, True, True), (None, 5, 5)
    )
    expected = Tokens(("a", "b", "c"), (None, -1.0, -2.0), (None, None, None))
    assert read_echo(completion(logprobs=ECHOED), 0) == expected
    longer = {"tokens": [*"abcd"], "token_logprobs": [None, -1.0, -2.0, -3.0]}
    assert read_echo(completion(logprobs=longer), 1) == expected, "what was written is no part of the prompt"
    assert read_echo(completion(logprobs=ECHOED), 1) == expected, "an end mark may not be shown"


@pytest.mark.parametrize(
    ("top", "is_top"),
    [
        ({"b": -1.0}, True),
        ({"x": -1.0, "b": -1.5}, False),
        ({"b": -1.0, "x": -1.0}, True),
        (None, None),
        ({}, None),
    ],
)
def test_the_first_choice_is_known_by_its_name(top: Any, is_top: bool | None) -> None:
    message = {**ECHOED, "top_logprobs": [None, top, {"c": -2.0}]}
    tokens = read_echo(completion(logprobs=message), 0)
    assert isinstance(tokens, Tokens)
    assert tokens.is_top == (None, is_top, True)


@pytest.mark.parametrize(
    ("way", "reply", "message"),
    [
        (PROMPT, completion(prompt_logprobs=GOOD[:2]), "2 log-probabilities for 3 prompt tokens"),
        (PROMPT, completion(prompt_logprobs=[*GOOD, at(-1.0)]), "4 log-probabilities for 3 prompt tokens"),
        (PROMPT, completion(prompt_logprobs=[None, None, at(-1.0)]), "token 2 of the prompt.*missing"),
        (PROMPT, completion(prompt_logprobs=[None, at(None), at(-1.0)]), "token 2 of the prompt.*missing"),
        (PROMPT, completion(prompt_logprobs=[None, at(math.nan), at(-1.0)]), "not a finite number"),
        (PROMPT, completion(prompt_logprobs=[None, at(-math.inf), at(-1.0)]), "not a finite number"),
        (PROMPT, completion(prompt_logprobs=[None, at(-9999.0), at(-1.0)]), "not a finite number"),
        (PROMPT, completion(prompt_logprobs=[None, at(0.01), at(-1.0)]), "above 0"),
        (PROMPT, completion(prompt_logprobs=[None, {**at(-1.0), "6": {}}, at(-1.0)]), "2 entries"),
        (PROMPT, completion(prompt_logprobs=[None, {"x": {}}, at(-1.0)]), "without a token id"),
        (PROMPT, completion(prompt_logprobs="none"), "does not follow the protocol"),
        (PROMPT, completion(text="b"), "no prompt_logprobs"),
        (PROMPT, {"choices": []}, "0 choices instead of one"),
        (PROMPT, {"error": {"message": "down"}}, "down"),
        (ECHO, completion(logprobs={**ECHOED, "token_logprobs": [None, -1.0]}), "2 log-probabilities for 3"),
        (ECHO, completion(logprobs={**ECHOED, "top_logprobs": [None]}), "1 lists of top_logprobs for 3"),
        (ECHO, completion(logprobs={"content": []}), "does not repeat the prompt"),
        (ECHO, completion(logprobs={"tokens": ["z"], "token_logprobs": [-1.0]}), "1 log-probabilities"),
        (ECHO, completion(), "does not repeat the prompt"),
        (
            LogprobMethod("echo", 1),
            {"choices": [{"logprobs": ECHOED}]},
            "does not report the number of prompt tokens",
        ),
    ],
)
def test_wrong_numbers_are_a_failure_and_never_a_score(way: LogprobMethod, reply: Any, message: str) -> None:
    found = way.read(reply)
    assert isinstance(found, Failure)
    assert found.kind == "wrong_logprobs"
    assert re.search(message, found.message), found.message


def test_a_rounding_above_0_is_0() -> None:
    tokens = read_prompt_logprobs(completion(prompt_logprobs=[None, at(-1.0), at(5e-7)]))
    assert isinstance(tokens, Tokens)
    made = score_by_texts(Span("abb", 2), tokens, 0)
    assert isinstance(made, Likelihood)
    assert made.sum_logprob == 0.0


@pytest.mark.parametrize(
    ("logprobs", "message"),
    [
        (None, "no logprobs"),
        ({"content": []}, "no list"),
        ({"top_logprobs": [None]}, "no list"),
        ({"content": [{"top_logprobs": [{"token": "a", "logprob": 0.5}]}]}, "above 0"),
        ({"content": [{"top_logprobs": [{"token": "a", "logprob": math.nan}]}]}, "not a finite number"),
        ({"top_logprobs": [{"a": None}]}, "missing"),
    ],
)
def test_lists_of_tokens_that_are_wrong(logprobs: Any, message: str) -> None:
    found = read_next_tokens({"choices": [{"logprobs": logprobs}]})
    assert isinstance(found, Failure)
    assert message in found.message


def test_both_forms_of_lists_are_read_alike() -> None:
    rows = [("a", -1.0), (" b", -0.5), ("filling", -9999.0)]
    content = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in rows]
    one = read_next_tokens({"choices": [{"logprobs": {"content": [{"top_logprobs": content}]}}]})
    other = read_next_tokens({"choices": [{"logprobs": {"top_logprobs": [dict(rows)]}}]})
    assert one == other
    assert isinstance(one, list)
    assert [token.text for token in one] == [" b", "a"], "what fills a list up is no token of it"
    assert [token.prob for token in one] == pytest.approx([math.exp(-0.5), math.exp(-1.0)])


def test_bytes_of_a_mark_are_no_bytes_of_a_token() -> None:
    content = [
        {"token": "\ufffd", "logprob": -1.0, "bytes": list("\ufffd".encode())},
        {"token": "\ufffd", "logprob": -2.0, "bytes": [0xE8, 0xAA]},
        {"token": "a", "logprob": -3.0, "bytes": [97]},
    ]
    shown = read_next_tokens({"choices": [{"logprobs": {"content": [{"top_logprobs": content}]}}]})
    assert isinstance(shown, list)
    assert [one.content for one in shown] == [None, b"\xe8\xaa", b"a"]


def test_replies_of_tokenize() -> None:
    assert read_token_ids({"tokens": [1, 2], "count": 2}) == (1, 2)
    assert isinstance(read_token_ids({"tokens": [{"id": 1, "piece": "a"}]}), Failure)


# --- labels by a list ---

VOCABULARY = ["a", "b", " a", " ", "ab", "bc", "c", "é", "\n"]
SPELLINGS = ["a", "b", " a", "ab", "abc", " b", "bcc", "é", "éa"]


def greedy_tokens(text: str) -> list[str]:
    """Longest tokens first: a tokenizer of its own."""
    made = []
    while text:
        token = max((one for one in VOCABULARY if text.startswith(one)), key=len)
        made.append(token)
        text = text[len(token) :]
    return made


@given(
    st.lists(st.floats(0.001, 1), min_size=len(VOCABULARY), max_size=len(VOCABULARY)),
    st.integers(1, len(VOCABULARY)),
    st.permutations(SPELLINGS),
    st.integers(1, 3),
    st.floats(0, 1),
)
def test_bounds_hold_whatever_is_not_shown(
    weights: list[float], n_shown: int, spellings: list[str], width: int, later: float
) -> None:
    """Against a model of known probabilities: the first token by weight, each later token with the same."""
    total = math.fsum(weights)
    probs = {token: weight / total for token, weight in zip(VOCABULARY, weights, strict=True)}
    true_of = {
        s: probs[tokens[0]] * later ** (len(tokens) - 1) for s in SPELLINGS if (tokens := greedy_tokens(s))
    }
    labels = tuple(tuple(spellings[at : at + width]) for at in range(0, 3 * width, width))
    ranked = sorted(probs, key=lambda token: -probs[token])
    shown = [NextToken(token, probs[token]) for token in ranked[:n_shown]]
    made = read_top_list(Labels("p", labels), shown, n_shown, 1)
    assert isinstance(made, LabelProbs)
    every = [math.fsum(true_of[s] for s in _distinct(label)) for label in labels]
    highs = made.at_most or tuple(p + 3e-4 for p in made.probs)
    for low, true, high in zip(made.probs, every, highs, strict=True):
        assert low <= true + 1e-9
        assert true <= high + 1e-9
    if made.at_most and made.decided_label is not None:
        assert every[made.decided_label] >= max(every) - 1e-9
    if made.at_most == ():
        assert made.probs == pytest.approx(every, abs=3e-4)


def _distinct(label: Sequence[str]) -> list[str]:
    """Spellings whose tokens do not begin with another's of the label."""
    tokens = {text: greedy_tokens(text) for text in label}
    return [
        text
        for text in label
        if not any(
            len(other) < len(tokens[text]) and tokens[text][: len(other)] == other
            for other in tokens.values()
        )
    ]


def test_bytes_name_a_token_whose_text_is_no_whole_character() -> None:
    half = NextToken("\ufffd", 0.5, "語".encode()[:2])
    rest = [NextToken("a", 0.3), NextToken("語", 0.1)]
    made = read_top_list(Labels("p", (("語",), ("a",), ("語語",))), [half, *rest], 3, 1)
    assert isinstance(made, LabelProbs)
    assert made.probs == (0.1, 0.3, 0.0)
    assert made.at_most == (0.1, 0.3, 0.5), "it may begin with the half"


@pytest.mark.parametrize("name", ["\ufffd", "", "a\ufffd"])
def test_a_part_of_a_character_without_bytes_may_begin_any_such(name: str) -> None:
    shown = [NextToken(name, 0.5), NextToken("a", 0.3), NextToken("b", 0.1)]
    spelled = name.partition("\ufffd")[0] + "語語"
    made = read_top_list(Labels("p", ((spelled,), ("z",), ("b",))), shown, 3, 1)
    assert isinstance(made, LabelProbs)
    # A list by names tells one of several that are called so: the rest of the probability may be theirs.
    assert made.at_most == pytest.approx((0.6, 0.1, 0.1)), "but it begins no letter of ASCII"


def test_a_space_of_sentencepiece_is_a_space() -> None:
    shown = [NextToken("▁A", 0.6), NextToken("▁B", 0.4)]
    made = read_top_list(Labels("p", ((" A",), (" B",))), shown, 2, 1)
    assert made == LabelProbs((0.6, 0.4), 1.0, 1)


def test_a_drawn_token_behind_the_likeliest_is_no_bound() -> None:
    shown = [NextToken("a", 0.5), NextToken("b", 0.1), NextToken("drawn", 0.0001)]
    made = read_top_list(Labels("p", (("a",), ("z",))), shown, 2, 1)
    assert isinstance(made, LabelProbs)
    assert made.at_most == (0.5, 0.1)


def test_spellings_by_ids() -> None:
    ask = Labels("p", ((" yes", " yes, but"), (" no", "no")))
    encoded = {" yes": (1, 5), " yes, but": (1, 5, 6), " no": (1, 7), "no": (9,)}
    made = find_spellings(ask, (1,), encoded)
    assert isinstance(made, list)
    assert [[(one.text, one.next_id) for one in label] for label in made] == [
        [(" yes", 5)],
        [(" no", 7), ("no", None)],
    ]
    same = find_spellings(ask, (1,), {**encoded, " no": (1, 5)})
    assert isinstance(same, Failure)
    assert "same token" in same.message
