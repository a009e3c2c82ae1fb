"""The size of a batch changes no number, and neither do workers: all ways of dealing requests out agree.

    python -m benchmarks.invariance            # prints the table; exit status 1 out of tolerance
    python -m benchmarks.invariance --write    # puts it into RESULTS.md
    python -m benchmarks.invariance --device cuda --dtype bfloat16    # how far half precision moves

SmolLM2-135M in fp32 on the CPU scores 60 rows, 30 each of ARC-Challenge and OpenBookQA, by all three methods,
with batches of 1 row, of at most 7 rows, and of the default token budget, and with two workers. Each is
compared with one row at a time: log-likelihoods of the options and of their tokens, label probabilities,
written texts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome
from assay.results.read import StoredRun
from assay.results.rows import markdown_table
from benchmarks.multiple_choice import DATASETS, raw_rows, score, write_rows
from benchmarks.record import add_output_options, hand_over, setting

TOLERANCE = 1e-4
NAMES = ("arc_challenge", "openbookqa")


class Way(NamedTuple):
    """A way to deal requests out."""

    model_args: Mapping[str, str] = {}
    workers: int | None = None


WAYS = {
    "1 row": Way({"max_batch": "1"}),
    "7 rows": Way({"max_batch": "7"}),
    "default": Way(),
    "2 workers": Way(workers=2),
}


class Difference(NamedTuple):
    """How far two runs are apart."""

    n: int
    sum_logprob: float
    token_logprob: float
    probability: float
    n_greedy: int
    n_texts: int
    n_answers: int
    """Samples whose answer by some method differs."""


class Outcomes(msgspec.Struct):
    """What came out of one run."""

    responses: dict[str, Outcome]
    answers: dict[tuple[str, str], str | None]
    batches: float


def run(name: str, label: str, numbers: Mapping[str, str], data: Path, n: int, folder: Path) -> Outcomes:
    """Score a dataset by all methods, with one way of dealing requests out, in numbers of some type."""
    dataset = DATASETS[name]
    table = write_rows(raw_rows(dataset, data, n), folder / f"{name}.jsonl")
    # Without a template of its own the table shows the options where `prob` and `gen` need them.
    said = {key: value for key, value in dataset.table.items() if key != "template"}
    question = "question_stem" if name == "openbookqa" else "question"
    result = score(
        table,
        {**said, "input_columns": [question]},
        folder / f"{name}-{label.replace(' ', '-')}",
        method=["ppl", "prob", "gen"],
        max_tokens=16,
        model_args={**numbers, **WAYS[label].model_args},
        workers=WAYS[label].workers,
    )
    stored = StoredRun(result.folder)
    return Outcomes(
        {response.request_id: response.outcome for response in stored.responses()},
        {(entry.sample_id, entry.track): entry.answer for entry in stored.scores()},
        stored.manifest.stats["model_batches"],
    )


def compare(one: Outcomes, other: Outcomes) -> Difference:
    """Return the largest differences over all requests."""
    total = token = probability = 0.0
    n_greedy = n_texts = 0
    if one.responses.keys() != other.responses.keys():
        raise SystemExit("the runs did not ask the same")
    for request_id, a in one.responses.items():
        b = other.responses[request_id]
        if isinstance(a, Failure) or isinstance(b, Failure):
            raise SystemExit(f"{request_id} failed: {a}, {b}")
        if isinstance(a, Likelihood) and isinstance(b, Likelihood):
            if a.token_ids != b.token_ids:
                raise SystemExit(f"{request_id} was read as other tokens")
            total = max(total, abs(a.sum_logprob - b.sum_logprob))
            pairs = zip(a.token_logprobs, b.token_logprobs, strict=True)
            token = max(token, *(abs(x - y) for x, y in pairs))
            n_greedy += a.is_greedy != b.is_greedy
        elif isinstance(a, LabelProbs) and isinstance(b, LabelProbs):
            probability = max(probability, *(abs(x - y) for x, y in zip(a.probs, b.probs, strict=True)))
        elif isinstance(a, Completion) and isinstance(b, Completion):
            n_texts += [output.text for output in a.outputs] != [output.text for output in b.outputs]
    n_answers = sum(answer != other.answers[key] for key, answer in one.answers.items())
    return Difference(len(one.responses), total, token, probability, n_greedy, n_texts, n_answers)


def main() -> int:
    """Run every way and compare each with single rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the datasets")
    parser.add_argument("--rows", type=int, default=30, help="of each dataset")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    add_output_options(parser)
    options = parser.parse_args()
    numbers = {"device": options.device, "dtype": options.dtype}
    lines = []
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="assay-invariance-") as folder:
        for name in NAMES:
            runs = {}
            for label in WAYS:
                print(f"{name}: {label}", file=sys.stderr)
                runs[label] = run(name, label, numbers, options.data, options.rows, Path(folder))
            (first, alone), *others = runs.items()
            for label, outcomes in others:
                found = compare(alone, outcomes)
                worst = max(worst, found.sum_logprob, found.token_logprob, found.probability)
                lines.append(
                    (
                        name,
                        f"{first} / {label}",
                        f"{alone.batches:.0f} / {outcomes.batches:.0f}",
                        str(found.n),
                        f"{found.sum_logprob:.2e}",
                        f"{found.token_logprob:.1e}",
                        f"{found.probability:.1e}",
                        str(found.n_greedy),
                        str(found.n_texts),
                        str(found.n_answers),
                    )
                )
    headings = (
        "dataset", "by", "batches", "requests", "sum of log-probabilities", "one token's",
        "label probability", "other greedy flag", "other text", "other answer",
    )  # fmt: skip
    text = "\n\n".join(
        (
            setting(),
            f"SmolLM2-135M-Instruct, {options.dtype}, {options.device}, {options.rows} rows each, ppl, prob "
            f"and gen (16 tokens). Largest difference: **{worst:.2e}** "
            f"(tolerance {TOLERANCE:.0e} in float32).",
            markdown_table(headings, lines),
        )
    )
    hand_over("invariance", text, options)
    return 0 if worst <= TOLERANCE or options.dtype != "float32" else 1


if __name__ == "__main__":
    sys.exit(main())
