"""What `vllm:` makes of vLLM's engine: against raw LLM.generate, and against lm-eval's `vllm` backend.

    python -m benchmarks.vllm_offline             # prints the table
    python -m benchmarks.vllm_offline --write     # puts it into RESULTS.md
    python -m benchmarks.vllm_offline --only letters --turns 1
    python -m benchmarks.vllm_offline --only generation --threads own

Each side is a process of its own with SmolLM2-135M in fp32, both in vLLM's environment and with as many
threads, and both are asked in turns: what else the machine does meets both alike. `--threads own` leaves
each side what it takes by itself.
Every turn has other questions, after the same five examples, so that nobody is asked the same twice. The
ratio is the median over the turns.

Bars: generation at least 0.97 of raw LLM.generate on the same 64 prompts of 128 tokens; four-option letters
at least 5 times, and endings of several tokens at least 3 times as fast as lm-eval's `vllm`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.peers import LM_EVAL, VLLM, peer_python
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scoring import DATA, _hellaswag, _letters, embedded_weights

WORKER = Path(__file__).resolve().with_name("vllm_offline_worker.py")
SOURCE = Path(__file__).resolve().parents[1] / "src"
TURNS = 3
QUESTIONS = 6
PROMPTS, PROMPT_TOKENS, MAX_TOKENS = 64, 128, 32
TOLERANCE = 2e-3
"""Of a sum: the peer's log-softmax is torch's, which sums a vocabulary up one by one on a CPU."""


class Workload(NamedTuple):
    """Something two sides do, turn by turn."""

    name: str
    what: str
    peer: str
    bar: float
    turns: list[dict[str, Any]]


class Measured(NamedTuple):
    """What came out."""

    workload: Workload
    ratios: list[float]
    seconds: float
    peer_seconds: float
    cpu_ratio: float
    """The peer's processor time for ours: it does not depend on what else the machine does."""
    agreement: str
    is_equal: bool
    sharing: float | None


def _around(threads: str) -> dict[str, str]:
    quiet = {"VLLM_NO_USAGE_STATS": "1"}
    if threads == "own":
        return quiet
    # Left alone, an engine with a process of its own takes others than one without.
    return {**quiet, "OMP_NUM_THREADS": threads, "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


class Side:
    """A process that has the model and answers."""

    def __init__(self, name: str, python: Path, weights: str, log: Path, threads: str) -> None:
        theirs, self._asked = os.pipe()
        self._answered, ours = os.pipe()
        around = {**os.environ, **_around(threads), "PYTHONPATH": str(SOURCE)}
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                [str(python), str(WORKER), name, weights, str(theirs), str(ours)],
                pass_fds=(theirs, ours),
                stdout=said,
                stderr=said,
                env=around,
            )
        os.close(theirs)
        os.close(ours)
        self._log = log
        self._answers = open(self._answered, encoding="utf-8")  # noqa: SIM115 - closed in close()
        self._line()

    def ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the answer, which says how long it took."""
        os.write(self._asked, (json.dumps(asked) + "\n").encode())
        found: dict[str, Any] = json.loads(self._line())
        return found

    def close(self) -> None:
        """Let the process end."""
        os.close(self._asked)
        self.process.wait()
        self._answers.close()

    def _line(self) -> str:
        line = self._answers.readline()
        if not line:
            raise SystemExit(f"a side ended early:\n{self._log.read_text('utf-8', 'replace')[-3000:]}")
        return line


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parts = ["generation", "letters", "endings"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="of each dataset in a turn")
    parser.add_argument("--threads", default="1", help="of each side: a number, or `own`")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of datasets")
    parser.add_argument("--vllm-python", help="an environment that has vllm-cpu and lm-eval already")
    add_output_options(parser)
    options = parser.parse_args()
    python, weights = peer_python("vllm", options.vllm_python), str(embedded_weights())
    every = _workloads(options.data, options.turns, options.questions, weights)
    workloads = [one for one in every if one.name in options.only]
    found: list[Measured] = []
    for peer in dict.fromkeys(one.peer for one in workloads):
        with _sides(python, weights, peer, options.threads) as (ours, theirs):
            found += [_measure(one, ours, theirs) for one in workloads if one.peer == peer]
    hand_over("vllm", _section(found), options)
    met = all(statistics.median(one.ratios) >= one.workload.bar and one.is_equal for one in found)
    sys.exit(0 if met else 1)


@contextmanager
def _sides(python: Path, weights: str, peer: str, threads: str) -> Iterator[tuple[Side, Side]]:
    with tempfile.TemporaryDirectory(prefix="assay-vllm-") as folder:
        opened = [
            Side(name, python, weights, Path(folder) / f"{name}.log", threads) for name in ("assay", peer)
        ]
        try:
            yield opened[0], opened[1]
        finally:
            for side in opened:
                side.close()


def _measure(one: Workload, ours: Side, theirs: Side) -> Measured:
    mine: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for number, asked in enumerate(one.turns):
        # Who begins changes with every turn.
        order = [(ours, mine), (theirs, others)][:: -1 if number % 2 else 1]
        for side, answers in order:
            answers.append(side.ask(asked))
        for name, answer in (("Assay", mine[-1]), (one.peer, others[-1])):
            told = f"{answer['seconds']:.1f} s, {answer['cpu_seconds']:.1f} s of processors"
            print(f"{one.name}: {name} {told}", file=sys.stderr)
    ratios = [b["seconds"] / a["seconds"] for a, b in zip(mine, others, strict=True)]
    agreement, is_equal = _agreement(mine, others)
    stats = [answer["stats"] for answer in mine]
    computed = sum(one["forward_tokens"] for one in stats)
    return Measured(
        one,
        ratios,
        statistics.median(answer["seconds"] for answer in mine),
        statistics.median(answer["seconds"] for answer in others),
        sum(answer["cpu_seconds"] for answer in others) / sum(answer["cpu_seconds"] for answer in mine),
        agreement,
        is_equal,
        sum(one["prompt_tokens"] for one in stats) / computed if one.peer == "lm-eval" else None,
    )


def _agreement(mine: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]]) -> tuple[str, bool]:
    """Return in words how far both sides agree, and whether that is enough."""
    sums = [pair for a, b in zip(mine, others, strict=True) for pair in zip(a["sums"], b.get("sums", ()))]  # noqa: B905
    if sums:
        largest = max(abs(a - b) for a, b in sums)
        return f"{largest:.1e}", largest <= TOLERANCE
    texts = [
        pair for a, b in zip(mine, others, strict=True) for pair in zip(a["texts"], b["texts"], strict=True)
    ]
    n_equal = sum(a == b for a, b in texts)
    # Sums of fp32 depend on the batch, and of two near equals either may be written.
    return f"{n_equal} of {len(texts)} texts equal", n_equal >= 0.95 * len(texts)


def _workloads(data: Path, turns: int, n: int, weights: str) -> list[Workload]:
    letters = _letters(data, shots=5, n=n * turns)
    endings = _hellaswag(data, shots=5, n=n * turns)
    generation = _prompts(data, turns, weights)
    return [
        Workload(
            "generation",
            f"{PROMPTS} prompts of {PROMPT_TOKENS} tokens, {MAX_TOKENS} written",
            "raw",
            0.97,
            generation,
        ),
        Workload("letters", f"MMLU, 5 shots, four letters, {n} questions", "lm-eval", 5, _parted(letters, n)),
        Workload(
            "endings", f"HellaSwag, 5 shots, four endings, {n} questions", "lm-eval", 3, _parted(endings, n)
        ),
    ]


def _parted(pairs: Sequence[tuple[str, str]], n_questions: int) -> list[dict[str, Any]]:
    size = 4 * n_questions
    return [{"pairs": pairs[at : at + size]} for at in range(0, len(pairs), size)]


def _prompts(data: Path, turns: int, weights: str) -> list[dict[str, Any]]:
    """Return prompts that have exactly so many tokens, as texts and as tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(weights) / "tokenizer.json"))
    with open(data / "gsm8k" / "train.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found: list[tuple[str, list[int]]] = []
    for row in rows:
        whole = f"Question: {row['question']}\nAnswer: {row['answer']}\n\n" * 3
        text = tokenizer.decode(tokenizer.encode(whole).ids[:PROMPT_TOKENS])
        ids = tokenizer.encode(text).ids
        if len(ids) == PROMPT_TOKENS:
            found.append((text, ids))
    parts = [found[at * PROMPTS : (at + 1) * PROMPTS] for at in range(turns)]
    return [
        {"prompts": [text for text, _ in part], "ids": [ids for _, ids in part], "max_tokens": MAX_TOKENS}
        for part in parts
    ]


def _section(found: Sequence[Measured]) -> str:
    names = {"raw": "raw `LLM.generate`", "lm-eval": "lm-eval `vllm`"}
    head = (
        "workload",
        "peer",
        "times as fast",
        "by processor time",
        "bar",
        "turns",
        "agreement",
        "Assay s",
        "peer s",
        "tokens asked per token computed",
    )
    rows = [
        (
            one.workload.what,
            names[one.workload.peer],
            f"**{statistics.median(one.ratios):.2f}**",
            f"{one.cpu_ratio:.2f}",
            f"{one.workload.bar:g}",
            ", ".join(f"{ratio:.2f}" for ratio in one.ratios),
            one.agreement,
            f"{one.seconds:.1f}",
            f"{one.peer_seconds:.1f}",
            "" if one.sharing is None else f"{one.sharing:.1f}",
        )
        for one in found
    ]
    return "\n".join([setting({"lm-eval": LM_EVAL, "vllm-cpu": VLLM}), "", markdown_table(head, rows)])


if __name__ == "__main__":
    main()
