"""In every format, rescoring with the run's own settings gives the same scores to the last digit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import assay
from fakes.ultraeval_examples import prepared_examples

EXAMPLES = Path(__file__).parents[2] / "examples"
FEW = ("--limit", "6", "--max-tokens", "16")
WAYS = {
    "llmbox/arc.py": ("--method", "ppl,prob,gen", "--shots", "2"),
    "llmbox/mmlu.py:anatomy,astronomy": ("--method", "ppl,prob"),
    "llmbox/gsm8k.py": ("--cot", "base", "--shots", "1"),
    "llmbox/mt_bench.py": ("--judge", "mock"),
    "llmbox/xquad.py": (),
    "leap:klue_ynat": (),
    "leap:xquad": (),
    "aisbench/mmlu/mmlu_ppl_5_shot_str.py:mmlu_sociology,mmlu_marketing": (),
    "aisbench/gsm8k/gsm8k_gen_4_shot_cot_chat_prompt.py": ("--model-arg", "chat=true"),
    "aisbench/xquad/xquad_gen_0_shot_str.py": (),
}


def again() -> None:
    own = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
    scores = Path("run/scores.jsonl").read_text(encoding="utf-8")
    result = assay("score", "run", "--json")
    assert result.status in (0, 3), result.out + result.err
    assert json.loads(result.out)["metrics"] == own
    assert Path("run/scores.jsonl").read_text(encoding="utf-8") == scores
    was, now = (
        json.loads(Path(f"run/scorings/{name}/manifest.json").read_text(encoding="utf-8"))
        for name in ("001-run", "002-again")
    )
    for name in ("disagreements", "groups", "judge", "costs", "speed"):
        assert now[name] == was[name], name


@pytest.mark.parametrize("name", WAYS)
def test_the_same_numbers_come_out(name: str, workdir: Path, shared_data: Path) -> None:
    run = assay(
        *("run", str(EXAMPLES / name), "-m", "mock", "--data-root", str(shared_data), "--out", "run"),
        *(*FEW, *WAYS[name]),
    )
    assert run.status in (0, 3), run.out + run.err
    again()


@pytest.mark.parametrize("name", ["arc:easy", "gsm8k", "mmlu:anatomy,astronomy"])
def test_the_same_numbers_come_out_of_transforms(
    name: str, workdir: Path, shared_data: Path, tmp_path: Path
) -> None:
    datasets = prepared_examples(tmp_path / "ultraeval", shared_data)
    run = assay("run", str(datasets / name), "-m", "mock", *FEW, "--out", "run")
    assert run.status == 0, run.out + run.err
    again()
    if name == "gsm8k":
        changed = assay("score", "run", "--extract", "whole", "--json")
        assert changed.status == 0, changed.err
        (head,) = (one for one in json.loads(changed.out)["metrics"] if one["is_headline"])
        assert (
            head["metric"] == json.loads(Path("run/scorings/001-run/summary.json").read_text())[0]["metric"]
        )
        texts = {
            one["request_id"].split("/")[1]: one["outcome"]["outputs"][0]["text"].strip()
            for one in map(json.loads, Path("run/responses.jsonl").read_text(encoding="utf-8").splitlines())
        }
        for score in map(json.loads, Path("run/scores.jsonl").read_text(encoding="utf-8").splitlines()):
            assert score["answer"] == texts[score["sample_id"]]


def test_a_faithful_run_stays_faithful_when_it_is_read_in_another_way(
    workdir: Path, shared_data: Path, tmp_path: Path
) -> None:
    datasets = prepared_examples(tmp_path / "ultraeval", shared_data)
    faithful = ("--fidelity", "faithful")
    run = assay("run", str(datasets / "gsm8k"), "-m", "mock", *FEW, *faithful, "--out", "run")
    assert run.status == 0, run.out + run.err
    changed = assay("score", "run", "--extract", "whole", "--json")
    assert changed.status == 0, changed.err
    manifest = json.loads(Path("run/manifest.json").read_text(encoding="utf-8"))
    (scorers,) = manifest["scorers"].values()
    assert [one["args"]["faithful"] for one in scorers] == [True]
