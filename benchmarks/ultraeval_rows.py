"""Rows for the tasks of a checkout of UltraEval, whose raw data is not part of it.

Each dataset's transform wants its own shape of the standard row: a text or a list as `question`, two options
or four, the fields of HumanEval. The shapes are tried in turn, and the first is taken that the transforms of
all configs of a data file accept.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.core.errors import AssayError
from assay.dialects.ultraeval.script import BadRow, Script
from assay.scoring.originals.opencompass.postprocess import POSTPROCESSORS

Row = dict[str, Any]
N_ROWS = 10
ANSWERS = ("7", "yes", "Paris", "12", "no", "Berlin")
_SETUP = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 3\n"


def _passages(name: str) -> Iterator[Any]:
    yield lambda n: f"Passage {n} of {name} is about rivers."
    yield lambda n: [f"Title {n}", f"Passage {n} of {name} is about rivers."]


def _questions(name: str) -> Iterator[Any]:
    yield lambda n: f"Which is right in case {n} of {name}?"
    yield lambda n: [f"Which is right in case {n} of {name}?", f"Claim {n}"]


def _answers() -> Iterator[Any]:
    yield lambda n: ANSWERS[n % len(ANSWERS)]
    yield lambda n: [ANSWERS[n % len(ANSWERS)], "x"]
    yield lambda n: ["A", "C"]
    yield lambda n: ""
    yield lambda n: f"The sum is $\\boxed{{{n}}}$."


def shapes(name: str) -> Iterator[list[Row]]:
    """Yield rows of one shape after the other, the usual ones first; no two names share a prompt."""
    extra: Row = {"activity_label": "Cooking", "ctx_a": "He cooks.", "ctx_b": "he", "score": 2}
    extra |= {"cot": "Q: 1+1\nA: So the answer is 2.", "input": "Is it?"}
    for n_options, answer, question, passage in itertools.product(
        (4, 2, 3, 5, 7), _answers(), _questions(name), _passages(name)
    ):
        yield [
            {
                "passage": passage(n),
                "question": question(n),
                "target_scores": {f"choice {k} of {n}": int(k == n % n_options) for k in range(n_options)},
                "answer": answer(n),
                **extra,
                "input": f"Is it {n} in {name}?",
            }
            for n in range(N_ROWS)
        ]
    programs: Row = {"passage": "", "question": "", "target_scores": {}, "answer": ""}
    yield [
        {
            **programs,
            "task_id": f"HumanEval/{n}",
            "prompt": f"# {name}\ndef add_{n}(x):\n",
            "entry_point": f"add_{n}",
            "canonical_solution": "    return x + 1\n",
            "test": _SETUP,
        }
        for n in range(N_ROWS)
    ]
    yield [
        {
            **programs,
            "task_id": n,
            "text": f"Write a function add_{n} that adds 1, for {name}.",
            "code": f"def add_{n}(x):\n    return x + 1\n",
            "test_setup_code": "",
            "test_list": [f"assert add_{n}(1) == 2"],
            "challenge_test_list": [],
        }
        for n in range(N_ROWS)
    ]


def accepted_rows(
    name: str, transforms: Iterable[tuple[Path, str]], *, with_options: bool
) -> list[Row] | None:
    """Return rows that all scripts transform for their tasks; None where no shape is accepted."""
    loaded = [(Script(path, POSTPROCESSORS, is_faithful=True), task) for path, task in transforms]
    for rows in shapes(name):
        if with_options and not rows[0]["target_scores"]:
            continue
        try:
            for script, task in loaded:
                for row in rows:
                    script(row, 0, random.Random(0), task)
        except (BadRow, AssayError):
            continue
        return rows
    return None
