"""Likelihoods and label probabilities of the real vLLM, by each of its ways."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.backends.openai.backend import OpenAIBackend
from assay.backends.openai.likelihood import LogprobMethod
from assay.backends.registry import open_backend
from assay.core.request import Ask, Kind, Span
from assay.core.response import Failure, LabelProbs, Likelihood
from cli import assay
from fakes.scoring_asks import CHATS, LABELS, SPANS, close, in_chat, likelihoods, outcomes, same
from fakes.tiny_models import write_tiny_model
from fakes.vllm_server import vllm_server

pytest.importorskip("torch", reason="the hf extra is not installed")
pytestmark = pytest.mark.slow


def opened(url: str) -> OpenAIBackend:
    """Return a client that has learned what vLLM can do."""
    backend = OpenAIBackend(f"tiny@{url}", {})
    for is_chat in (False, True):
        backend.probe_card(frozenset(Kind), is_chat=is_chat)
    return backend


@pytest.mark.parametrize("adds_bos", [True, False], ids=["bos", "no bos"])
def test_vllm_scores_as_the_same_model_here(tmp_path: Path, adds_bos: bool) -> None:
    folder = write_tiny_model(tmp_path / "tiny", adds_bos=adds_bos, adds_eos=False, chat=True, head_dim=32)
    asks: list[Ask] = [*SPANS, *CHATS, *LABELS, *in_chat(LABELS), Span("The capital", 0)]
    expected = outcomes(open_backend(f"hf:{folder}", {}), asks)
    with vllm_server(folder, tmp_path / "vllm.log") as url:
        backend = opened(url)
        assert backend.card.ways == {
            Kind.SPAN: "prompt_logprobs of /chat/completions",
            Kind.LABELS: "logprob_token_ids of /chat/completions, with /tokenize",
        }
        found = outcomes(backend, asks)
        echoed = [outcomes(_echoing(url, n_written), SPANS) for n_written in (0, 1)]
        listed = outcomes(_listing(url), LABELS)
    assert isinstance(found[-1], Likelihood if adds_bos else Failure), "the first token needs one before it"
    for one, other in zip(found[: None if adds_bos else -1], expected, strict=False):
        if isinstance(one, Likelihood):
            same(*likelihoods([one, other]))
        else:
            close(one, other)
    for some in echoed:
        for one, other in zip(some, expected, strict=False):
            same(*likelihoods([one, other]), has_ids=False)
    for one, other in zip(listed, expected[len(SPANS) + len(CHATS) :], strict=False):
        assert isinstance(one, LabelProbs)
        assert isinstance(other, LabelProbs)
        for low, true, high in zip(one.probs, other.probs, one.at_most or one.probs, strict=True):
            assert low - 1e-4 <= true <= high + 1e-4


def _echoing(url: str, n_written: int) -> OpenAIBackend:
    """Return a client that takes vLLM for a server that repeats prompts alone."""
    backend = opened(url)
    known = backend._scoring._abilities
    way = known[Kind.SPAN, "completions"].spans["completions"]
    spans = {"completions": LogprobMethod("echo", n_written, way.n_lead)}
    known[Kind.SPAN, "completions"] = replace(known[Kind.SPAN, "completions"], spans=spans)  # type: ignore[arg-type]
    return backend


def _listing(url: str) -> OpenAIBackend:
    """Return a client that takes vLLM for a server that tells the likeliest tokens alone."""
    backend = opened(url)
    known = backend._scoring._abilities
    known[Kind.LABELS, "completions"] = replace(known[Kind.LABELS, "completions"], by_ids=frozenset())
    return backend


def test_a_run_by_all_methods_and_a_benchmark(workdir: Path) -> None:
    folder = write_tiny_model(workdir / "tiny", adds_bos=True, adds_eos=False, chat=True, head_dim=32)
    rows = "".join(f"{n}+{n}=,{n},{2 * n},B\n" for n in range(1, 9))
    Path("data.csv").write_text(f"question,A,B,answer\n{rows}", encoding="utf-8")
    with vllm_server(folder, workdir / "vllm.log") as url:
        flags = ("-m", f"openai:tiny@{url}", "--max-tokens", "8", "--no-cache")
        run = assay("run", "data.csv", *flags, "--method", "ppl,prob,gen", "--out", "run")
        assert run.status == 0, run.err
        assert run.out.count("8/8") == 3
        assert "time to first token p50" in run.out
        again = assay("run", "data.csv", *flags, "--method", "ppl,prob,gen", "--out", "run")
        assert again.status == 0, again.err
        bench = assay("bench", f"openai:tiny@{url}", "-n", "12", "-c", "4", "--input", "20", "--output", "8",
                      "--model-arg", "extra.ignore_eos=true", "--out", "bench")  # fmt: skip
        assert bench.status == 0, bench.err
    found = json.loads(Path("bench/summary.json").read_text(encoding="utf-8"))["summary"]
    assert (found["n_succeeded"], found["output_tokens"]) == (12, 96)
    assert found["metrics"]["ttft"]["n"] == 12
