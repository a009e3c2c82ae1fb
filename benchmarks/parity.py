"""Parity with lm-evaluation-harness: equal weights and prompts give equal log-likelihoods and accuracies.

    python -m benchmarks.parity                       # prints the tables; exit status 1 out of tolerance
    python -m benchmarks.parity --write               # puts them into RESULTS.md
    python -m benchmarks.parity --peer-python PYTHON  # an environment that has lm-eval[hf] already

Assay scores 100 rows of each dataset through its public API with the embedded SmolLM2-135M in fp32. Every
(context, continuation) it asked is read back from the run folder and handed to lm-eval's
`HFLM.loglikelihood` over the same weights folder, with the join where Assay put it: the context without
trailing space, the continuation with its leading space. The unconditional terms, with an empty context, are
among them. Compared are the sums, the tokens scored and the greedy flags.

Then the harness's whole pipeline (`simple_evaluate`) runs its own task files over the same raw rows. Only
where the rows lie is changed: model and data hubs are not needed. It makes its prompts itself; the column
"own prompts" says how many of them were asked by Assay too, letter by letter, and acc, acc_norm and
acc_mutual_info are its own, compared sample by sample with Assay's sum, per_char and pmi.

Winogrande has several contexts and one completion, and a row of a table has one context. It is asked in two
ways. `winogrande_options`: the context ends before the gap and each option runs from there to the end of the
sentence; the harness has no such task, so both sides get the same requests and the accuracy follows from each
side's sums. `winogrande_contexts`: the harness's own form, a row per context whose completion stands twice,
as a row needs two options; the pair of sums decides here, not Assay's accuracy of a row.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.backends.hf.embedded_model import EmbeddedFiles
from assay.core.prompt import final_text
from assay.core.request import Span
from assay.core.response import Likelihood
from assay.results.read import StoredRun
from assay.results.rows import markdown_table
from benchmarks import harness
from benchmarks.multiple_choice import DATASETS, Dataset, raw_rows, score, write_rows
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting

TOLERANCE = 1e-3
OURS = {"acc": "accuracy_sum", "acc_norm": "accuracy_per_char", "acc_mutual_info": "accuracy_pmi"}
OUTLIERS_SHOWN = 10


class Scored(NamedTuple):
    """One log-likelihood as Assay has it."""

    sample: int
    role: str
    option: int
    pair: tuple[str, str]
    """Context and continuation."""
    ours: Likelihood


class Side(NamedTuple):
    """What Assay made of a dataset."""

    scored: list[Scored]
    verdicts: dict[str, list[float]]
    """For each of the harness's metrics, whether each sample was right."""


class Comparison(NamedTuple):
    """One line of the result."""

    name: str
    n_samples: int
    n_options: int
    option_difference: float
    unconditional_difference: float
    n_other_tokens: int
    n_other_greedy: int
    own_prompts: str
    accuracies: dict[str, tuple[float, float, int]]
    """Ours, theirs, and on how many samples they differ."""
    outliers: list[str]

    @property
    def is_equal(self) -> bool:
        """Whether everything is within the tolerance."""
        return max(self.option_difference, self.unconditional_difference) <= TOLERANCE and not any(
            n for _, _, n in self.accuracies.values()
        )


def assay_side(dataset: Dataset, rows: Sequence[dict[str, Any]], folder: Path) -> Side:
    """Run Assay and read back what it asked and what came."""
    table = write_rows(
        (made for row in rows for made in dataset.prepare(row)), folder / f"{dataset.name}.jsonl"
    )
    result = score(table, dataset.table, folder / f"run-{dataset.name}", method="ppl", score_by="pmi")
    stored = StoredRun(result.folder)
    responses = {response.request_id: response.outcome for response in stored.responses()}
    scored = []
    for number, record in enumerate(stored.samples()):
        for asked in record.asks:
            ask, outcome = record.ask(asked), responses[asked.id]
            if not isinstance(ask, Span) or not isinstance(outcome, Likelihood):
                raise SystemExit(f"{dataset.name} {asked.id}: no likelihood but {outcome}")
            text = final_text(ask.prompt)
            pair = (text[: ask.start], text[ask.start :])
            scored.append(Scored(number, asked.role, asked.index, pair, outcome))
    if dataset.rows_per_sample == 1:
        also = [entry.also for entry in stored.scores()]
        return Side(scored, {theirs: [one[ours] for one in also] for theirs, ours in OURS.items()})
    return Side(scored, {"acc": _right([_first_options(scored, lambda one: one.ours.sum_logprob)], rows)})


def _first_options(scored: Sequence[Scored], value: Any) -> list[float]:
    """Return the value of each row's first option, in order."""
    return [value(one) for one in scored if one.role == "option" and one.option == 0]


def _right(values: Sequence[Sequence[float]], rows: Sequence[dict[str, Any]]) -> list[float]:
    """Return whether the larger of each pair of sums is Winogrande's answer."""
    pairs = [pair for flat in values for pair in zip(flat[::2], flat[1::2], strict=True)]
    return [
        float(("2" if second > first else "1") == row["answer"])
        for (first, second), row in zip(pairs, rows, strict=True)
    ]


def harness_side(
    python: Path,
    groups: Sequence[Sequence[tuple[str, str]]],
    tasks: dict[str, Any],
    folder: Path,
    batch_size: int,
) -> dict[str, Any]:
    """Ask the harness in its own environment."""
    asked, answered = folder / "asked.json", folder / "answered.json"
    asked.write_text(
        json.dumps(
            {
                "weights": str(EmbeddedFiles().prepare_path()),
                "batch_size": batch_size,
                "groups": groups,
                "tasks": tasks,
            }
        ),
        encoding="utf-8",
    )
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf-home")}
    done = subprocess.run(
        [str(python), str(harness.__file__), str(asked), str(answered)],
        env={**os.environ, **offline},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the harness failed:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
    return found


def compare(
    dataset: Dataset,
    side: Side,
    theirs: Sequence[dict[str, Any]],
    task: dict[str, Any] | None,
    rows: Sequence[dict[str, Any]],
) -> Comparison:
    """Lay both sides next to each other."""
    differences: dict[str, list[float]] = {"option": [], "unconditional": []}
    outliers = []
    n_tokens = n_greedy = 0
    for one, other in zip(side.scored, theirs, strict=True):
        difference = abs(one.ours.sum_logprob - other["sum"])
        differences[one.role].append(difference)
        n_tokens += list(one.ours.token_ids) != other["ids"]
        n_greedy += one.ours.is_greedy != other["is_greedy"]
        if difference > TOLERANCE or list(one.ours.token_ids) != other["ids"]:
            outliers.append(
                f"{dataset.name} sample {one.sample} {one.role} {one.option}: "
                f"{one.ours.sum_logprob:.5f} and {other['sum']:.5f}, "
                f"tokens {list(one.ours.token_ids)} and {other['ids']}, "
                f"context ...{one.pair[0][-40:]!r}, continuation {one.pair[1]!r}"
            )
    if task is None:
        verdicts = {"acc": _right([_options_in_order(side, theirs)], rows)}
        own_prompts = "no such task"
    else:
        verdicts = task["verdicts"]
        own_prompts = f"{task['n_shared']} of {task['n_requests']}"
        outliers += [f"{dataset.name}: asked by the harness alone: {pair}" for pair in task["unshared"]]
    accuracies = {}
    for metric, values in verdicts.items():
        mine = side.verdicts[metric]
        n_different = sum(a != b for a, b in zip(mine, values, strict=True))
        accuracies[metric] = (_mean(mine), _mean(values), n_different)
    return Comparison(
        dataset.name,
        len(rows),
        len(differences["option"]),
        max(differences["option"]),
        max(differences["unconditional"]),
        n_tokens,
        n_greedy,
        own_prompts,
        accuracies,
        outliers,
    )


def _options_in_order(side: Side, theirs: Sequence[dict[str, Any]]) -> list[float]:
    return [other["sum"] for one, other in zip(side.scored, theirs, strict=True) if one.role == "option"]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def section(comparisons: Sequence[Comparison], found: dict[str, Any], batch_size: int) -> str:
    """Return the tables."""
    versions = found["versions"]
    peers = f"torch {versions['torch']} and transformers {versions['transformers']}"
    likelihoods = markdown_table(
        (
            "dataset",
            "rows",
            "options",
            "largest difference",
            "unconditional",
            "other tokens",
            "other greedy flag",
            "own prompts",
        ),
        [
            (
                one.name,
                str(one.n_samples),
                str(one.n_options),
                f"{one.option_difference:.1e}",
                f"{one.unconditional_difference:.1e}",
                str(one.n_other_tokens),
                str(one.n_other_greedy),
                one.own_prompts,
            )
            for one in comparisons
        ],
    )
    accuracies = markdown_table(
        ("dataset", *(f"{metric} = {ours.removeprefix('accuracy_')}" for metric, ours in OURS.items())),
        [(one.name, *(_accuracy(one.accuracies.get(metric)) for metric in OURS)) for one in comparisons],
    )
    worst = max(max(one.option_difference, one.unconditional_difference) for one in comparisons)
    outliers = [line for one in comparisons for line in one.outliers]
    listed = "\n".join(f"- {line}" for line in outliers[:OUTLIERS_SHOWN])
    return "\n\n".join(
        part
        for part in (
            setting({"lm-eval": f"{versions['lm-eval']} with {peers}"}),
            f"SmolLM2-135M-Instruct, fp32, CPU, harness batch size {batch_size}. "
            f"Largest difference of a sum of log-probabilities: **{worst:.2e}** (tolerance {TOLERANCE:.0e}).",
            likelihoods,
            "Accuracy in percent, Assay / harness; in brackets the samples judged differently.",
            accuracies,
            f"Outliers: {len(outliers) or 'none'}." + (f"\n\n{listed}" if listed else ""),
        )
        if part
    )


def _accuracy(found: tuple[float, float, int] | None) -> str:
    return "-" if found is None else f"{100 * found[0]:.1f} / {100 * found[1]:.1f} ({found[2]})"


def main() -> int:
    """Run both sides and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--peer-python", help="python of an environment with lm-eval[hf]")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the datasets")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=8, help="of the harness")
    parser.add_argument("--only", nargs="*", choices=DATASETS, default=list(DATASETS))
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("lm-eval", options.peer_python)
    with tempfile.TemporaryDirectory(prefix="assay-parity-") as name:
        folder = Path(name)
        sides: list[tuple[Dataset, list[dict[str, Any]], Side]] = []
        tasks: dict[str, Any] = {}
        for dataset in (DATASETS[wanted] for wanted in options.only):
            print(f"assay: {dataset.name}", file=sys.stderr)
            rows = raw_rows(dataset, options.data, options.rows)
            sides.append((dataset, rows, assay_side(dataset, rows, folder)))
            if dataset.harness_task is not None:
                raw = write_rows(rows, folder / f"{dataset.name}.raw.jsonl")
                tasks[dataset.name] = {
                    "file": dataset.harness_task,
                    "rows": str(raw),
                    "metrics": dataset.harness_metrics,
                }
        groups = [[one.pair for one in side.scored] for _, _, side in sides]
        print(f"harness: {sum(map(len, groups))} log-likelihoods, {len(tasks)} tasks", file=sys.stderr)
        found = harness_side(python, groups, tasks, folder, options.batch_size)
    answers = iter(found["pairs"])
    comparisons = [
        compare(dataset, side, [next(answers) for _ in side.scored], found["tasks"].get(dataset.name), rows)
        for dataset, rows, side in sides
    ]
    hand_over("parity", section(comparisons, found, options.batch_size), options)
    return 0 if all(one.is_equal for one in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
