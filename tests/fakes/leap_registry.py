"""A folder of LEAP tasks over rows in JSON files, with a registry that names their headlines."""

from __future__ import annotations

import json
from pathlib import Path

TASK = """
import numpy as np
from .base import Task, rf
from .metrics import mean

CONTINUATIONS = {continuations!r}


def pearson(items):
    golds, numbers = zip(*items)
    return float(np.corrcoef(golds, numbers)[0, 1])


class {name}(Task):
    DATASET_PATH = "rows"
    DATASET_NAME = ""
    DATASET_TYPE = "json"
    DATA_FILES = {{"validation": {file!r}}}
    DOWNLOAD_OPTIONS = {{}}

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def validation_docs(self):
        return self.dataset["validation"]

    def doc_to_text(self, doc):
        return f"Q: {{doc['q']}}\\nA:"

    def doc_to_target(self, doc):
        return CONTINUATIONS[doc["gold"]]

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, one)[0] for one in CONTINUATIONS]

    def process_results(self, doc, results):
        norm = [one / len(text) for one, text in zip(results, CONTINUATIONS)]
        return {{
            "acc": float(results.index(max(results)) == doc["gold"]),
            "acc_norm": float(norm.index(max(norm)) == doc["gold"]),
            "pearson": (doc["gold"], results[0] - results[1]),
        }}

    def aggregation(self):
        return {{"acc": mean, "acc_norm": mean, "pearson": pearson}}

    def higher_is_better(self):
        return {{"acc": True, "acc_norm": True, "pearson": True}}
"""
ONE_TOKEN = (" no", " yes", " I really do not know, sorry")
"""Continuations of which two are a single token."""


def write_task(
    folder: Path,
    stem: str,
    name: str,
    *,
    continuations: tuple[str, ...] = (" no", " yes"),
    file: str = "rows.json",
    edits: dict[str, str] | None = None,
) -> None:
    """Write a file with one class, and the rows that all of them read."""
    text = TASK.format(name=name, continuations=continuations, file=file)
    for old, new in (edits or {}).items():
        assert old in text
        text = text.replace(old, new)
    with (folder / f"{stem}.py").open("a", encoding="utf-8") as stream:
        stream.write(text)
    (folder / "rows").mkdir(exist_ok=True)
    rows = [json.dumps({"q": f"Is {number} odd?", "gold": number % 2}) for number in range(12)]
    (folder / "rows" / "rows.json").write_text("\n".join(rows), encoding="utf-8")


def write_registry(folder: Path, headlines: dict[str, tuple[str, str]]) -> None:
    """Write a registry: for each task, `stem.Class` and its headline."""
    stems = dict.fromkeys(place.partition(".")[0] for place, _ in headlines.values())
    lines = [f"from . import {stem}" for stem in stems]
    entries = ", ".join(f"{task!r}: {place}" for task, (place, _) in headlines.items())
    (folder / "__init__.py").write_text("\n".join([*lines, f"TASK_REGISTRY = {{{entries}}}"]) + "\n")
    named = {task: headline for task, (_, headline) in headlines.items()}
    datasets = {task: {"explain": task, "metrics": ["acc, acc_norm, pearson"]} for task in headlines}
    text = f"EVAL_DATASET_METRIC = {named!r}\n\n\ndef get_eval_datasets():\n    return {datasets!r}\n"
    (folder / "registry.py").write_text(text)
