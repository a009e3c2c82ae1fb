"""Models behind TGI and Triton: `assay run`, `assay as aisbench` and `assay bench` on the loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli import assay
from fakes.generate_server import generating
from fakes.openai_server import saying, serving

TGI, TRITON = "tgi:@{url}", "triton:llm@{url}"
BOTH = pytest.mark.parametrize("model", [TGI, TRITON])
DECODING = {"temperature": 0.01, "ignore_eos": False, "max_new_tokens": 512}
"""What AISBench 3.1.20260630 was seen to send for its presets."""


@pytest.fixture(autouse=True)
def _files(workdir: Path, empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"question": f"What is {n} and {n}?", "answer": str(2 * n)} for n in range(3)]
    (workdir / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def sums(prompt: str, parameters: dict[str, Any]) -> list[str]:
    """Add right but for 2 and 2."""
    n = int(prompt.rpartition("What is ")[2].partition(" ")[0])
    return [" ", str(2 * n if n != 2 else 5)]


@BOTH
def test_a_table_is_scored(model: str) -> None:
    with generating(sums) as server:
        result = assay("run", "sums.jsonl", "--model", model.format(url=server.url), "--out", "r")
        assert result.status == 0, result.err
        assert len(server.bodies) == 3
        again = assay("run", "sums.jsonl", "--model", model.format(url=server.url), "--out", "r")
        assert again.status == 0, again.err
        assert len(server.bodies) == 3, "a finished run of a server that reports its model is reused"
    assert "66.7" in result.out


@BOTH
def test_likelihoods_are_rejected_before_a_request(model: str) -> None:
    with generating() as server:
        result = assay("run", "sums.jsonl", "--model", model.format(url=server.url), "--method", "ppl")
        assert not server.bodies
    assert result.status == 2
    assert "ppl" in result.err


@pytest.mark.parametrize(
    ("preset", "path", "field"),
    [
        ("tgi_api_general", "/generate", "inputs"),
        ("tgi_stream_api_general", "/generate_stream", "inputs"),
        ("triton_api_general", "/v2/models/llm/generate", "text_input"),
        ("triton_stream_api_general", "/v2/models/llm/generate_stream", "text_input"),
    ],
)
def test_a_preset_of_aisbench_sends_what_the_original_does(preset: str, path: str, field: str) -> None:
    named = ("--model-name", "llm") if preset.startswith("triton") else ()
    with generating(sums) as server:
        result = assay(
            *("as", "aisbench", "--models", preset, "--url", server.url, *named),
            *("--custom-dataset-path", "sums.jsonl", "--work-dir", "out"),
        )
        assert result.status == 0, result.err
        assert set(server.paths) == {path}
        prompt = "Question: What is 0 and 0?\nAnswer: "
        assert {field: prompt, "parameters": DECODING} in server.bodies
    assert "66.67" in result.out


def test_a_preset_with_an_openai_address_is_run_there(workdir: Path) -> None:
    with serving(saying("0")) as server:
        result = assay(
            *("as", "aisbench", "--models", "mindie_stream_api_general", "--url", server.url),
            *("--custom-dataset-path", "sums.jsonl", "--work-dir", "out"),
        )
        assert result.status == 0, result.err
        assert set(server.paths) <= {"/v1/completions", "/v1/models"}
    assert "the original calls /infer" in result.err


@pytest.mark.parametrize(
    ("preset", "advice"), [("vllm_offline_vl_model", "vllm serve"), ("qwen_image_edit", "generates images")]
)
def test_an_offline_preset_says_why_it_cannot_run(preset: str, advice: str) -> None:
    result = assay("as", "aisbench", "--models", preset, "--custom-dataset-path", "sums.jsonl")
    assert result.status == 2
    assert advice in result.err


@BOTH
def test_a_server_is_measured(model: str) -> None:
    with generating() as server:
        result = assay(
            *("bench", model.format(url=server.url), "synthetic", "--text", "-n", "4"),
            *("--output", "3", "--out", "b"),
        )
        assert result.status == 0, result.err
    assert "TTFT, ms" in result.out


def test_aisbench_measures_tgi(workdir: Path) -> None:
    with generating() as server:
        result = assay(
            *("as", "aisbench", "--mode", "perf", "--models", "tgi_stream_api_general", "--url", server.url),
            *("--datasets", "synthetic_gen_string", "--num-prompts", "4", "--work-dir", "out"),
        )
        assert result.status == 0, result.err
    assert "Prefill Token Throughput" in result.out
