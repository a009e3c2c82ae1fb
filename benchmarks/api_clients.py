"""Four clients that put the same questions of a csv to the same chat server, each by its own command.

A client is a command line, the files that it needs beside the csv, and where it says how many were right.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import peer_python
from benchmarks.scale import assay_command

CONNECTIONS = 64
ROOF = Path(__file__).resolve().with_name("api_roof.py")
INSPECT_TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, csv_dataset
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def sample(row):
    return Sample(input=row["question"], choices=[row[letter] for letter in "ABCD"], target=row["answer"])


@task
def fixed_reply():
    return Task(dataset=csv_dataset({table!r}, sample), solver=multiple_choice(), scorer=choice())
"""


class Client(NamedTuple):
    """One way to ask."""

    name: str
    bar: float | None
    """How many times longer than Assay it is expected to take for a further sample, at least."""
    command: Callable[[Path, str, Path], Sequence[str]]
    """Of the csv, the server's address and an empty folder."""
    accuracy: Callable[[str, Path], float]
    """What it says of the answers: of its output and the same folder."""


def clients(lm_eval_python: str | None, inspect_python: str | None) -> dict[str, Client]:
    """Return all; environments of peers are made when they are first used."""
    return {
        "assay": Client("`assay run`", None, _assay, _assay_accuracy),
        "lm-eval": Client(
            "lm-eval `local-chat-completions`",
            6,
            lambda table, url, folder: _lm_eval(
                peer_python("lm-eval-api", lm_eval_python), table, url, folder
            ),
            lambda said, _: _found(r"exact_match\|\W*([\d.]+)", said),
        ),
        "inspect": Client(
            "inspect-ai `openai-api`",
            40,
            lambda table, url, folder: _inspect(
                peer_python("inspect-ai", inspect_python), table, url, folder
            ),
            lambda said, _: _found(r"\naccuracy\s+([\d.]+)", said),
        ),
        "roof": Client(
            "bare aiohttp loop",
            None,
            lambda table, url, _: [sys.executable, str(ROOF), str(table), url, str(CONNECTIONS)],
            lambda said, _: _found(r"accuracy ([\d.]+)", said),
        ),
    }


def _assay(table: Path, url: str, folder: Path) -> list[str]:
    command = [assay_command(), "run", str(table), "--model", f"openai:m@{url}", "--method", "gen"]
    command += ["--model-arg", f"concurrency={CONNECTIONS}"]
    return [*command, "--no-cache", "--out", str(folder / "run")]


def _assay_accuracy(_: str, folder: Path) -> float:
    metrics = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    (value,) = (one["value"] for one in metrics if one["metric"] == "accuracy" and one["group"] is None)
    return float(value)


def _lm_eval(python: Path, table: Path, url: str, folder: Path) -> list[str]:
    task = {
        "task": "fixed_reply",
        "dataset_path": "csv",
        "dataset_kwargs": {"data_files": {"test": str(table)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "Question: {{question}}\nA. {{A}}\nB. {{B}}\nC. {{C}}\nD. {{D}}",
        "doc_to_target": "answer",
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 256, "temperature": 0, "do_sample": False},
        "filter_list": [
            {
                "name": "letter",
                "filter": [
                    {"function": "regex", "regex_pattern": "([ABCD])$"},
                    {"function": "take_first"},
                ],
            }
        ],
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    # YAML takes JSON.
    (folder / "fixed_reply.yaml").write_text(json.dumps(task), encoding="utf-8")
    arguments = f"model=m,base_url={url}/chat/completions,num_concurrent={CONNECTIONS},tokenizer_backend=None"
    return [
        *("env", "HF_HUB_OFFLINE=1", f"HF_HOME={folder / 'hf'}", "OPENAI_API_KEY=none"),
        *(str(python.with_name("lm_eval")), "--model", "local-chat-completions", "--model_args", arguments),
        *("--tasks", "fixed_reply", "--include_path", str(folder), "--apply_chat_template"),
    ]


def _inspect(python: Path, table: Path, url: str, folder: Path) -> list[str]:
    (folder / "fixed_reply.py").write_text(INSPECT_TASK.format(table=str(table)), encoding="utf-8")
    return [
        # It takes no absolute path of a task.
        *("env", f"--chdir={folder}", f"FIXED_BASE_URL={url}", "FIXED_API_KEY=none"),
        *(str(python.with_name("inspect")), "eval", "fixed_reply.py", "--model", "openai-api/fixed/m"),
        *("--max-connections", str(CONNECTIONS), "--max-tokens", "256", "--temperature", "0"),
        *("--log-dir", "logs", "--display", "plain"),
    ]


def _found(pattern: str, said: str) -> float:
    """Return the last number that the pattern finds; the one before it may be of a run under way."""
    found = re.findall(pattern, said)
    if not found:
        raise SystemExit(f"no {pattern} in:\n{said[-2000:]}")
    return float(found[-1])
