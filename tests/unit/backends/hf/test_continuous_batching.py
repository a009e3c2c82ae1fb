"""Rows that join a running batch generate the same text as alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.backends.hf import batch_generation, cache_readers
from assay.backends.hf.batch_generation import BatchGenerator
from assay.backends.hf.batching import Budget
from assay.backends.hf.decoding_trial import prepare_decoding
from assay.backends.hf.generation import Draft, new_draft
from assay.backends.hf.step_graphs import RecordedSteps
from assay.backends.registry import open_backend
from assay.core.ids import make_random
from assay.core.request import Generate, Sampling, make_request
from assay.core.response import Completion, Finish, Output
from fakes.sampling import sample_token

MakeModel = Callable[..., Path]
Prompt = tuple[int, ...]
KINDS = [
    "llama", "llama ahead", "llama eager", "llama plain", "mistral", "mistral ahead", "mistral eager", "gpt2",
    "gpt2 ahead", "gemma2", "gemma2 ahead",
]  # fmt: skip
"""Looking at a prefix without copies, copied prefixes, no prefixes; windows that some rows exceed, or all.
Ahead: as on a GPU, in steps of rounded sizes that are sent before the tokens of the step before are read."""
ARGS = {"": {}, "ahead": {}, "eager": {"attn": "eager"}, "plain": {"plain": "true"}}
VOCABULARY = range(4, 400)


class ReplayedSteps(RecordedSteps):
    """Replays steps by running them again in the same memory, as a GPU does with its graphs."""

    def _record(self, step: Callable[[], Any]) -> tuple[Any, Any]:
        # Recording computes nothing: what a step changes besides its result is restored.
        cache = step.__self__._cache  # type: ignore[attr-defined]
        columns = cache._columns.clone()
        result = step()
        cache._columns.copy_(columns)

        class Graph:
            def replay(self) -> None:
                result.copy_(step())

        return Graph(), result


class Writer:
    """A tiny model with everything that writes, and the same model by hand."""

    def __init__(self, folder: Path, how: str) -> None:
        from transformers import AutoModelForCausalLM

        backend: Any = open_backend(f"hf:{folder}", ARGS[how])
        self.backend = backend
        self.loaded: Any = backend._load()
        self.prefixes: Any = backend._prefixes
        self.ending: Any = backend._end_detector
        self._is_ahead = how == "ahead"
        self.decoding = None
        if self.prefixes is not None:
            self.decoding = prepare_decoding(self.loaded, ReplayedSteps if self._is_ahead else None)
            assert not self.decoding.troubles
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._logits = cache(self._computed)

    def write(self, drafts: Sequence[Draft], tokens: int = 4096, max_rows: int | None = None) -> list[Draft]:
        """Write drafts in one batch that comes and goes; return them in the order they were done."""
        return [draft for done in self.run(drafts, tokens, max_rows) for draft in done]

    def run(self, drafts: Sequence[Draft], tokens: int = 4096, max_rows: int | None = None) -> Any:
        writing = BatchGenerator(
            self.loaded,
            Budget(tokens, max_rows),
            self.backend._counters,
            self.ending,
            self.prefixes,
            self.decoding,
        )
        writing.n_ahead = int(self._is_ahead)
        return writing.run(drafts)

    def alone(self, draft: Draft) -> Output:
        """Write one draft without cache, batch or window on the text."""
        ids: list[int] = []
        sampling = draft.sampling
        twin = new_draft(draft.prompt, sampling, None, draft.key, draft.number)
        twin.random = make_random(sampling.seed or 0, draft.key, str(draft.number))
        while True:
            logits = self._logits((*draft.prompt, *ids))
            ids.append(int(logits.argmax()) if sampling.temperature <= 0 else sample_token(logits, twin))
            text = self.backend._tokenizer.decode(ids, skip_special_tokens=True)
            cuts = [text.find(stop) for stop in sampling.stop if stop in text]
            if ids[-1] in self.ending.end_ids:
                return Output(text, Finish.END, len(ids))
            if cuts:
                return Output(text[: min(cuts)], Finish.STOP, len(ids))
            if len(ids) == draft.max_new:
                return Output(text, Finish.LENGTH, len(ids))

    def _computed(self, ids: Prompt) -> Any:
        with torch.inference_mode():
            return self._model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].float()


@pytest.fixture(scope="module", params=KINDS)
def writer(request: pytest.FixtureRequest, make_model: MakeModel) -> Writer:
    return _writer(make_model, request.param)


_writers: dict[str, Writer] = {}


def _writer(make_model: MakeModel, kind: str) -> Writer:
    if kind not in _writers:
        family, _, how = kind.partition(" ")
        _writers[kind] = Writer(make_model(family), how)
    return _writers[kind]


def tokens(seed: str, n: int) -> Prompt:
    return tuple(make_random(3, seed).choices(VOCABULARY, k=n))


PROMPTS = st.builds(
    lambda head, tail, n: tokens(head, {"": 0, "x": 20, "y": 33, "long": 64}[head]) + tokens(tail, n),
    st.sampled_from(["", "x", "x", "y", "long"]),
    st.sampled_from(["p", "q", "r"]),
    st.integers(1, 12),
)


@st.composite
def drafts(draw_from: st.DrawFn) -> list[Draft]:
    """Some drafts, several of them on one prompt, each with its own limits."""
    found = []
    for index, prompt in enumerate(draw_from(st.lists(PROMPTS, min_size=1, max_size=6))):
        sampling = Sampling(
            max_tokens=draw_from(st.integers(1, 20)),
            temperature=draw_from(st.sampled_from([0.0, 0.0, 1.0])),
            top_p=draw_from(st.sampled_from([1.0, 0.9])),
            seed=draw_from(st.integers(0, 3)),
            stop=draw_from(st.sampled_from([(), (), (" ",), ("e", "qq"), ("is",), ("\n", "a")])),
        )
        n = draw_from(st.integers(1, 3))
        found += [new_draft(prompt, sampling, None, f"k{index}", number) for number in range(n)]
    return found


def copies(given_drafts: Sequence[Draft]) -> list[Draft]:
    return [new_draft(one.prompt, one.sampling, None, one.key, one.number) for one in given_drafts]


@settings(max_examples=25, deadline=None)
@given(
    asked=drafts(),
    budget=st.sampled_from([1, 10, 30, 1000]),
    max_rows=st.none() | st.integers(1, 4),
    many=st.sampled_from([2, 16]),
    data=st.data(),
)
def test_texts_do_not_depend_on_company_order_or_room(
    writer: Writer, asked: list[Draft], budget: int, max_rows: int | None, many: int, data: st.DataObject
) -> None:
    expected = {(one.key, one.number): writer.alone(one) for one in asked}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_generation, "MANY_SAMPLES", many)
        found = writer.write(data.draw(st.permutations(copies(asked))), budget, max_rows)
    assert {(one.key, one.number): one.output for one in found} == expected


def test_kinds_are_what_they_are_called(make_model: MakeModel) -> None:
    ways = {kind: _writer(make_model, kind).decoding for kind in KINDS}
    packs = {kind for kind, decoding in ways.items() if decoding is not None}
    assert packs == {kind for kind in KINDS if "plain" not in kind and "gemma2" not in kind}
    splits = {kind for kind, decoding in ways.items() if decoding is not None and decoding.way.splits}
    assert splits == {kind for kind in packs if "eager" not in kind}
    records = {kind for kind, decoding in ways.items() if decoding is not None and decoding.way.records}
    assert records == {kind for kind in packs if "ahead" in kind}


class Watch:
    """Notes what a feeder is asked for."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, kind: type[Any] = cache_readers.SharedPrefixFeeder
    ) -> None:
        self.log: list[tuple[str, int]] = []
        self.prompts: list[Prompt] = []
        real_join, real_step = kind.join, kind.step

        def join(feeder: Any, prompts: Sequence[Prompt]) -> Any:
            self.log.append(("join", len(prompts)))
            self.prompts += prompts
            return real_join(feeder, prompts)

        def step(feeder: Any, newest: Any) -> Any:
            self.log.append(("step", len(newest)))
            return real_step(feeder, newest)

        monkeypatch.setattr(kind, "join", join)
        monkeypatch.setattr(kind, "step", step)


def sized(*max_tokens: int) -> list[Draft]:
    """Drafts behind one prefix that run to their limits."""
    return [
        new_draft(tokens("x", 20) + tokens(f"tail {n}", 3), Sampling(max_tokens=size), None, str(n), 0)
        for n, size in enumerate(max_tokens)
    ]


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch, make_model: MakeModel) -> Writer:
    writer = _writer(make_model, "llama")
    monkeypatch.setattr(writer.ending, "end_ids", frozenset())
    return writer


def test_waiting_rows_join_while_others_run(endless: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(monkeypatch)
    # By length; those of 30 run all along, and the short ones pass through the two places left.
    found = endless.write(sized(30, 30, *[5] * 10), max_rows=4)
    assert len(found) == 12
    joins = [at for at, (what, _) in enumerate(watch.log) if what == "join"]
    assert len(joins) == 5
    assert max(n for what, n in watch.log if what == "step") == 4
    n_steps = sum(what == "step" for what, _ in watch.log)
    assert n_steps == 29  # In batches that wait for their last row, it would be 29 + 4 + 4.


def test_texts_come_as_they_are_done(endless: Writer) -> None:
    short, long, later = asked = sized(2, 30, 2)
    arriving = endless.run(asked, max_rows=2)
    assert next(arriving) == [short]
    assert (long.output, later.output) == (None, None)
    assert next(arriving) == [later]
    assert long.output is None
    assert list(arriving) == [[long]]


def test_time_is_shared_out(endless: Writer) -> None:
    import time

    began = time.perf_counter()
    found = endless.write(sized(4, 9, 9, 2), max_rows=2)
    total = time.perf_counter() - began
    assert all(draft.seconds > 0 for draft in found)
    assert sum(draft.seconds for draft in found) == pytest.approx(total, rel=0.5)
    assert sum(draft.seconds for draft in found) <= total


@pytest.mark.parametrize(
    ("kind", "max_batch"),
    # Without prefixes, each batch reads its prompts; with them, not even samples in different batches do.
    [("llama", None), ("llama", 2), ("llama eager", None), ("llama eager", 2), ("llama plain", None)],
)
def test_samples_of_one_prompt_read_it_once(make_model: MakeModel, kind: str, max_batch: int | None) -> None:
    family, _, how = kind.partition(" ")
    more = {} if max_batch is None else {"max_batch": str(max_batch)}
    backend: Any = open_backend(f"hf:{make_model(family)}", ARGS[how] | more)
    head = "one two three four five six seven eight nine ten, hello world, the answer is yes, but no. "
    texts = [head + "What is the capital of France?", head + "Question: which of these is a fruit?"]
    asks = [Generate(text, Sampling(max_tokens=6, temperature=1.0, n=5)) for text in texts]
    requests = [make_request("t", str(n), "gen", "answer", 0, ask) for n, ask in enumerate(asks)]
    outcomes = [response.outcome for response in backend.run(requests)]
    assert all(isinstance(outcome, Completion) for outcome in outcomes)
    outputs = [one for outcome in outcomes if isinstance(outcome, Completion) for one in outcome.outputs]
    one, other = (backend._tokenization.prompts([text])[0] for text in texts)
    shared = next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    stats = backend.stats()
    n_read = len(one) + len(other) - (0 if how == "plain" else shared)
    n_steps = sum(output.n_tokens - 1 for output in outputs)
    assert stats["forward_tokens"] - stats["padding_tokens"] == n_read + n_steps
    if how == "" or max_batch is not None:
        assert stats["padding_tokens"] == 0
    else:
        assert stats["padding_tokens"] == abs(len(one) - len(other))


@given(asked=drafts(), many=st.sampled_from([2, 3, 100]))
def test_groups_share_what_they_begin_with(asked: list[Draft], many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_generation, "MANY_SAMPLES", many)
        groups = list(batch_generation.share_prompts(asked))
    assert sorted(id(draft) for _, group in groups for draft in group) == sorted(map(id, asked))
    for prefix, group in groups:
        assert all(draft.prompt[: len(prefix)] == prefix for draft in group)
        assert all(len(draft.prompt) > len(prefix) for draft in group)
        prompts = {draft.prompt for draft in group}
        assert len(prefix) >= batch_generation.LEAST_SHARED or not prefix or len(prompts) == 1
        # A prompt whose samples fill a batch is all they share; any other is written together with its like.
        if len(prompts) == 1 and len(group) >= many:
            assert prefix == group[0].prompt[:-1]
    assert sum(not prefix and len(group[0].prompt) > 1 for prefix, group in groups) <= 1


@pytest.mark.parametrize("kind", ["llama", "llama plain"])
def test_memory_that_runs_out_keeps_what_is_done_and_writes_the_rest_alike(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    writer = _writer(make_model, kind)
    monkeypatch.setattr(writer.ending, "end_ids", frozenset())
    asked = [
        new_draft(draft.prompt, Sampling(max_tokens=draft.max_new, temperature=1.0), None, draft.key, 0)
        for draft in sized(1, 9, 12, 12, 3, 12, 12)
    ]
    expected = {draft.key: writer.alone(draft) for draft in asked}
    feeder = cache_readers.SharedPrefixFeeder if kind == "llama" else cache_readers.PlainFeeder
    watch = Watch(monkeypatch, feeder)
    real = feeder.step
    trouble = 0

    def small(one: Any, newest: Any) -> Any:
        nonlocal trouble
        logits = real(one, newest)
        if len(newest) > 1 and watch.log.count(("step", len(newest))) == 3:
            trouble += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return logits

    monkeypatch.setattr(feeder, "step", small)
    found = writer.write(copies(asked), tokens=4096)
    assert {draft.key: draft.output for draft in found} == expected
    assert len(found) == len(asked)
    assert trouble == 2
    # Done before memory ran out: not begun again.
    for done in (0, 4):
        assert watch.prompts.count(asked[done].prompt) == 1
    assert watch.prompts.count(asked[2].prompt) > 1


def test_a_row_that_does_not_fit_alone_is_given_up_and_the_rest_continues(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = _writer(make_model, "llama")
    asked = sized(5, 5, 40, 5)
    expected = [writer.alone(draft) for draft in asked]
    real = cache_readers.SharedPrefixFeeder.join

    def small(feeder: Any, prompts: Sequence[Prompt]) -> Any:
        if asked[2].prompt in prompts:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
        return real(feeder, prompts)

    monkeypatch.setattr(cache_readers.SharedPrefixFeeder, "join", small)
    writer.write(asked)
    kinds = [draft.failure[0] if draft.failure else None for draft in asked]
    assert kinds == [None, None, "memory", None]
    for index in (0, 1, 3):
        assert asked[index].output == expected[index]


def test_a_prefix_that_does_not_fit_gives_up_all_behind_it(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = _writer(make_model, "llama")

    def full(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(writer.prefixes, "get", full)
    found = writer.write(sized(5, 5, 5))
    assert [draft.failure[0] for draft in found if draft.failure] == ["memory"] * 3


def test_other_errors_are_not_hidden(make_model: MakeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> Any:
        raise RuntimeError("device lost")

    monkeypatch.setattr(cache_readers.SharedPrefixFeeder, "step", gone)
    with pytest.raises(RuntimeError, match="device lost"):
        _writer(make_model, "llama").write(sized(5, 5))


def test_whoever_asks_for_texts_does_not_run_in_inference_mode(endless: Writer) -> None:
    for _ in endless.run(sized(2, 9)):
        assert not torch.is_inference_mode_enabled()
