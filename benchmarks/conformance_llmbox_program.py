"""The LLMBox program beside `assay as llmbox`: the same classes, rows, flags and weights, case by case.

    python -m benchmarks.conformance_llmbox_program --checkout DIR              # prints the table
    python -m benchmarks.conformance_llmbox_program --checkout DIR --write      # puts it into RESULTS.md
    python -m benchmarks.conformance_llmbox_program --checkout DIR --only arc   # the cases with such a name

Compares the instances (prompts and scored texts), token counts, likelihood sums, label probabilities, texts
and scores of SmolLM2 in float32 on the CPU. The checkout runs in an environment of its own
(benchmarks/peers.py), from a copy to which the case files are added; nothing of it stays here. Rows come from
`--data`, the shared evaluation data: the model hub is not needed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.backends.hf.embedded_model import EmbeddedFiles
from assay.results.rows import markdown_list, markdown_table
from benchmarks.llmbox_cases import CASES, Case, write_cases
from benchmarks.peers import LLMBOX_TRANSFORMERS, peer_python
from benchmarks.record import add_output_options, hand_over, setting

SUM_TOLERANCE = 2e-3
"""Greatest difference of a sum of log-likelihoods, in nats, that counts as equal."""
PROBABILITY_TOLERANCE = 1e-4
SCORE_TOLERANCE = 0.005
"""The original prints two decimals of a percentage."""
FIDELITIES = ("faithful", "corrected")
_SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# Both programs run each case in a process of its own, since classes of the original share state. It is forked
# from one that has imported everything, which takes most of the time. The original replaces its file of raw
# predictions at its end: here it is kept. A conversation is logged as the prompt that the model is given.
_FORK = """
import json, os, sys, traceback
jobs = json.load(open(sys.argv[1]))
import torch
torch.set_num_threads(1)
{imports}
for job in jobs:
    child = os.fork()
    if not child:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = 1
        try:
            status = evaluate(job) or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    print(job["name"], status, file=sys.stderr, flush=True)
    with open(job["log"] + ".status", "w") as file:
        file.write(str(status))
"""
_ORIGINAL = """
sys.path.insert(0, os.getcwd())
from utilization import get_evaluator, parse_argument
from utilization.dataset.dataset import DatasetCollection
from utilization.model.huggingface_model import load_hf_model
from utilization.model.model_utils.conversation import Conversation
from utilization.utils import log_results

def prompts(given, local):
    given = [given] if isinstance(given, (str, Conversation)) else given
    return [one.to_model_prompt() if isinstance(one, Conversation) else one for one in given]

log_results.dump_conversations = prompts
DatasetCollection.log_final_results = lambda *given, **named: None
first = parse_argument(jobs[0]["flags"], initalize=False)[0]
first.torch_dtype = "float32"
loaded = load_hf_model(first)

def evaluate(job):
    sys.argv = ["inference.py", *job["flags"]]
    model, dataset, evaluation = parse_argument(initalize=True)
    run = get_evaluator(
        model_args=model, dataset_args=dataset, evaluation_args=evaluation, initalize=False,
        load_hf_model=lambda args: loaded,
    )
    scores = run.evaluate()
    with open(job["scores"], "w") as file:
        json.dump([scores, dataset.evaluation_results_path], file)
"""
_ASSAY = """
import importlib, pkgutil
from functools import cache
from pathlib import Path
import assay
import assay.backends.hf.backend as hf, assay.backends.local.local_model as local_model
from assay.faces.cli.main import main

for found in pkgutil.walk_packages(assay.__path__, "assay."):
    if not found.name.endswith("__main__") and ".starter" not in found.name:
        importlib.import_module(found.name)
loaded = hf.load_model(Path(jobs[0]["model"]), dtype="float32", device="cpu")
hf.load_model = lambda *given, **named: loaded
local_model.load_tokenizer = cache(local_model.load_tokenizer)
local_model.load_tokenizer(Path(jobs[0]["model"]))

def evaluate(job):
    sys.argv = ["assay", *job["flags"]]
    try:
        return main()
    except SystemExit as end:
        return end.code
"""


class Outcome(NamedTuple):
    """What one program made of a case."""

    instances: list[str]
    numbers: list[tuple[float, ...]]
    """Of each instance: (sum, tokens), probabilities, or nothing."""
    texts: list[Any]
    scores: dict[str, float]
    """Percentages by `task metric`."""


class Compared(NamedTuple):
    """How one run of Assay's compares with the original's."""

    differences: list[str]
    greatest: float
    """The greatest difference of a sum or a probability."""


def main() -> None:
    """Run both programs on every case and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True, help="a checkout of RUCAIBox/LLMBox")
    parser.add_argument("--data", type=Path, default=_SHARED_DATA, help="the shared evaluation data")
    parser.add_argument("--python", help="a python that has what the original needs")
    parser.add_argument("--only", help="cases whose names hold this text")
    parser.add_argument(
        "--keep", type=Path, help="folder to keep what both programs wrote, and continue from"
    )
    add_output_options(parser)
    options = parser.parse_args()
    if not (options.checkout / "inference.py").is_file():
        raise SystemExit(f"{options.checkout} is no checkout of LLMBox: it has no inference.py")
    python = peer_python("llmbox", options.python)
    cases = [case for case in CASES if options.only is None or options.only in case.name]
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        program = copied(options.checkout, folder / "program")
        write_cases(program / "utilization" / "dataset", folder / "rows", options.data)
        model = original_model(folder / "smollm2")
        runs = folder / "runs"
        runs.mkdir(exist_ok=True)
        with ThreadPoolExecutor() as pool:
            both = [
                pool.submit(run_original, cases, python, program, model, folder),
                pool.submit(run_assay, cases, program, model, runs),
            ]
        for one in both:
            one.result()
        rows = [compared_case(case, program, folder) for case in cases]
    hand_over("conformance_llmbox_program", section(rows), options)


def copied(checkout: Path, target: Path) -> Path:
    """Copy what of a checkout is run, so that the checkout itself stays as it is."""
    shutil.copytree(checkout / "utilization", target / "utilization", dirs_exist_ok=True)
    shutil.copy(checkout / "inference.py", target)
    return target


def original_model(folder: Path) -> Path:
    """Return SmolLM2's weights in a folder as transformers 4 reads it."""
    source = EmbeddedFiles().prepare_path()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in source.iterdir():
        if file.name not in ("config.json", "tokenizer_config.json"):
            (folder / file.name).symlink_to(file)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config["rope_theta"] = config.pop("rope_parameters", {}).get("rope_theta", 10_000.0)
    config["torch_dtype"] = config.pop("dtype", "float32")
    tokenizer = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = {key: value for key, value in tokenizer.items() if key.endswith("_token")}
    tokenizer["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder


def compared_case(
    case: Case, program: Path, folder: Path
) -> tuple[Case, Outcome | str, Compared | str, Compared | str]:
    """Compare what the programs wrote; one that failed is described by its last line."""
    original = by_original(folder / "original" / case.name, program)
    found: list[Compared | str] = []
    for fidelity in FIDELITIES:
        ours = by_assay(folder / "runs" / f"{case.name}-{fidelity}")
        if isinstance(original, str):
            found.append("not compared" if isinstance(ours, Outcome) else ours)
        else:
            found.append(ours if isinstance(ours, str) else compared(original, ours))
    return case, original, found[0], found[1]


def run_original(cases: Sequence[Case], python: Path, program: Path, model: Path, folder: Path) -> None:
    """Run the original on all cases."""
    (folder / "original").mkdir(exist_ok=True)
    jobs = []
    for case in cases:
        out = folder / "original" / case.name
        flags = [
            *("-m", str(model), *case.flags, "--torch_dtype", "float32"),
            *("--model_backend", "huggingface", "--flash_attention", "False", "-b", "4"),
            *("--evaluation_results_dir", str(out), "--logging_dir", str(folder / "logs")),
            *("--no_dataset_threading", "--hfd_skip_check", "True"),
        ]
        jobs.append({"name": case.name, "flags": flags, "log": f"{out}.log", "scores": f"{out}.scores"})
    run_jobs(jobs, [str(python)], _ORIGINAL, program, folder / "original.json")


def run_assay(cases: Sequence[Case], program: Path, model: Path, runs: Path) -> None:
    """Run Assay on all cases, both ways."""
    jobs = []
    for case in cases:
        for fidelity in FIDELITIES:
            out = runs / f"{case.name}-{fidelity}"
            flags = [
                *("as", "llmbox", "-m", f"hf:{model}", *case.flags),
                *("--torch_dtype", "float32", "--dataset_dir", str(program / "utilization" / "dataset")),
                *("--fidelity", fidelity, "--out", str(out), "--no-cache", "--fresh", "--progress", "none"),
            ]
            jobs.append({"name": out.name, "flags": flags, "log": f"{out}.log", "model": str(model)})
    run_jobs(jobs, [sys.executable], _ASSAY, runs, runs / "jobs.json")


def run_jobs(jobs: Sequence[Any], python: Sequence[str], imports: str, folder: Path, listed: Path) -> None:
    """Run jobs one after the other; what each came to is in its log and its status."""
    # What was kept of an earlier run is not run again.
    jobs = [job for job in jobs if not Path(f"{job['log']}.status").is_file()]
    if not jobs:
        return
    listed.write_text(json.dumps(jobs), encoding="utf-8")
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [*python, "-c", _FORK.replace("{imports}", imports), str(listed)]
    subprocess.run(command, cwd=folder, env=environment, check=True)


def status_of(out: Path) -> int:
    """Return the exit status of a job."""
    return int(Path(f"{out}.log.status").read_text(encoding="utf-8"))


def by_original(out: Path, program: Path) -> Outcome | str:
    """Read what the original wrote."""
    scores_file = Path(f"{out}.scores")
    if status_of(out) or not scores_file.is_file():
        return f"fails: {last_line(Path(f'{out}.log').read_text(encoding='utf-8'))}"
    scores, path = json.loads(scores_file.read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (program / path).read_text(encoding="utf-8").splitlines()[1:]]
    instances = ["".join(part for part in line["source"] if isinstance(part, str)) for line in lines]
    numbers: list[tuple[float, ...]] = []
    texts: list[Any] = []
    for line in lines:
        raw = line["raw_prediction"]
        is_text = isinstance(raw, str) or (isinstance(raw, list) and any(isinstance(one, str) for one in raw))
        numbers.append(() if is_text else tuple(raw))
        texts.append(raw if is_text else None)
    return Outcome(
        instances,
        numbers,
        texts,
        {
            f"{task} {metric}": value
            for task, values in scores.items()
            for metric, value in (values or {}).items()
        },
    )


def by_assay(out: Path) -> Outcome | str:
    """Read the folder of a run of Assay's."""
    if status_of(out):
        return f"fails: {' '.join(Path(f'{out}.log').read_text(encoding='utf-8').split())[:300]}"
    responses = {line["request_id"]: line["outcome"] for line in read_lines(out / "responses.jsonl")}
    halves: dict[str, list[tuple[str, tuple[float, ...], Any]]] = {}
    order: list[str] = []
    for line in read_lines(out / "samples.jsonl"):
        for ask in line["asks"]:
            half = f"{line['task']} {ask['role'] == 'unconditional'}"
            if half not in halves:
                order.append(half)
            halves.setdefault(half, []).append(
                (
                    shown(line["contexts"][ask["context"]]) + ask.get("text", ""),
                    *answered(responses[ask["id"]]),
                )
            )
    every = [one for half in order for one in halves[half]]
    return Outcome(
        [one[0] for one in every], [one[1] for one in every], [one[2] for one in every], scores_of(out)
    )


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def shown(context: Any) -> str:
    """Return a prompt as text; messages as the texts they hold."""
    return context if isinstance(context, str) else json.dumps(context, ensure_ascii=False)


def answered(outcome: Mapping[str, Any]) -> tuple[tuple[float, ...], Any]:
    """Return the numbers or the text of an outcome."""
    if outcome["type"] == "likelihood":
        return (-outcome["sum_logprob"], outcome["n_tokens"]), None
    if outcome["type"] == "completion":
        output = outcome["outputs"][0]
        return (), output.get("turns") or output["text"]
    # The original's are shares of the candidates, these are of all tokens.
    total = sum(outcome["probs"]) or 1.0
    return tuple(one / total for one in outcome["probs"]), None


def scores_of(out: Path) -> dict[str, float]:
    """Return the scores of a run, named and scaled as the original's."""
    found = {}
    for one in json.loads((out / "summary.json").read_text(encoding="utf-8")):
        if one["value"] is None:
            continue
        name = one["task"] if one["group"] is None else f"{one['task']}[{one['group']}]"
        found[f"{name} {one['metric']}"] = one["value"] * (100 if one["is_share"] else 1)
    return found


def compared(original: Outcome, ours: Outcome) -> Compared:
    """Return what differs between two outcomes of a case."""
    differences = []
    n = len(ours.instances)
    if n != len(original.instances):
        differences.append(f"{len(original.instances)} instances, here {n}")
        # Normalised copies of all rows follow the rows themselves, which are compared all the same.
        if len(original.instances) != 2 * n:
            return Compared(differences, 0.0)
        original = Outcome(original.instances[:n], original.numbers[:n], original.texts[:n], original.scores)
    prompts = sum(one != other for one, other in zip(original.instances, ours.instances, strict=True))
    if prompts:
        differences.append(f"{prompts} of {n} instances")
    lengths, sums, greatest = 0, 0, 0.0
    for one, other in zip(original.numbers, ours.numbers, strict=True):
        is_sum = len(one) == 2 and len(other) == 2 and float(one[1]).is_integer() and one[1] >= 1
        if is_sum:
            lengths += one[1] != other[1]
            gap = abs(one[0] - other[0])
            sums += gap > SUM_TOLERANCE
        elif len(one) != len(other):
            gap = 0.0
            lengths += 1
        else:
            gap = max((abs(a - b) for a, b in zip(one, other, strict=True)), default=0.0)
            sums += gap > PROBABILITY_TOLERANCE
        greatest = max(greatest, gap)
    texts = sum(one != other for one, other in zip(original.texts, ours.texts, strict=True))
    for count, what in ((lengths, "lengths"), (sums, "sums or probabilities"), (texts, "texts")):
        if count:
            differences.append(f"{count} of {n} {what}")
    differences += different_scores(original.scores, ours.scores)
    return Compared(differences, greatest)


def different_scores(original: Mapping[str, float], ours: Mapping[str, float]) -> Iterator[str]:
    """Yield the scores of single tasks that differ; means have other names there."""
    for name, value in original.items():
        if "Average]" in name:
            continue
        other = ours.get(name)
        if other is None:
            yield f"no score `{name}`"
        elif abs(value - other) > SCORE_TOLERANCE:
            yield f"`{name}` {value:.2f}, here {other:.2f}"


def section(rows: Sequence[tuple[Case, Outcome | str, Compared | str, Compared | str]]) -> str:
    """Return the table of cases, and what differs in those that are not equal."""
    table = []
    for case, original, faithful, corrected in rows:
        n = f"{len(original.instances):,}" if isinstance(original, Outcome) else "-"
        gap = f"{faithful.greatest:.1e}" if isinstance(faithful, Compared) and faithful.greatest else ""
        table.append((case.name, case.what, n, verdict(faithful), gap, verdict(corrected)))
    notes = [
        f"`{case.name}`, {way}: {what}"
        for case, original, faithful, corrected in rows
        for way, one in (("original", original), ("faithful", faithful), ("default", corrected))
        for what in differences_of(one, case.reason if way == "faithful" else "")
    ]
    n_equal = sum(isinstance(one, Compared) and not one.differences for _, _, one, _ in rows)
    head = (
        f"{n_equal} of {len(rows)} cases are equal under `--fidelity faithful` in instances, token counts, "
        f"sums (within {SUM_TOLERANCE:g}), texts and scores."
    )
    columns = ("case", "what it shows", "instances", "faithful", "greatest gap", "default")
    parts = [head, markdown_table(columns, table)]
    if notes:
        parts.append(markdown_list(notes))
    return "\n\n".join([*parts, setting({"transformers of the original": LLMBOX_TRANSFORMERS})])


def verdict(one: Compared | str) -> str:
    """Return in a word how a case came out."""
    if isinstance(one, str):
        return one.partition(":")[0]
    return "different" if one.differences else "equal"


def differences_of(one: Outcome | Compared | str, reason: str) -> list[str]:
    """Return what there is to say about a case."""
    if isinstance(one, str):
        return [one] if one != "not compared" else []
    if isinstance(one, Outcome) or not one.differences:
        return []
    return [", ".join(one.differences) + (f": {reason}" if reason else "")]


def last_line(text: str) -> str:
    """Return the last line that says something."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"


if __name__ == "__main__":
    main()
