"""How fast a dataset becomes requests: rows read, formatted, rendered, and joined with their examples.

    python -m benchmarks.formatting                 # prints the table
    python -m benchmarks.formatting --write         # puts it into RESULTS.md
    python -m benchmarks.formatting --rows 1000

Measured is all that happens before a model is asked: the file is read, the class or the transform is loaded,
every row goes through the author's code (`format_instance` and the instruction, or `transform`), and every
request is made, with its examples and the hash of its content. A *prompt* is one rendered question with its
examples: a row has one, whatever the number of its options. Times are processor seconds of this process, the
best of several turns.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.datasets import compile_datasets
from assay.core.method import Method
from assay.core.task import TaskSettings
from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting

ROWS = 10_000
TURNS = 5
BAR = 20_000
"""Prompts in a second that are asked for."""

INSTRUCTIONS = {
    "Jinja": "Question: {{ question }}{{ '\\n' + options if options }}\\nAnswer:",
    "str.format": "Question: {question}\\nAnswer:",
}
CLASS = """
from .multiple_choice_dataset import MultipleChoiceDataset
from .utils import load_raw_dataset_from_file


class Measured(MultipleChoiceDataset):
    instruction = "{instruction}"

    def load_raw_dataset(self, dataset_path, subset_name, evaluation_set, example_set):
        self.evaluation_data = load_raw_dataset_from_file("test.jsonl")
        self.example_data = load_raw_dataset_from_file("dev.jsonl")

    def format_instance(self, instance):
        return dict(
            question=instance["question"],
            options=[instance[label] for label in "ABCD"],
            target_idx="ABCD".index(instance["answer"]),
        )

    @property
    def references(self):
        return ["ABCD".index(instance["answer"]) for instance in self.evaluation_data]
"""
TRANSFORM = """
def transform(data, num_sample, r, dataset_name):
    options = "".join(f"({letter}) {option}\\n" for letter, option in zip("ABCD", data["target_scores"]))
    right = list(data["target_scores"].values()).index(1)
    return {
        "input": f"Question: {data['question']}\\n{options}Answer: ",
        "output": f"({'ABCD'[right]})",
        "processed_output": f"({'ABCD'[right]})",
    }
"""


class Timed(NamedTuple):
    """One way of asking."""

    language: str
    instruction: str
    method: Method
    shots: int
    compiling: float
    """Seconds until the task stands: rows read, checked and formatted or transformed."""
    seconds: float
    """Seconds until every request is made, compiling included."""
    n_requests: int


def main() -> None:
    """Measure every way and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    add_output_options(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed = list(measure(Path(folder), options.rows))
    hand_over("formatting", section(timed, options.rows), options)


def measure(folder: Path, n_rows: int) -> list[Timed]:
    """Write a dataset in each language, and time each way of asking."""
    every = [*write_classes(folder / "classes", n_rows), write_transform(folder / "transforms", n_rows)]
    timed = []
    for language, instruction, path in every:
        for method in (Method.PPL, Method.GEN):
            for shots in (0, 5):
                turns = [one_turn(path, method, shots) for _ in range(TURNS)]
                compiling = min(turn[0] for turn in turns)
                seconds, n_requests = min(turn[1:] for turn in turns)
                timed.append(Timed(language, instruction, method, shots, compiling, seconds, n_requests))
    return timed


def write_classes(folder: Path, n_rows: int) -> Iterator[tuple[str, str, Path]]:
    """Write a dataset class for each way to write an instruction; yield language, way and file."""
    write_rows(folder / "test.jsonl", n_rows)
    write_rows(folder / "dev.jsonl", 50)
    for name, instruction in INSTRUCTIONS.items():
        path = folder / f"{name.replace('.', '_').lower()}.py"
        path.write_text(CLASS.replace("{instruction}", instruction), encoding="utf-8")
        yield "class", name, path


def write_transform(folder: Path, n_rows: int) -> tuple[str, str, Path]:
    """Write a dataset folder with a plain transform; return language, way and folder."""
    write_rows(folder / "data" / "measured.jsonl", n_rows, is_standard=True)
    for method in ("gen", "ppl"):
        (folder / f"transform_{method}_v0.py").write_text(TRANSFORM, encoding="utf-8")
    return "transform", "f-string", folder


def write_rows(path: Path, n: int, *, is_standard: bool = False) -> None:
    """Write questions of usual length with four options, in columns or in the standard format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(n):
            question = (
                f"In {path.stem} {number} a train leaves with {number % 97} wagons of "
                f"{number % 13} tons each and loses two of them on its way through the mountains. "
                "What does it weigh then?"
            )
            options = {label: f"{(number + at) % 1009} tons" for at, label in enumerate("ABCD")}
            right = "ABCD"[number % 4]
            if is_standard:
                scores = {text: int(label == right) for label, text in options.items()}
                row = {"passage": "", "question": question, "target_scores": scores, "answer": ""}
            else:
                row = {"question": question, **options, "answer": right}
            file.write(json.dumps(row) + "\n")


def one_turn(path: Path, method: Method, shots: int) -> tuple[float, float, int]:
    """Compile a dataset and make all requests; return both processor seconds and how many they were."""
    begun = time.process_time()
    settings = TaskSettings(methods=(method,), shots=shots)
    (one,) = compile_datasets((str(path),), settings, given={}, meta=None, data_root=None, split=None)
    compiling = time.process_time() - begun
    n_requests = sum(len(one.task.requests(sample)) for sample in one.task.samples())
    return compiling, time.process_time() - begun, n_requests


def section(timed: Sequence[Timed], n_rows: int) -> str:
    """Return the table."""
    rows = [
        (
            one.language,
            one.instruction,
            one.method,
            str(one.shots),
            f"{n_rows / one.compiling:,.0f}",
            f"{n_rows / one.seconds:,.0f}",
            f"{one.n_requests / one.seconds:,.0f}",
        )
        for one in timed
    ]
    header = ("language", "instruction", "method", "shots", "rows compiled/s", "prompts/s", "requests/s")
    slowest = max(timed, key=lambda one: one.seconds)
    longest = max(timed, key=lambda one: one.compiling)
    return (
        f"{n_rows:,} rows of four options become requests. The bar is {BAR:,} a second: of rows compiled the "
        f"slowest way ({_way(longest)}) has {n_rows / longest.compiling:,.0f}, of prompts made, compiling "
        f"included, {n_rows / slowest.seconds:,.0f} ({_way(slowest)}; the examples of a transform are drawn "
        "anew for every row).\n\n"
        f"{markdown_table(header, rows)}\n\n{setting()}"
    )


def _way(one: Timed) -> str:
    return f"{one.language}, {one.method}, {one.shots} shots"


if __name__ == "__main__":
    main()
