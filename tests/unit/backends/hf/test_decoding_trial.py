"""The generation check when a model is loaded: it covers what it enables, and falls back with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from assay.backends.hf import backend as backend_module
from assay.backends.hf import shared_attention, slot_cache
from assay.backends.hf.cache_readers import DecodingWay
from assay.backends.hf.decoding_trial import Decoding, prepare_decoding
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.slot_cache import SlotCache, StepShape
from assay.backends.hf.step_graphs import DirectSteps, RecordedSteps
from assay.backends.registry import open_backend
from assay.core.request import Generate, Sampling, Span, make_request
from assay.core.response import Completion, Likelihood
from fakes.tiny_llama import tiny_llama

VOCAB = 97
FASTEST = DecodingWay(splits=True, records=True)


@pytest.fixture
def split() -> LoadedModel:
    loaded = tiny_llama(VOCAB)
    assert shared_attention.enable_shared_attention(loaded.model)
    loaded.shares = True
    return loaded


def test_a_model_with_torchs_own_attention_generates_in_the_fastest_way(split: LoadedModel) -> None:
    for make_recorder, way in ((None, DecodingWay(splits=True)), (DirectSteps, FASTEST)):
        found = prepare_decoding(split, make_recorder)
        assert (found.way, found.troubles) == (way, ())


def test_a_model_with_its_own_attention_gets_copies_of_the_prefix() -> None:
    assert prepare_decoding(tiny_llama(VOCAB), DirectSteps).way == DecodingWay()


@pytest.mark.parametrize(
    "fault", ["a late token is forgotten", "free columns are seen", "positions are shifted", "rows are mixed"]
)
def test_what_generation_gets_wrong_is_detected(
    split: LoadedModel, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Each fault gives plausible numbers and no error; only the comparison shows it."""
    real_feed, real_select = SlotCache.feed, SlotCache.select

    def feed(cache: SlotCache) -> dict[str, Any]:
        fed = real_feed(cache)
        if fault == "a late token is forgotten":
            fed["attention_mask"][..., 4] = torch.finfo(torch.float32).min
        elif fault == "free columns are seen":
            fed["attention_mask"][..., :9] = 0
        elif fault == "positions are shifted":
            fed["position_ids"][1] += 1
        return fed

    def select(cache: SlotCache, rows: Any) -> None:
        real_select(cache, sorted(rows) if fault == "rows are mixed" else rows)

    monkeypatch.setattr(SlotCache, "feed", feed)
    monkeypatch.setattr(SlotCache, "select", select)
    found = prepare_decoding(split, DirectSteps)
    assert found.way == DecodingWay()
    assert len(found.troubles) == 2
    assert all("generated rows differ from plain ones" in trouble for trouble in found.troubles)


def test_a_kernel_that_fails_leaves_the_plain_way(
    split: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise NotImplementedError("no kernel")

    monkeypatch.setattr(shared_attention, "_run_attention", fail)
    found = prepare_decoding(split, DirectSteps)
    assert found.way == DecodingWay()
    assert found.troubles == tuple(
        f"{way}: NotImplementedError: no kernel" for way in ("recorded steps", "two-part attention")
    )


def test_steps_that_cannot_be_recorded_are_run_directly(split: LoadedModel) -> None:
    class Unrecordable(RecordedSteps):
        def _record(self, step: Callable[[], Any]) -> tuple[Any, Any]:
            raise RuntimeError("operation not permitted when stream is capturing")

    found = prepare_decoding(split, Unrecordable)
    assert found.way == DecodingWay(splits=True)
    assert isinstance(found.steps, DirectSteps)
    (trouble,) = found.troubles
    assert trouble.startswith("recorded steps: RuntimeError: operation not permitted")


def test_steps_are_recorded_once_for_each_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Recording:
        def __init__(self, graph: Any, pool: Any, capture_error_mode: str) -> None:
            log.append(f"record in {pool}")

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    pools = iter("ab")
    graphs = SimpleNamespace(replay=lambda: log.append("replay"))
    monkeypatch.setattr(torch.cuda, "graph", Recording)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graphs)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: next(pools))
    steps = RecordedSteps()

    def step() -> str:
        log.append("step")
        return "logits"

    small, large = StepShape(1, 128), StepShape(2, 128)
    for shape in (small, small, small, large, large, small):
        assert steps.run(shape, step) == "logits"
    recorded = ["record in a", "step", "replay"]
    assert log == ["step", *recorded, "replay", "step", *recorded, "replay"]
    log.clear()
    steps.forget()  # The memory of the steps has moved.
    for _ in range(2):
        steps.run(small, step)
    assert log == ["step", "record in b", "step", "replay"]


def test_memory_that_runs_out_while_a_step_is_recorded_is_not_hidden() -> None:
    class Full(RecordedSteps):
        def _record(self, step: Callable[[], Any]) -> tuple[Any, Any]:
            raise torch.OutOfMemoryError("CUDA out of memory")

    steps = Full()
    steps.run(StepShape(1, 128), lambda: None)
    with pytest.raises(torch.OutOfMemoryError):
        steps.run(StepShape(1, 128), lambda: None)


def test_masked_columns_are_aligned_for_gpu_kernels() -> None:
    sizes = {slot_cache.round_up_size(n, slot_cache.LEAST_COLUMNS) for n in range(1, 5000)}
    assert all(size % 8 == 0 for size in sizes)


def test_a_run_notes_why_it_generated_more_slowly(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = Decoding(DecodingWay(), DirectSteps(), ("recorded steps: no", "two-part attention: no kernel"))
    monkeypatch.setattr(backend_module, "prepare_decoding", lambda loaded: slower)
    backend = open_backend(f"hf:{make_model()}", {})
    ask = Generate("hello", Sampling(max_tokens=3))
    (response,) = backend.run([make_request("t", "0", "gen", "answer", 0, ask)])
    assert isinstance(response.outcome, Completion)
    (note,) = backend.notes()
    assert "more slowly, because recorded steps: no; two-part attention: no kernel" in note


def test_a_run_of_likelihoods_does_not_try_how_to_generate(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: LoadedModel) -> Decoding:
        raise AssertionError("nothing is generated")

    monkeypatch.setattr(backend_module, "prepare_decoding", fail)
    backend = open_backend(f"hf:{make_model()}", {})
    (response,) = backend.run([make_request("t", "0", "ppl", "option", 0, Span("hello world", 5))])
    assert isinstance(response.outcome, Likelihood)
