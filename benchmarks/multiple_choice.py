"""The multiple-choice datasets of the benchmarks, as tables for Assay and as tasks of lm-evaluation-harness.

Both begin from the same raw rows. `prepare` writes a row as Assay's table has it; the harness does its own
preparation from its own task file, and parity.py counts how many of the resulting prompts are equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import assay

Row: TypeAlias = dict[str, Any]
ARC_PROMPT = "Question: {question}\nAnswer:"


class Dataset(NamedTuple):
    """One dataset in both systems."""

    name: str
    file: str
    """Raw rows, below the data folder."""
    table: dict[str, Any]
    """What is said about the table, in the words of a meta file."""
    prepare: Callable[[Row], Iterable[Row]] = lambda row: (row,)
    """Make the table's rows from a raw one."""
    harness_task: str | None = None
    """The harness's own task file; None when it has no task that asks the same."""
    harness_metrics: tuple[str, ...] = ("acc", "acc_norm", "acc_mutual_info")
    rows_per_sample: int = 1


def _without_brackets(text: str) -> str:
    """Clean a text of HellaSwag as the harness does."""
    text = text.strip().replace(" [title]", ". ")
    return re.sub(r"\[.*?\]", "", text).replace("  ", " ")


def _hellaswag(row: Row) -> Iterator[Row]:
    text = f"{row['activity_label']}: {row['ctx_a']} {row['ctx_b'].capitalize()}"
    endings = [_without_brackets(ending) for ending in row["endings"]]
    yield {"query": _without_brackets(text), "endings": endings, "label": int(row["label"])}


def _winogrande(row: Row) -> Iterator[Row]:
    """Yield one context, and options that run from the gap to the sentence's end."""
    before, _, after = row["sentence"].partition("_")
    options = [row["option1"] + after, row["option2"] + after]
    yield {"before": before, "options": options, "label": row["answer"]}


def _winogrande_contexts(row: Row) -> Iterator[Row]:
    """Yield a row per context; its one completion stands twice because a table's row needs two options."""
    before, _, after = row["sentence"].partition("_")
    for option in (row["option1"], row["option2"]):
        yield {"context": before + option, "rest": [after.strip()] * 2, "label": "A"}


def _table(template: str, options: str, answer: str, **more: str) -> dict[str, Any]:
    return {
        "data_type": "mcq",
        "template": template,
        "options": options,
        "output_column": answer,
        "ppl_target": "text",
        **more,
    }


def _lettered(template: str) -> dict[str, Any]:
    return _table(template, "choices.text", "answerKey", option_labels="choices.label", answer_is="label")


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "hellaswag",
            "hellaswag/validation.jsonl",
            _table("{query}", "endings", "label", answer_is="index0"),
            _hellaswag,
            "hellaswag/hellaswag.yaml",
        ),
        Dataset(
            "arc_easy",
            "arc/ARC-Easy/validation.jsonl",
            _lettered(ARC_PROMPT),
            harness_task="arc/arc_easy.yaml",
        ),
        Dataset(
            "arc_challenge",
            "arc/ARC-Challenge/validation.jsonl",
            _lettered(ARC_PROMPT),
            harness_task="arc/arc_challenge.yaml",
        ),
        Dataset(
            "openbookqa",
            "openbookqa/validation.jsonl",
            _lettered("{question_stem}"),
            harness_task="openbookqa/openbookqa.yaml",
        ),
        Dataset(
            "winogrande_options",
            "winogrande/validation.jsonl",
            _table("{before}", "options", "label", answer_is="index1"),
            _winogrande,
        ),
        Dataset(
            "winogrande_contexts",
            "winogrande/validation.jsonl",
            _table("{context}", "rest", "label", answer_is="label"),
            _winogrande_contexts,
            "winogrande/default.yaml",
            ("acc",),
            rows_per_sample=2,
        ),
    )
}


def raw_rows(dataset: Dataset, data: Path, n: int) -> list[Row]:
    """Return the first raw rows."""
    path = data / dataset.file
    if not path.is_file():
        raise SystemExit(f"there is no {path}. Fix: name the folder of the datasets with --data")
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(n), strict=False)]
    return rows


def write_rows(rows: Iterable[Row], path: Path) -> Path:
    """Write rows as json lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def score(table: Path, said: dict[str, Any], out: Path, **settings: Any) -> assay.RunResult:
    """Run SmolLM2 over a table in fp32 on the CPU, every answer computed anew."""
    args = {"dtype": "float32", "device": "cpu", **settings.pop("model_args", {})}
    return assay.run(
        table,
        **{"model": "smollm2", "chat": "off", "cache": False, **settings},
        model_args=args,
        table=said,
        out=out,
    )
