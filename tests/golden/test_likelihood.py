"""Likelihoods of options and labels: whatever the tree of requests, the numbers are the brute-force ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.backends.hf import likelihood, row_scoring, shared_attention
from assay.backends.hf.batching import Budget
from assay.backends.hf.likelihood import Row, Rows, compute_rows
from assay.backends.hf.packed_forward import SharedPrefixCache
from assay.backends.hf.prefix_tree import plan_lanes
from assay.backends.hf.row_scoring import PackedScoring
from assay.backends.hf.work_counters import Counters
from assay.backends.local.label_spellings import EncodedLabels
from assay.backends.local.tokenization import EncodedSpan, Tokenization
from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.request import Ask, Generate, Labels, Request, Sampling, Span, make_request
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome
from fakes.families import EOS, MakeModel, MakeOracle, Oracle, make_tokenizer

WAYS = ("plain", "joined", "shared")
"""Each row by itself; packed, a lane's keys joined to the prefix's; packed, the attention sees the prefix."""

QUESTION = "Question: which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer:"
SHOTS = "".join(f"{QUESTION} {letter}\n\n" for letter in "ABCD")
"""A beginning long enough to be read once, as a prefix."""


def requests(asks: Sequence[Ask]) -> list[Request]:
    return [make_request("t", str(n), "ppl", "option", 0, ask) for n, ask in enumerate(asks)]


def outcomes(backend: Any, asks: Sequence[Ask]) -> list[Outcome]:
    found = {response.request_id: response.outcome for response in backend.run(requests(asks))}
    return [found[one.id] for one in requests(asks)]


def open_way(folder: Path, way: str, patch: pytest.MonkeyPatch, **args: str) -> Any:
    """Open a model that computes in one of the ways, and see that it does."""
    if way == "joined":
        patch.setattr(shared_attention, "enable_shared_attention", lambda model: False)
    backend: Any = open_backend(f"hf:{folder}", {**args, **({"plain": "true"} if way == "plain" else {})})
    list(backend.run(requests([Span("hello world", 5)])))
    assert (backend._prefixes is not None) == (way != "plain")
    assert backend._loaded.shares == (way == "shared")
    return backend


def check(outcome: Outcome, ask: Span, tokenization: Tokenization, truth: Oracle) -> None:
    assert isinstance(outcome, Likelihood), (ask, outcome)
    (encoded,) = tokenization.spans([ask])
    assert isinstance(encoded, EncodedSpan)
    expected = truth.logprobs(encoded.ids, encoded.first_scored)
    assert outcome.token_ids == encoded.ids[encoded.first_scored :]
    assert outcome.token_logprobs == pytest.approx(expected, abs=1e-4), ask
    assert outcome.is_greedy == truth.is_greedy(encoded.ids, encoded.first_scored)


OPTION_SETS: dict[str, Sequence[str]] = {
    "one token each": (" A", " B", " C", " D"),
    "mixed length": (" A", " a river", " the capital of France", " no"),
    "one is the beginning of another": (" yes", " yes, but", " yes, but no"),
    "identical": (" apple", " apple", " stone", " apple"),
    "thirty": tuple(f" {n}" for n in range(30)),
    "merging with the question's last token": (":", " :", "\n", "\n\n"),
    "white space": (" ", "  ", "\n A", "  A"),
    "many bytes": (" 鯨", "鯨", "🙂", " 日本語"),
}


@pytest.mark.parametrize("way", WAYS)
def test_options_of_every_shape_equal_brute_force(
    make_model: MakeModel, oracle: MakeOracle, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """L1 L6: one-token, mixed, nested, identical, thirty and merging options, with and without a question."""
    folder = make_model()
    tokenization, truth = Tokenization(make_tokenizer("gpt2")), oracle(folder)
    asks = [
        Span(context + option, len(context))
        for options in OPTION_SETS.values()
        for context in (QUESTION, SHOTS + QUESTION, SHOTS + "Question: two\nAnswer:", "")
        for option in options
    ]
    backend = open_way(folder, way, monkeypatch, lane_tokens="48")
    found = outcomes(backend, asks)
    for ask, outcome in zip(asks, found, strict=True):
        check(outcome, ask, tokenization, truth)
    # Equal options are one computation, and so equal to the last bit.
    apple = Span(QUESTION + " apple", len(QUESTION))
    same = [outcome for ask, outcome in zip(asks, found, strict=True) if ask == apple]
    assert len(same) == 3
    assert all(one == same[0] for one in same)
    assert way == "plain" or backend._prefixes.n_read > len(SHOTS) / 6


@pytest.mark.parametrize("way", WAYS)
def test_an_option_without_text_is_a_failure_of_its_own(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """L8: an empty option has nothing to score: no likelihood of 1, no crash, and its neighbours stay."""
    backend = open_way(make_model(), way, monkeypatch)
    empty, yes = outcomes(backend, [Span(QUESTION, len(QUESTION)), Span(QUESTION + " yes", len(QUESTION))])
    assert isinstance(empty, Failure)
    assert empty.kind == "empty"
    assert isinstance(yes, Likelihood)


PIECES = (" yes", " but", ",", "\n", " Answer", ":", " A", " B", "wer", "日", "🙂", " 1")
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@pytest.mark.parametrize("way", ["joined", "shared"])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_random_trees_of_requests_equal_brute_force(
    make_model: MakeModel, oracle: MakeOracle, way: str, data: st.DataObject
) -> None:
    """L1 L6: shots, questions and options that begin alike, end alike or are nothing, in any cut of lanes."""
    folder = make_model()
    tokenization, truth = Tokenization(make_tokenizer("gpt2")), oracle(folder)
    shots = data.draw(texts)
    asks = []
    for question in data.draw(st.lists(texts, min_size=1, max_size=3)):
        for option in data.draw(st.lists(texts.filter(bool), min_size=1, max_size=4)):
            context = data.draw(st.sampled_from([shots + question, question, ""]))
            asks.append(Span(context + option, len(context)))
    lane_tokens = data.draw(st.sampled_from(["1", "8", "40", "400"]))
    least_saving = data.draw(st.sampled_from([0, 8, 128]))
    with pytest.MonkeyPatch.context() as patch:
        # Trees this small are worth a prefix only when little is asked of one.
        patch.setattr(row_scoring, "plan_lanes", partial(plan_lanes, least_saving=least_saving))
        backend = _kept(folder, way, lane_tokens, patch)
        for ask, outcome in zip(asks, outcomes(backend, asks), strict=True):
            check(outcome, ask, tokenization, truth)


_KEPT: dict[tuple[Path, str, str], Any] = {}


def _kept(folder: Path, way: str, lane_tokens: str, patch: pytest.MonkeyPatch) -> Any:
    if (folder, way, lane_tokens) not in _KEPT:
        _KEPT[folder, way, lane_tokens] = open_way(folder, way, patch, lane_tokens=lane_tokens)
    return _KEPT[folder, way, lane_tokens]


def test_batches_order_and_neighbours_change_no_number(make_model: MakeModel) -> None:
    """L30: the same row whatever is computed beside it, in whatever order, or was computed before it."""
    folder = make_model()
    # Beginnings of equal length that differ early, as well as beginnings of each other.
    contexts = [QUESTION, SHOTS + QUESTION, SHOTS * 2 + QUESTION, SHOTS.replace("which", "where") + QUESTION]
    asks: list[Ask] = [
        *(Span(c + option, len(c)) for c in contexts for option in (" A", " yes, but", " a river")),
        Labels(QUESTION, ((" A", "A"), (" yes, but",))),
        Labels(SHOTS + QUESTION, ((" A",), (" B",))),
    ]
    expected = [outcomes(open_backend(f"hf:{folder}", {"plain": "true"}), [ask])[0] for ask in asks]
    order = list(range(len(asks)))
    warm: Any = open_backend(f"hf:{folder}", {"lane_tokens": "24"})  # Short lanes make long prefixes.
    for seed, backend in enumerate(
        [
            open_backend(f"hf:{folder}", {"max_batch": "1"}),
            open_backend(f"hf:{folder}", {"max_batch": "7", "lane_tokens": "64"}),
            open_backend(f"hf:{folder}", {"batch_tokens": "200"}),
            warm,
            warm,  # Its prefixes are cached: they must serve as well as computed ones.
        ]
    ):
        make_random(seed, "order").shuffle(order)
        for n, outcome in zip(order, outcomes(backend, [asks[n] for n in order]), strict=True):
            close(outcome, expected[n])
    assert warm._prefixes.n_read > 0


def close(one: Outcome, other: Outcome) -> None:
    if isinstance(one, Likelihood):
        assert isinstance(other, Likelihood)
        assert (one.token_ids, one.is_greedy) == (other.token_ids, other.is_greedy)
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)
    else:
        assert isinstance(one, LabelProbs)
        assert isinstance(other, LabelProbs)
        assert one.probs == pytest.approx(other.probs, abs=1e-5)


@pytest.mark.parametrize("at_once", [7, 4096])
def test_the_first_choice_is_over_the_whole_vocabulary_and_ties_go_to_the_lower_id(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """L7: of two tokens that are equally likely the lower id is greedy, as in what the model would write."""
    # In stretches of 7 tokens the two lie far apart; in one stretch, side by side.
    monkeypatch.setattr(likelihood, "CPU_HEAD_CHUNK", likelihood.HeadChunk(512, at_once))
    backend: Any = open_backend(f"hf:{make_model()}", {"plain": "true"})
    loaded = backend._load()
    context = tuple(backend._tokenizer.encode("hello world", add_special_tokens=False))
    best = _best(loaded, context)
    low, high = sorted((best, 10 if best > 200 else 400))
    loaded.head.weight.data[[low, high]] = loaded.head.weight.data[best].clone()
    rows = Rows()
    readings = [rows.next_tokens(context, [token]) for token in (low, high, 5)]
    compute_rows(loaded, list(rows))
    assert [reading.is_greedy for reading in readings] == [True, False, False]
    assert readings[0].logprobs == pytest.approx(readings[1].logprobs, abs=1e-6)
    (response,) = backend.run(
        [make_request("t", "s", "gen", "answer", 0, Generate("hello world", Sampling(max_tokens=1)))]
    )
    assert isinstance(response.outcome, Completion)
    assert response.outcome.outputs[0].text == backend._tokenizer.decode([low], skip_special_tokens=True)


def _best(loaded: Any, context: tuple[int, ...]) -> int:
    rows = Rows()
    reading = rows.next_tokens(context, range(loaded.vocab_size))
    compute_rows(loaded, list(rows))
    return max(range(loaded.vocab_size), key=lambda token: reading.logprobs[token])


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("family", ["llama", "cohere"])
@pytest.mark.parametrize("way", ["plain", "packed"])
def test_probabilities_over_the_vocabulary_sum_to_one_in_every_dtype(
    make_model: MakeModel, family: str, dtype: str, way: str
) -> None:
    """L9: the softmax is fp32 from the logits up, where the model computes in bfloat16 too.

    In bfloat16, with its three digits, the sum misses 1 by about a hundredth. Cohere scales its logits behind
    the head, so that they come from the model itself and not from its head.
    """
    backend: Any = open_backend(f"hf:{make_model(family)}", {"dtype": dtype})
    loaded = backend._load()
    assert (loaded.body is None) == (family == "cohere")
    rows = Rows()
    readings = [rows.next_tokens((5, 6, 7, *range(9, 9 + n)), range(loaded.vocab_size)) for n in (1, 2, 4, 9)]
    if way == "plain":
        compute_rows(loaded, list(rows))
    else:
        scoring = PackedScoring(loaded, Budget(256), Counters(), SharedPrefixCache(1 << 20), lane_tokens=64)
        assert len([row for done in scoring.run(list(rows)) for row in done]) == 4
    for reading in readings:
        total = math.fsum(math.exp(logprob) for logprob in reading.logprobs)
        assert total == pytest.approx(1.0, abs=1e-5)


def test_labels_add_up_their_spellings_and_report_their_mass(
    make_model: MakeModel, oracle: MakeOracle
) -> None:
    """L31: spellings' exact probabilities over the whole vocabulary add up, and none counts twice."""
    folder = make_model()
    tokenizer, truth = make_tokenizer("gpt2"), oracle(folder)
    tokenization = Tokenization(tokenizer)
    ask = Labels(QUESTION, ((" A", "A", " A"), (" B", "B"), (" yes, but", " no"), ("🙂",)))
    (encoded,) = tokenization.labels([ask])
    assert isinstance(encoded, EncodedLabels)
    (outcome,) = outcomes(open_backend(f"hf:{folder}", {}), [ask])
    assert isinstance(outcome, LabelProbs)
    for prob, spellings in zip(outcome.probs, ask.labels, strict=True):
        expected = 0.0
        for spelling in set(spellings):
            ids = tuple(tokenizer.encode(QUESTION + spelling, add_special_tokens=False))
            expected += math.exp(sum(truth.logprobs(ids, len(encoded.context))))
        assert prob == pytest.approx(expected, rel=1e-4, abs=1e-9)
        assert prob > 0  # However unlikely, and however long its tail: never cut off.
    assert outcome.mass == pytest.approx(math.fsum(outcome.probs))


def test_the_unconditional_likelihood_has_the_prefix_of_an_empty_context(
    make_model: MakeModel, oracle: MakeOracle
) -> None:
    """L37: log P(option) is conditioned on BOS or EOS alone, as for any text without a context."""
    folder = make_model("llama", "qwen")
    tokenizer, truth = make_tokenizer("qwen"), oracle(folder)
    (alone,) = outcomes(open_backend(f"hf:{folder}", {}), [Span(" apple", 0)])
    assert isinstance(alone, Likelihood)
    ids = (EOS, *tokenizer.encode(" apple", add_special_tokens=False))
    assert alone.sum_logprob == pytest.approx(sum(truth.logprobs(ids, 1)), abs=1e-4)
    assert alone.n_prompt_tokens == 1


def test_a_read_that_never_came_is_no_number(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """L28 L30: a place that no computation filled is a failure, never a number that lay in a buffer."""

    def forgetful(loaded: Any, rows: Sequence[Row]) -> None:
        compute_rows(loaded, rows)
        rows[0].logprobs[0] = math.nan

    monkeypatch.setattr(row_scoring, "compute_rows", forgetful)
    backend = open_backend(f"hf:{make_model()}", {"plain": "true"})
    (outcome,) = outcomes(backend, [Span("hello world", 5)])
    assert isinstance(outcome, Failure)
    assert outcome.kind == "not_finite"
