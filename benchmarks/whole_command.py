"""How fast whole commands are from the shell to the table: `assay run` against `lm_eval run`.

    python benchmarks/whole_command.py --write   # puts the table into RESULTS.md

Both run one task file (HellaSwag, 5 examples) on SmolLM2-135M in fp32, each in its own process, in turns.
On a machine that does other work, seconds depend on that work: compare processor seconds, and give each side
one thread (`--threads 1`), because threads that wait for each other use processor time too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.multiple_choice import DATASETS
from benchmarks.peers import LM_EVAL, peer_python
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scoring import DATA, embedded_weights

BAR = 9
SHOTS = 5
_TASK = """\
task: hellaswag_local
dataset_path: json
dataset_kwargs:
  data_files:
    train: {folder}/shots.jsonl
    validation: {folder}/rows.jsonl
output_type: multiple_choice
training_split: train
validation_split: validation
fewshot_split: train
fewshot_config:
  sampler: first_n
num_fewshot: {shots}
doc_to_text: "{{{{query}}}}"
doc_to_target: gold
doc_to_choice: choices
metric_list:
  - metric: acc
  - metric: acc_norm
"""


class Timing(NamedTuple):
    """What one command took, and its result."""

    seconds: float
    cpu_seconds: float
    accuracy: float


def main() -> None:
    """Run both commands in turns and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=96)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="threads of each side")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of datasets")
    parser.add_argument("--peer-python", help="an environment that has lm-eval[hf] already")
    add_output_options(parser)
    options = parser.parse_args()
    peer, weights = peer_python("lm-eval", options.peer_python), embedded_weights()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(prefix="assay-whole-") as name:
        folder = Path(name)
        write_task(options.data, folder, options.questions)
        for _ in range(options.turns):
            ours.append(run_assay(folder, weights, options.threads))
            print(f"assay {ours[-1]}", file=sys.stderr)
            theirs.append(run_peer(folder, weights, options.threads, peer))
            print(f"lm_eval {theirs[-1]}", file=sys.stderr)
    hand_over("whole_command", _section(options, ours, theirs), options)
    is_met = _ratio(ours, theirs) >= BAR and {t.accuracy for t in ours} == {t.accuracy for t in theirs}
    sys.exit(0 if is_met else 1)


def write_task(data: Path, folder: Path, n: int) -> None:
    """Write a task file with its rows and examples."""
    dataset = DATASETS["hellaswag"]
    with open(data / dataset.file, encoding="utf-8") as lines:
        raw = [json.loads(line) for line, _ in zip(lines, range(n + SHOTS), strict=False)]
    rows = [
        {"query": row["query"], "choices": row["endings"], "gold": row["label"]}
        for one in raw
        for row in dataset.prepare(one)
    ]
    for name, some in (("shots", rows[:SHOTS]), ("rows", rows[SHOTS:])):
        text = "".join(json.dumps(row) + "\n" for row in some)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "task.yaml").write_text(_TASK.format(folder=folder, shots=SHOTS), encoding="utf-8")


def run_assay(folder: Path, weights: Path, threads: int) -> Timing:
    """Run the task file with Assay."""
    command = [
        *(sys.executable, "-m", "assay", "run", str(folder / "task.yaml"), "-m", f"hf:{weights}"),
        *("--model-arg", "dtype=float32", "--model-arg", "device=cpu", "--chat", "off", "--no-cache"),
        *("--fresh", "--progress", "none", "--out", str(folder / "run")),
    ]
    seconds, cpu_seconds, _ = _time_command(command, threads)
    metrics = json.loads((folder / "run" / "summary.json").read_text("utf-8"))
    accuracy = next(one["value"] for one in metrics if one["metric"] == "acc" and one["group"] is None)
    return Timing(seconds, cpu_seconds, round(accuracy, 4))


def run_peer(folder: Path, weights: Path, threads: int, peer: Path) -> Timing:
    """Run the task file with lm-eval's program at batch size 1, its best on a CPU."""
    command = [
        *(str(peer), "-m", "lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "1"),
        *("--model_args", f"pretrained={weights},dtype=float32"),
        *("--tasks", "hellaswag_local", "--include_path", str(folder)),
    ]
    seconds, cpu_seconds, output = _time_command(command, threads)
    found = re.search(r"\|acc +\|↑ +\| *([\d.]+)\|", output)
    if found is None:
        raise SystemExit(f"lm_eval printed no accuracy:\n{output[-2000:]}")
    return Timing(seconds, cpu_seconds, float(found[1]))


def _time_command(command: list[str], threads: int) -> tuple[float, float, str]:
    """Return a command's seconds, its processor seconds and its output."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, done.stdout


def _ratio(ours: list[Timing], theirs: list[Timing]) -> float:
    return median(t.cpu_seconds for t in theirs) / median(t.cpu_seconds for t in ours)


def _section(options: argparse.Namespace, ours: list[Timing], theirs: list[Timing]) -> str:
    lines = [
        setting({"lm-eval": LM_EVAL}),
        "",
        f"HellaSwag, {SHOTS} shots, {options.questions} questions, SmolLM2-135M in fp32, with "
        f"OMP_NUM_THREADS={options.threads} on each side. Commands in turns; bar for the ratio of processor "
        f"seconds: {BAR}.",
        "",
        "| command | turn | accuracy | seconds | processor seconds |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, timings in (("`assay run`", ours), ("`lm_eval run`", theirs)):
        lines += [
            f"| {name} | {turn} | {t.accuracy:.4f} | {t.seconds:.1f} | {t.cpu_seconds:.1f} |"
            for turn, t in enumerate(timings, start=1)
        ]
    return "\n".join([*lines, "", f"`assay run` uses **{_ratio(ours, theirs):.1f}** times fewer."])


if __name__ == "__main__":
    main()
