"""The datasets of the documentation's examples: text files alone, so that their commits never change."""

from __future__ import annotations

import json

from fakes.hub_server import HubServer, User

_CARD = """---
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train.jsonl}
  - {split: test, path: main/test.jsonl}
- config_name: socratic
  data_files:
  - {split: test, path: socratic/test.jsonl}
---
# Grade school math
"""
_REVIEWS_CARD = """---
dataset_info:
  features:
  - {name: sentence, dtype: string}
  - name: label
    dtype:
      class_label:
        names: {'0': negative, '1': positive}
  splits:
  - {name: validation, num_examples: 2, num_bytes: 100}
---
"""
_SOLVED = (
    ("Ann has 3 apples and buys 4. How many has she?", "Ann has 3 + 4 = 7 apples.\n#### 7"),
    ("A book costs 5 dollars. What do 6 books cost?", "6 books cost 6 * 5 = 30 dollars.\n#### 30"),
)
_ASKED = (("Ben runs 2 km a day. How far does he run in a week?", "He runs 7 * 2 = 14 km.\n#### 14"),)


_EVAL_FILE = """evaluation_framework: inspect-ai
tasks:
  - id: open
    field_spec: {input: question, target: answer}
    solvers: [{name: generate}]
    scorers: [{name: match}]
"""


def _lines(rows: tuple[tuple[str, str], ...]) -> str:
    return "".join(json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in rows)


def add_documented_datasets(hub: HubServer) -> None:
    """Add the datasets that pages name."""
    gsm8k = hub.add_dataset(
        "openai/gsm8k",
        {
            "README.md": _CARD,
            "main/train.jsonl": _lines(_SOLVED),
            "main/test.jsonl": _lines(_ASKED),
            "socratic/test.jsonl": _lines(_ASKED),
        },
        downloads=900,
    )
    gsm8k.tag("v1")
    reviews = "sentence,label\na charming film,1\na dull film,0\n"
    hub.add_dataset("org/reviews", {"README.md": _REVIEWS_CARD, "validation.csv": reviews})
    capitals = "question,answer\nCapital of France?,Paris\n"
    hub.add_dataset("org/capitals", {"eval.yaml": _EVAL_FILE, "test.csv": capitals})
    hub.add_dataset("org/scripted", {"scripted.py": "import datasets\n"})
    hub.add_dataset("org/gated", {"test.csv": "question,answer\n1+1=,2\n"}, gated="manual")
    hub.users["hf_reader"] = User("reader", ("org/gated",))
