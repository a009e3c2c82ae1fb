"""Preliminary requests: journaled like samples, never sent twice, and stored with the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.app.api.result import RunResult
from assay.core.errors import StoreError

CHOICES = """
from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

class Sorts(MultipleChoiceDataset):
    instruction = "Q: {question}\\nA:"
    evaluation_set = "test"
    example_set = "dev"
    metrics = [Accuracy()]
    def format_instance(self, instance):
        return dict(question=instance["q"], options=["yes", "no"], target_idx=instance["gold"])
    @property
    def references(self):
        return [row["gold"] for row in self.evaluation_data]
"""
SIZES = {"ape_rows": "4", "ape_proposals": "3", "ape_examples": "2"}


@pytest.fixture
def dataset(workdir: Path) -> str:
    for split, words in (("test", "abc"), ("dev", "klmnopqrs")):
        rows = [{"q": word, "gold": number % 2} for number, word in enumerate(words)]
        (workdir / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (workdir / "sorts.py").write_text(CHOICES, encoding="utf-8")
    return "sorts.py"


def evaluated(dataset: str, **more: Any) -> RunResult:
    args = {
        "dataset_path": "{split}.jsonl",
        "globale": "true",
        "ape": "true",
        **SIZES,
        **more.pop("args", {}),
    }
    return assay.run(dataset, model="mock", shots=2, dataset_args=args, out="out", **more)


def test_what_was_chosen_is_kept_with_the_run(dataset: str) -> None:
    run = evaluated(dataset)
    (task,) = run.manifest["tasks"]
    assert set(task["chosen"]) == {"ape", "globale_ppl"}
    assert task["settings"]["ape"] == {"proposals": 3, "examples": 2, "rows": 4}
    assert [note for note in run.manifest["notes"] if task["chosen"]["ape"]["ppl"]["instruction"] in note]
    prompts = {ask["prompt"] for ask in _asks(run)}
    assert all(prompt.startswith("Instruction: ") for prompt in prompts)
    (cost,) = [cost for cost in run.manifest["costs"] if cost["method"] == "preparation"]
    assert cost["n_requests"] == run.manifest["stats"]["preparation_requests"] > 0


def test_a_run_that_continues_asks_nothing_twice(dataset: str) -> None:
    first = evaluated(dataset)
    n_asked = first.manifest["stats"]["model_requests"]
    again = evaluated(dataset)
    assert n_asked > 0
    assert again.manifest["stats"]["model_requests"] == 0
    assert again.manifest["tasks"] == first.manifest["tasks"]
    assert again.manifest["notes"] == first.manifest["notes"]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_one_that_stopped_on_the_way_continues_there(dataset: str, share: float) -> None:
    first = evaluated(dataset)
    journal = Path("out") / "responses.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    kept = lines[: int(len(lines) * share)]
    journal.write_bytes(b"".join(kept))
    again = evaluated(dataset)
    assert first.manifest["stats"]["model_requests"] == len(lines)
    known = {json.loads(line)["key"] for line in kept}
    owed = [line for line in lines[len(kept) :] if json.loads(line)["key"] not in known]
    assert again.manifest["stats"]["model_requests"] == len(owed)
    assert again.manifest["tasks"] == first.manifest["tasks"]
    assert again.scores == first.scores


def test_failures_beforehand_are_asked_again_when_reported_to(dataset: str) -> None:
    first = evaluated(dataset, model_args={"fail_every": 5})
    n = {name: value for name, value in first.manifest["stats"].items() if name.startswith("preparation")}
    again = evaluated(dataset, model_args={"fail_every": 5}, retry_failed=True)
    assert again.manifest["stats"]["preparation_journaled"] < n["preparation_requests"]
    assert again.manifest["tasks"][0]["chosen"] == first.manifest["tasks"][0]["chosen"]


def test_another_way_of_choosing_is_another_run(dataset: str) -> None:
    evaluated(dataset)
    with pytest.raises(StoreError, match=r"STORE-001.*'ape'"):
        evaluated(dataset, args={"ape_rows": "3"})


def _asks(run: RunResult) -> list[dict[str, Any]]:
    from assay.results.read import StoredRun

    stored = StoredRun(run.folder)
    return [{"prompt": record.ask(asked).prompt} for record in stored.samples() for asked in record.asks]
