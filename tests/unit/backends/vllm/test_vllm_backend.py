"""`vllm:` without vLLM: an engine of the tests answers, so that all but the engine itself is seen to work."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.backends.registry import open_backend
from assay.backends.vllm import backend as vllm_backend
from assay.backends.vllm.log_file import EngineLog
from assay.core.errors import BackendError
from assay.core.request import Ask, Generate, Kind, Labels, Request, Sampling, Span, Windows, make_request
from assay.core.response import Completion, Failure, Finish, LabelProbs, Likelihood, Outcome
from fakes.token_engine import FakeEngine

pytest.importorskip("torch", reason="the hf extra is not installed")
QUESTION = "Question: which of these is a fruit?\nAnswer:"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    made = FakeEngine(room=4)
    monkeypatch.setattr(vllm_backend, "require_packages", lambda *_, **__: None)
    monkeypatch.setattr(vllm_backend, "open_engine", lambda *_, **__: made)
    return made


@pytest.fixture
def folder(make_model: Callable[..., Path]) -> Path:
    return make_model(adds_bos=True, chat=True)


def make_requests(asks: list[Ask]) -> list[Request]:
    return [make_request("t", str(n), "any", "answer", 0, ask) for n, ask in enumerate(asks)]


def answers(backend: Any, asks: list[Ask]) -> list[Outcome]:
    requests = make_requests(asks)
    found = {response.request_id: response.outcome for response in backend.run(requests)}
    assert len(found) == len(requests)
    return [found[one.id] for one in requests]


def test_every_kind_is_answered(engine: FakeEngine, folder: Path) -> None:
    backend = open_backend(f"vllm:{folder}", {})
    found = answers(
        backend,
        [
            Span(f"{QUESTION} apple", len(QUESTION)),
            Span("one two three four five six", 0, windows=Windows("classic", 4)),
            Labels(QUESTION, ((" A", "A"), (" B", "B"))),
            Generate("hello", Sampling(max_tokens=3)),
            Span("nothing", len("nothing")),
            Generate("hello", Sampling(max_tokens=0)),
        ],
    )
    kinds = [Likelihood, Likelihood, LabelProbs, Completion, Failure, Failure]
    assert [type(one) for one in found] == kinds
    assert backend.stats()["generated_tokens"] == 3
    assert backend.notes() == ()
    backend.close()
    assert engine.is_closed


def test_samples_have_seeds_of_their_own_and_greedy_ones_are_written_once(
    engine: FakeEngine, folder: Path
) -> None:
    backend = open_backend(f"vllm:{folder}", {})
    drawn = Generate("hello", Sampling(max_tokens=4, temperature=0.7, n=3, seed=1))
    greedy = Generate("hello", Sampling(max_tokens=4, n=2))
    found = answers(backend, [drawn, greedy, greedy])
    assert [len(one.outputs) for one in found if isinstance(one, Completion)] == [3, 2, 2]
    assert len(engine.asked) == 4
    seeds = [ask.seed for ask in engine.asked]  # type: ignore[union-attr]
    assert len({seed for seed in seeds if seed is not None}) == 3
    again = open_backend(f"vllm:{folder}", {})
    assert answers(again, [greedy, drawn])[::-1] == found[:2], "neither order nor company decides"


def test_end_tokens_end_and_the_context_is_kept_to(engine: FakeEngine, folder: Path) -> None:
    backend: Any = open_backend(f"vllm:{folder}", {"context_length": "16"})
    prompt = "hello world, the answer"
    n = backend.n_tokens(Generate(prompt, Sampling(max_tokens=0)))
    long, too_long = answers(backend, [Generate(prompt, Sampling(max_tokens=50)), Span(prompt * 4, 0)])
    assert isinstance(long, Completion)
    assert long.outputs[0].finish in (Finish.LENGTH, Finish.END)
    assert long.outputs[0].n_tokens <= 16 - n
    assert isinstance(too_long, Failure)
    assert too_long.kind == "too_long"
    assert all(
        backend._end_detector.end_ids <= ask.end_ids for ask in engine.asked if hasattr(ask, "end_ids")
    )


def test_what_the_engine_rejects_is_a_failure(engine: FakeEngine, folder: Path) -> None:
    engine.longest = 3
    backend = open_backend(f"vllm:{folder}", {})
    found = answers(backend, [Span(f"{QUESTION} apple", 5), Generate(QUESTION, Sampling(max_tokens=2))])
    assert all(isinstance(one, Failure) and one.kind == "engine" for one in found)


def test_the_engine_is_kept_full_and_no_more(engine: FakeEngine, folder: Path) -> None:
    backend = open_backend(f"vllm:{folder}", {})
    pulled = 0

    def endless() -> Iterator[Request]:
        nonlocal pulled
        while True:
            pulled += 1
            yield make_request("t", str(pulled), "any", "a", 0, Generate(f"{pulled}", Sampling(max_tokens=1)))

    stream = backend.run(endless())
    for _ in range(3000):
        next(stream)
    assert pulled <= 3000 + 2 * vllm_backend.WINDOW_REQUESTS
    assert engine.n_held <= 5
    stream.close()  # type: ignore[attr-defined]
    assert engine.n_left == 0, "nobody waits for what is still there"
    assert len(answers(backend, [Span("hello world", 5)])) == 1


def test_identity_is_that_of_the_files_and_of_what_changes_answers(engine: FakeEngine, folder: Path) -> None:
    mine = open_backend(f"vllm:{folder}", {"max_num_seqs": "7"}).identity()
    theirs = open_backend(f"hf:{folder}", {}).identity()
    assert (mine.weights, mine.dtype, mine.template) == (theirs.weights, theirs.dtype, theirs.template)
    assert mine.backend == "vllm"
    assert mine.args == {}
    other = open_backend(f"vllm:{folder}", {"quantization": "fp8"}).identity()
    assert mine.digest != other.digest


def test_without_a_prefix_cache_the_run_says_so(engine: FakeEngine, folder: Path) -> None:
    engine.shares = False
    backend = open_backend(f"vllm:{folder}", {})
    assert backend.notes() == ()
    answers(backend, [Span("hello world", 5)])
    assert "caches no prefixes" in backend.notes()[0]


def test_arguments_reach_the_engine_by_its_names(
    engine: FakeEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def opened(source: Path, **more: Any) -> FakeEngine:
        given.update(more, source=source)
        return engine

    monkeypatch.setattr(vllm_backend, "open_engine", opened)
    args = {"tensor_parallel_size": "2", "kv_cache_gib": "0.5", "context_length": "32"}
    answers(open_backend(f"vllm:{folder}", args), [Span("hello world", 5)])
    assert given["source"] == folder
    assert given["context_length"] == 32
    assert given["dtype"] == "float32"
    assert given["settings"]["tensor_parallel_size"] == 2
    assert given["settings"]["kv_cache_memory_bytes"] == 2**29
    assert "quantization" not in given["settings"]


def test_without_the_package_the_extra_is_named(folder: Path) -> None:
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vLLM is installed here")
    with pytest.raises(BackendError, match=r"MODEL-004.*needs vllm.*assay-eval\[vllm\]"):
        open_backend(f"vllm:{folder}", {})


@pytest.mark.usefixtures("engine")
def test_gguf_files_are_for_hf(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(BackendError, match=r"MODEL-005.*GGUF.*hf:"):
        open_backend(f"vllm:{file}", {})


def test_kinds_and_media(engine: FakeEngine, folder: Path) -> None:
    card = open_backend(f"vllm:{folder}", {}).card
    assert card.kinds == frozenset(Kind)
    assert card.is_chat
    assert card.media == frozenset()


def test_what_is_said_while_loading_goes_into_the_log(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EngineLog()
    with log.capturing_output():
        os.write(1, b"native words")
        os.write(2, b"and others")
    os.write(1, b"afterwards")
    assert capfd.readouterr() == ("afterwards", "")
    message = log.path.read_text(encoding="utf-8")
    assert message == "native wordsand others"
    log.keep(ValueError("no common block size"))
    log.close()
    assert "no common block size" in log.path.read_text(encoding="utf-8")
    log.path.unlink()
    monkeypatch.setenv("VLLM_LOGGING_CONFIG_PATH", "/my/own.json")
    other = EngineLog()
    other.name()
    assert os.environ["VLLM_LOGGING_CONFIG_PATH"] == "/my/own.json"
    monkeypatch.setenv("VLLM_LOGGING_CONFIG_PATH", str(log.path.with_suffix(".json")))
    other.name()
    assert os.environ["VLLM_LOGGING_CONFIG_PATH"] == str(other.path.with_suffix(".json"))
    other.close()
    assert not other.path.exists()
