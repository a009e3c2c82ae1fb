"""Dataset folders of transforms for tests: written, compiled, asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.compilation import Compilation
from assay.core.request import Request
from assay.core.task import TaskSettings
from assay.dialects.ultraeval.compile import UltraevalTools, compile_transforms
from assay.dialects.ultraeval.task import TransformTask
from assay.scoring.originals.opencompass.postprocess import CORRECTED, POSTPROCESSORS

GEN = """
def transform(data, num_sample, r, dataset_name):
    options = "".join(f"({chr(65 + i)}) {o}\\n" for i, o in enumerate(data["target_scores"]))
    right = list(data["target_scores"].values()).index(1)
    letter = f"({chr(65 + right)})"
    text = f"{data['question']}\\n{options}Answer:\\n"
    return {"input": text, "output": letter, "processed_output": letter}
"""
PPL = """
def transform(data, num_sample, r, dataset_name):
    first = next(iter(data["target_scores"]))
    return {"input": f"{data['question']} ", "output": first, "processed_output": ""}
"""
FREE = """
def transform(data, num_sample, r, dataset_name):
    text, answer = f"Q: {data['question']}\\nA: ", data["answer"]
    return {"input": text, "output": answer, "processed_output": answer}
"""

Row = Mapping[str, Any]


def choice_rows(n: int) -> list[dict[str, Any]]:
    """Return rows with three options, the right one in turn."""
    return [
        {
            "passage": "",
            "question": f"Question {i}?",
            "target_scores": {
                f"first {i}": int(i % 3 == 0),
                f"second {i}": int(i % 3 == 1),
                f"third {i}": int(i % 3 == 2),
            },
            "answer": "",
        }
        for i in range(n)
    ]


def free_rows(n: int) -> list[dict[str, Any]]:
    """Return rows with a free answer."""
    return [
        {"passage": "", "question": f"{i}+1", "target_scores": {}, "answer": str(i + 1)} for i in range(n)
    ]


def config(
    task: str = "sums", *, dataset: str = "sums", method: str = "generate", **more: Any
) -> dict[str, Any]:
    """Return a task config."""
    kind = "gen" if method == "generate" else "ppl"
    return {
        "task_name": task,
        "path": f"datasets/{dataset}/data/{task}.jsonl",
        "description": "",
        "transform": f"datasets/{dataset}/transform_{kind}_v0.py",
        "fewshot": 0,
        "generate": {"method": method, "params": ""},
        "postprocess": "",
        "metric": {"accuracy": {"evaluation": {"type": "exact_match" if kind == "gen" else "log_prob"}}},
        **more,
    }


def write_dataset(
    root: Path,
    rows: Sequence[Row] | Mapping[str, Sequence[Row]],
    scripts: Mapping[str, str],
    configs: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    name: str = "sums",
) -> Path:
    """Write `datasets/NAME` under a root: its data by task, its scripts and configs by file name."""
    folder = root / "datasets" / name
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for task, some in (rows if isinstance(rows, Mapping) else {name: rows}).items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some)
        (folder / "data" / f"{task}.jsonl").write_text(lines, encoding="utf-8")
    for file, text in scripts.items():
        (folder / file).write_text(text, encoding="utf-8")
    for file, content in (configs or {}).items():
        (folder / "config").mkdir(exist_ok=True)
        (folder / "config" / file).write_text(json.dumps(content, indent=4), encoding="utf-8")
    return folder


def compile_transform(name: Path | str, **settings: Any) -> list[Compilation[TransformTask]]:
    """Compile what a name means."""
    tools = UltraevalTools(POSTPROCESSORS, CORRECTED)
    return compile_transforms(str(name), TaskSettings(**settings), tools)


def compile_only(name: Path | str, **settings: Any) -> Compilation[TransformTask]:
    """Compile what means one task."""
    (one,) = compile_transform(name, **settings)
    return one


def list_requests(one: Compilation[TransformTask]) -> list[list[Request]]:
    """Return what is asked about each sample."""
    return [list(one.task.requests(sample)) for sample in one.task.samples()]
