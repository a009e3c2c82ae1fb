"""Task files of lm-eval with their rows. lm-eval 0.4.13 itself ran them too; tests contain what it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_TEST = (
    ("France", ["Paris", "Lyon", "Nice"], 0),
    ("Japan", ["Tokyo", "Osaka", "Kyoto"], 0),
    ("Egypt", ["Giza", "Cairo", "Luxor"], 1),
    ("Italy", ["Turin", "Rome", "Milan"], 1),
    ("Spain", ["Seville", "Madrid", "Bilbao"], 1),
    ("Peru", ["Cusco", "Arequipa", "Lima"], 2),
    ("Kenya", ["Nairobi", "Kisumu", "Mombasa"], 0),
    ("Norway", ["Tromsø", "Bergen", "Oslo"], 2),
)
_TRAIN = (
    ("Poland", ["Kraków", "Warsaw", "Gdańsk"], 1),
    ("Greece", ["Patras", "Athens", "Volos"], 1),
    ("Cuba", ["Holguín", "Camagüey", "Havana"], 2),
    ("Chile", ["Santiago", "Concepción", "Valparaíso"], 0),
)
_SUMS = ((1, 2), (3, 4), (10, 5), (2, 2), (7, 8), (6, 1))
_FILES = {
    "capitals": """
task: capitals
tag: [geo]
dataset_path: json
dataset_kwargs:
  data_files: {test: capitals_test.jsonl, train: capitals_train.jsonl}
training_split: train
test_split: test
output_type: multiple_choice
description: "Answer the questions.\\n\\n"
doc_to_text: "Question: What is the capital of {{country}}?\\nAnswer:"
doc_to_choice: options
doc_to_target: answer
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
metadata: {version: 1.0}
""",
    "capitals_brier": """
include: capitals.yaml
task: capitals_brier
task_alias: Capitals again
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: brier_score}
metadata: {version: 2.0}
""",
    "geo_group": """
group: geo_group
group_alias: Geography
task: [capitals, capitals_brier]
aggregate_metric_list:
  - {metric: acc, aggregation: mean, weight_by_size: true}
metadata: {version: 0.5}
""",
    "sums": """
task: sums
dataset_path: json
dataset_kwargs:
  data_files: {test: sums_test.jsonl}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: answer
generation_kwargs: {until: ["\\n"], max_gen_toks: 8, do_sample: false}
filter_list:
  - name: strict
    filter: [{function: regex, regex_pattern: "^ ?(\\\\d+)"}, {function: take_first}]
  - name: loose
    filter: [{function: regex, regex_pattern: "(\\\\d+)", group_select: -1}, {function: take_first}]
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}
metadata: {version: 3}
""",
    "last": """
task: last
dataset_path: json
dataset_kwargs:
  data_files: {test: capitals_test.jsonl}
test_split: test
output_type: loglikelihood
doc_to_text: "The capital of {{country}} is"
doc_to_target: " {{capital}}"
metric_list:
  - {metric: perplexity, aggregation: perplexity, higher_is_better: false}
  - {metric: acc, aggregation: mean, higher_is_better: true}
""",
}


def write_tasks(folder: Path) -> None:
    """Write the rows into a folder, and the task files into `tasks` in it."""
    for name, rows in (("test", _TEST), ("train", _TRAIN)):
        _write_rows(
            folder / f"capitals_{name}.jsonl",
            (
                {"country": country, "options": options, "answer": right, "capital": options[right]}
                for country, options, right in rows
            ),
        )
    _write_rows(
        folder / "sums_test.jsonl",
        ({"question": f"{one}+{other}=", "answer": str(one + other)} for one, other in _SUMS),
    )
    (folder / "tasks").mkdir()
    for name, text in _FILES.items():
        (folder / "tasks" / f"{name}.yaml").write_text(text.lstrip(), encoding="utf-8")


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
