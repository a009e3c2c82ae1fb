"""SPAN and LABELS against an oracle: one sequence at a time, all logits, log-softmax in fp64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.likelihood import Row
from assay.backends.hf.packed_forward import compute_lanes
from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.prompt import Message
from assay.core.request import Ask, Labels, Request, Span, make_request
from assay.core.response import Failure, LabelProbs, Likelihood, Outcome

MakeModel = Callable[..., Path]
FAMILIES = ["llama", "gemma2", "gpt2"]

QUESTION = "Question: which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer:"
SPANS = [
    *(Span(QUESTION + f" {letter}", len(QUESTION)) for letter in "ABCD"),
    *(Span(f"{QUESTION} {text}", len(QUESTION)) for text in ("yes", "yes, but", "apple", "a river", "apple")),
    Span("hello world", 7),
    Span("日本語のテキスト 🙂", 2),
    Span("The capital of France is Paris.", 0),
    Span("The capital of France is Paris.", 0, scores_first_token=False),
    Span("one two three\n\n four", 13),
]  # fmt: skip


def requests(asks: Sequence[Ask]) -> list[Request]:
    return [make_request("t", str(n), "ppl", "option", 0, ask) for n, ask in enumerate(asks)]


def outcomes(backend: Any, asks: Sequence[Ask]) -> list[Outcome]:
    """Return the answers in the order of the asks."""
    found = {response.request_id: response.outcome for response in backend.run(requests(asks))}
    return [found[r.id] for r in requests(asks)]


class Oracle:
    """The plainest way to the same numbers."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def logprobs(self, ids: Sequence[int]) -> Any:
        """Return [position, vocabulary] log-probabilities of what follows each token."""
        with self.torch.no_grad():
            logits = self.model(input_ids=self.torch.tensor([list(ids)])).logits[0]
        return self.torch.log_softmax(logits.double(), dim=-1)

    def continuation(self, ids: Sequence[int], n: int) -> list[float]:
        table = self.logprobs(ids)
        return [float(table[at - 1, ids[at]]) for at in range(len(ids) - n, len(ids))]


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request: pytest.FixtureRequest, make_model: MakeModel) -> tuple[Any, Oracle]:
    folder = make_model(request.param)
    return open_backend(f"hf:{folder}", {"batch_tokens": "200"}), Oracle(folder)


def check_span(outcome: Outcome, ask: Span, oracle: Oracle) -> None:
    assert isinstance(outcome, Likelihood)
    ids = oracle.tokenizer.encode(ask.prompt, add_special_tokens=False)
    if len(ids) == outcome.n_tokens:  # The whole text: conditioned on BOS, or EOS in its place.
        lead = oracle.tokenizer.bos_token_id
        ids = [oracle.tokenizer.eos_token_id if lead is None else lead, *ids]
    expected = oracle.continuation(ids, outcome.n_tokens)
    assert list(outcome.token_ids) == ids[-outcome.n_tokens :]
    assert outcome.token_logprobs == pytest.approx(expected, abs=1e-4)
    assert outcome.sum_logprob == pytest.approx(sum(expected), abs=1e-4)
    assert outcome.n_prompt_tokens == len(ids) - outcome.n_tokens
    table = oracle.logprobs(ids)
    firsts = [int(table[at - 1].argmax()) for at in range(len(ids) - outcome.n_tokens, len(ids))]
    assert outcome.is_greedy == (firsts == ids[-outcome.n_tokens :])


def test_spans_equal_the_oracle(pair: tuple[Any, Oracle]) -> None:
    backend, oracle = pair
    for ask, outcome in zip(SPANS, outcomes(backend, SPANS), strict=True):
        check_span(outcome, ask, oracle)


def test_greedy_flag_is_true_for_what_the_model_would_write(pair: tuple[Any, Oracle]) -> None:
    backend, oracle = pair
    ids = oracle.tokenizer.encode(QUESTION, add_special_tokens=False)
    best = oracle.tokenizer.decode([int(oracle.logprobs(ids)[-1].argmax())])
    outcome = outcomes(backend, [Span(QUESTION + best, len(QUESTION))])[0]
    if isinstance(outcome, Likelihood) and outcome.n_tokens == 1 and not outcome.straddles:
        assert outcome.is_greedy


def test_labels_equal_the_oracle(pair: tuple[Any, Oracle]) -> None:
    backend, oracle = pair
    ask = Labels(QUESTION + " ", ((" A", "A"), (" B", "B", " B"), (" yes, but",), (" C", " apple")))
    outcome = outcomes(backend, [ask])[0]
    assert isinstance(outcome, LabelProbs)
    encode = oracle.tokenizer.encode
    context = encode(QUESTION, add_special_tokens=False)
    for prob, spellings in zip(outcome.probs, ask.labels, strict=True):
        expected = 0.0
        for spelling in dict.fromkeys(spellings):
            ids = encode(QUESTION + spelling, add_special_tokens=False)
            assert ids[: len(context)] == context
            expected += math.exp(sum(oracle.continuation(ids, len(ids) - len(context))))
        assert prob == pytest.approx(expected, abs=1e-5, rel=1e-4)
    assert outcome.mass == pytest.approx(sum(outcome.probs))
    assert outcome.n_prompt_tokens == len(context)


def test_families_that_cap_their_logits_are_noticed(make_model: MakeModel) -> None:
    found = {}
    for family in FAMILIES:
        backend: Any = open_backend(f"hf:{make_model(family)}", {})
        found[family] = backend._load().body is not None
    assert found == {"llama": True, "gemma2": False, "gpt2": True}


@pytest.mark.parametrize("family", ["llama", "gemma2"])
def test_batches_do_not_change_scores(make_model: MakeModel, family: str) -> None:
    asks: list[Ask] = [
        *SPANS,
        *(Span(f"{QUESTION} {n} " + "yes, but " * (n % 9) + "no", len(QUESTION)) for n in range(20)),
        Labels(QUESTION, ((" A",), (" B",), (" yes, but",))),
    ]
    where = f"hf:{make_model(family)}"
    expected = outcomes(open_backend(where, {"max_batch": "1"}), asks)
    shuffled = list(range(len(asks)))
    make_random(3, "order").shuffle(shuffled)
    for args in ({"max_batch": "7"}, {"batch_tokens": "300"}, {}):
        got = outcomes(open_backend(where, args), [asks[n] for n in shuffled])
        for n, outcome in zip(shuffled, got, strict=True):
            same(outcome, expected[n])


def same(one: Outcome, other: Outcome) -> None:
    if isinstance(one, Likelihood):
        assert isinstance(other, Likelihood)
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)
        assert (one.token_ids, one.is_greedy) == (other.token_ids, other.is_greedy)
    else:
        assert isinstance(one, LabelProbs)
        assert isinstance(other, LabelProbs)
        assert one.probs == pytest.approx(other.probs, abs=1e-4)


def test_one_token_options_share_one_forward_pass(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model()}", {})
    single = [Span(QUESTION + letter, len(QUESTION)) for letter in "XYZ"]
    asks: list[Ask] = [*single, *single, Labels(QUESTION, (("X",), ("Y",)))]
    found = outcomes(backend, asks)
    assert found[:3] == found[3:6]
    first = found[0]
    assert isinstance(first, Likelihood)
    assert backend.stats()["forward_tokens"] == first.n_prompt_tokens


def test_both_methods_of_one_prompt_cost_little_more_than_one(make_model: MakeModel) -> None:
    shots = f"{QUESTION} A\n\n" * 5
    prompts = [f"{shots}Question {n}: which number is {n}?\nAnswer:" for n in range(20)]
    spans = [[Span(f"{prompt} {letter}", len(prompt)) for letter in "ABCD"] for prompt in prompts]
    labels = [Labels(prompt, tuple((f" {letter}", letter) for letter in "ABCD")) for prompt in prompts]

    def count_tokens(asks: Sequence[Ask]) -> float:
        backend = open_backend(f"hf:{make_model()}", {})
        outcomes(backend, asks)
        return backend.stats()["forward_tokens"]

    apart = count_tokens([ask for options in spans for ask in options]), count_tokens(labels)
    mixed: list[Ask] = []
    for options, label in zip(spans, labels, strict=True):
        mixed += [*options, label]
    both = count_tokens(mixed)
    assert both <= 1.15 * max(apart)


def test_the_share_of_busy_time_is_counted(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model()}", {})
    assert backend.stats()["device_busy_share"] == 0
    outcomes(backend, SPANS)
    stats = backend.stats()
    assert stats["device_seconds"] > 0
    assert 0 < stats["device_busy_share"] <= 1
    assert stats["compilations"] == 0  # On a CPU, nothing is compiled.


@pytest.mark.parametrize("args", [{}, {"attn": "eager"}, {"plain": "true"}])
def test_padding_is_counted_apart(make_model: MakeModel, args: dict[str, str]) -> None:
    backend: Any = open_backend(f"hf:{make_model()}", {**args, "lane_tokens": "1"})
    texts = ["hello world", "one two three four five six seven eight"]
    outcomes(backend, [Span(text, len(text) - 2) for text in texts])
    # Nothing is shared here, and the last token of each is not read.
    short, long = (len(backend._tokenizer.encode(text, add_special_tokens=False)) - 1 for text in texts)
    n_padding = long - short if args else 0  # On a CPU with torch's own attention, rows lie end to end.
    assert backend.stats()["padding_tokens"] == n_padding
    assert backend.stats()["forward_tokens"] == short + long + n_padding


def test_many_options_and_equal_options(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model()}", {})
    asks = [Span(f"{QUESTION} {n % 30}", len(QUESTION)) for n in range(31)]
    found = outcomes(backend, asks)
    assert found[0] == found[30]
    assert all(isinstance(outcome, Likelihood) for outcome in found)


def test_too_long_is_a_failure_with_the_numbers(make_model: MakeModel) -> None:
    backend = open_backend(f"hf:{make_model(context=64)}", {})
    outcome, fits, labels = outcomes(
        backend, [Span("yes " * 80, 4), Span("yes no", 3), Labels("yes " * 80, ((" A",), (" B",)))]
    )
    assert isinstance(outcome, Failure)
    assert outcome.kind == "too_long"
    assert "64" in outcome.message
    assert isinstance(fits, Likelihood)
    assert isinstance(labels, Failure)


def test_memory_that_runs_out_halves_the_batch(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from assay.backends.hf import likelihood, row_scoring

    real = likelihood.compute_rows
    sizes: list[int] = []

    def small(loaded: Any, rows: Sequence[Row]) -> None:
        sizes.append(len(rows))
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if len(rows[0].inputs) > 60:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
        real(loaded, rows)

    where = f"hf:{make_model()}"
    expected = outcomes(open_backend(where, {}), SPANS)
    monkeypatch.setattr(row_scoring, "compute_rows", small)
    found = outcomes(open_backend(where, {"plain": "true"}), [*SPANS, Span("yes " * 100, 4)])
    failure = found.pop()
    assert isinstance(failure, Failure)
    assert failure.kind == "memory"
    assert max(sizes) > 3
    for one, other in zip(found, expected, strict=True):
        same(one, other)


def test_other_errors_of_the_model_are_not_hidden(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.backends.hf import row_scoring

    def gone(*_: Any) -> None:
        raise RuntimeError("device lost")

    monkeypatch.setattr(row_scoring, "compute_rows", gone)
    for args in ({}, {"plain": "true"}):
        with pytest.raises(RuntimeError, match="device lost"):
            outcomes(open_backend(f"hf:{make_model()}", args), SPANS)


def test_memory_that_runs_out_halves_the_lanes(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from assay.backends.hf import packed_forward, row_scoring

    real = packed_forward.compute_lanes
    sizes: list[int] = []

    def small(loaded: Any, prefix: Any, lanes: Sequence[Any], rows: Sequence[Row]) -> Any:
        sizes.append(len(lanes))
        if len(lanes) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if len(lanes[0].ids) > 60:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
        return real(loaded, prefix, lanes, rows)

    where = f"hf:{make_model()}"
    expected = outcomes(open_backend(where, {"plain": "true"}), SPANS)
    monkeypatch.setattr(row_scoring, "compute_lanes", small)
    found = outcomes(open_backend(where, {"lane_tokens": "20"}), [*SPANS, Span("yes " * 100, 4)])
    failure = found.pop()
    assert isinstance(failure, Failure)
    assert failure.kind == "memory"
    assert max(sizes) > 1
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_rows_equal_plain_ones(make_model: MakeModel, family: str) -> None:
    where = f"hf:{make_model(family)}"
    plain = outcomes(open_backend(where, {"plain": "true"}), SPANS)
    for lane_tokens in ("1", "16", "64", "1000"):
        backend: Any = open_backend(where, {"lane_tokens": lane_tokens})
        for one, other in zip(outcomes(backend, SPANS), plain, strict=True):
            same(one, other)
        # The tiny Gemma looks back a few tokens only, and no packing is of use to it.
        assert backend._trial.packs == (family != "gemma2")


def test_rows_beyond_a_sliding_window_are_left_to_the_model(make_model: MakeModel) -> None:
    # The trial rows fit into the window, so the model is packed; what looks back further must not be.
    folder = make_model("mistral")
    long = [
        f"{QUESTION} {text} {'one two three ' * 30}four {letter}" for text in ("yes", "no") for letter in "AB"
    ]
    asks = [*SPANS, *(Span(text, len(text) - 2) for text in long)]
    oracle = Oracle(folder)
    backend: Any = open_backend(f"hf:{folder}", {})
    for ask, outcome in zip(asks, outcomes(backend, asks), strict=True):
        check_span(outcome, ask, oracle)
    assert backend.notes() == ()


def test_a_model_that_cannot_be_packed_is_computed_plainly_and_says_so(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.backends.hf import packed_forward

    where = f"hf:{make_model()}"
    expected = outcomes(open_backend(where, {"plain": "true"}), SPANS)
    # As a family would behave that looks at everything before a token, whatever mask it is given.
    real = packed_forward._mask
    monkeypatch.setattr(
        packed_forward, "_mask", lambda ends, n_prefix, dtype: 0 * real(ends, n_prefix, dtype)
    )
    backend: Any = open_backend(where, {})
    for one, other in zip(outcomes(backend, SPANS), expected, strict=True):
        same(one, other)
    (note,) = backend.notes()
    assert "every sequence was computed separately, because packed rows differ" in note


def test_numbers_that_are_none_are_a_failure(make_model: MakeModel) -> None:
    backend: Any = open_backend(f"hf:{make_model()}", {})
    backend._load().head.weight.data.fill_(math.nan)
    outcome = outcomes(backend, [Span("hello world", 5)])[0]
    assert isinstance(outcome, Failure)
    assert outcome.kind == "not_finite"


@pytest.mark.model
def test_smollm2_equals_the_oracle(smollm2: Any) -> None:
    oracle = Oracle(smollm2._source)
    chat = (Message("user", QUESTION), Message("assistant", "The answer is A"))
    *spans, chatted, labels = outcomes(
        smollm2, [*SPANS, Span(chat, 13), Labels(QUESTION, ((" A", "A"), (" B", "B")))]
    )
    for ask, outcome in zip(SPANS, spans, strict=True):
        check_span(outcome, ask, oracle)
    assert isinstance(chatted, Likelihood)
    text = oracle.tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], tokenize=False, add_generation_prompt=True
    )
    ids = oracle.tokenizer.encode(text + "The answer is A", add_special_tokens=False)
    assert chatted.sum_logprob == pytest.approx(sum(oracle.continuation(ids, 1)), abs=1e-4)
    assert isinstance(labels, LabelProbs)
    table = oracle.logprobs(oracle.tokenizer.encode(QUESTION, add_special_tokens=False))[-1].exp()
    for prob, letter in zip(labels.probs, "AB", strict=True):
        ids = [oracle.tokenizer.encode(spelling)[-1] for spelling in (letter, f" {letter}")]
        assert prob == pytest.approx(float(sum(table[id_] for id_ in ids)), abs=1e-4)


def test_requests_share_the_time_that_computing_took(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]

    def takes_ten_seconds(*args: Any) -> Any:
        clock[0] += 10
        return compute_lanes(*args)

    monkeypatch.setattr("assay.backends.hf.row_scoring.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("assay.backends.hf.row_scoring.compute_lanes", takes_ten_seconds)
    backend = open_backend(f"hf:{make_model()}", {})
    outcomes(backend, SPANS[:1])
    loaded_and_tried = clock[0]
    responses = list(backend.run(requests(SPANS)))
    assert clock[0] > loaded_and_tried
    assert sum(response.seconds for response in responses) == pytest.approx(clock[0] - loaded_and_tried)
