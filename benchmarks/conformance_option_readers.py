"""Whether `--fidelity faithful` reads options, and other answers in texts, as the originals do.

    python -m benchmarks.conformance_option_readers                 # prints the tables
    python -m benchmarks.conformance_option_readers --runs DIR...   # also on the replies of finished runs
    python -m benchmarks.conformance_option_readers --write         # puts the tables into RESULTS.md

OpenCompass's and AISBench's own functions run in an environment of their own (benchmarks/peers.py) on the
same replies: generated from templates in English and Chinese, generated from templates for which no rule was
changed, random strings of the words that decide, and the replies of real models. Every function of the
two modules of post-processors that Assay implements is compared, and the option evaluator of tables. Bar:
99 % equal for each reader. `general_cn` is compared where jieba is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_list, markdown_table
from assay.scoring.extract import extract_option
from assay.scoring.originals.opencompass.option_reader import infer_option
from assay.scoring.originals.opencompass.postprocess import find_postprocessor
from benchmarks.option_replies import LABEL_SETS, Reply, fuzzed, generated, held_out, recorded
from benchmarks.peers import AISBENCH, OPENCOMPASS, peer_python
from benchmarks.record import add_output_options, hand_over, setting

SYSTEMS = {"opencompass": "OpenCompass", "ais_bench": "AISBench"}
EVALUATOR = "OptionSimAccEvaluator"
SEED = 19
BAR = 0.99
N_SHOWN = 12
_WORKER = Path(__file__).with_name("option_reader_worker.py")
_TEXT_READERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("general_postprocess", {}),
    ("general_cn_postprocess", {}),
    ("first_capital_postprocess", {}),
    ("last_capital_postprocess", {}),
    ("first_capital_postprocess_multi", {}),
    ("multiple_select_postprocess", {}),
    ("first_number_postprocess", {}),
    ("think_pred_postprocess", {"re_pattern": r"</think>(.*)"}),
    ("match_answer_pattern", {"answer_pattern": r"(?i)answer\s*(?:is|:)\s*(\S+)"}),
    ("xml_tag_postprocessor", {"tag": "<answer>"}),
    ("extract_non_reasoning_content", {}),
    ("extract_non_reasoning_content", {"think_start_token": "[THINK]", "think_end_token": "[/THINK]"}),
)


class Job(NamedTuple):
    """A reader with its arguments, and the replies it is given."""

    reader: str
    arguments: Mapping[str, Any]
    replies: Sequence[Reply]

    def asked(self) -> dict[str, Any]:
        """Return the job for the originals' side."""
        replies = [{"text": reply.text, "row": dict(reply.choices)} for reply in self.replies]
        return {"function": self.reader, "arguments": dict(self.arguments), "replies": replies}

    def name(self) -> str:
        """Return the reader with the arguments that matter."""
        given = {key: one for key, one in self.arguments.items() if key != "options"}
        return f"{self.reader} {given}" if given else self.reader


def main() -> None:
    """Compare and hand the tables over; exit 1 below the bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="a python that has both originals. [made in Assay's cache folder]")
    parser.add_argument(
        "--runs", type=Path, nargs="*", default=(), help="folders of runs with options, by gen"
    )
    parser.add_argument("--replies", type=int, default=6000, help="replies of each generated kind. [6000]")
    parser.add_argument("--seed", type=int, default=SEED)
    add_output_options(parser)
    options = parser.parse_args()
    python = peer_python("option-readers", options.python)
    sources = {
        "generated": list(generated(options.replies, options.seed)),
        "held-out templates": list(held_out(options.replies, options.seed + 1)),
        "random": list(fuzzed(options.replies, options.seed + 2)),
    }
    if options.runs:
        sources["SmolLM2"] = list(recorded(options.runs))
    text, is_met = section(python, sources)
    hand_over("conformance_option_readers", text, options)
    raise SystemExit(not is_met)


def section(python: Path, sources: Mapping[str, Sequence[Reply]]) -> tuple[str, bool]:
    """Return the tables, and whether every reader reaches the bar."""
    counts: dict[tuple[str, str, str], tuple[int, int]] = {}
    differences: list[str] = []
    for source, replies in sources.items():
        jobs = list(_jobs(replies))
        mine = [_read(job) for job in jobs]
        for system, title in SYSTEMS.items():
            for job, ours, theirs in zip(jobs, mine, _originals(python, system, jobs), strict=True):
                if theirs is None:
                    continue
                rows = list(zip(job.replies, map(_spelled, ours), map(_spelled, theirs), strict=True))
                equal, n = counts.get((job.name(), title, source), (0, 0))
                n_equal = sum(own == original for _, own, original in rows)
                counts[job.name(), title, source] = (equal + n_equal, n + len(rows))
                differences += [
                    f"{title}, {job.name()}, {reply.labels}: {reply.text!r} is {original!r}, here {own!r}"
                    for reply, own, original in rows
                    if own != original
                ]
    shown = "".join(f"\n{line}" for line in _tables(counts, list(sources)))
    if differences:
        shown += f"\n\nOtherwise:\n\n{markdown_list(differences[:N_SHOWN])}"
    shown += f"\n\n{_careful(sources)}"
    measured = setting({"opencompass": OPENCOMPASS, "ais-bench-benchmark": AISBENCH})
    is_met = all(equal >= BAR * n for equal, n in counts.values())
    return f"{measured}\n{shown}", is_met


def _jobs(replies: Sequence[Reply]) -> Iterator[Job]:
    for labels in LABEL_SETS:
        having = [reply for reply in replies if reply.labels == labels]
        yield Job(EVALUATOR, {"options": list(labels)}, having)
        for cushion in (False, True):
            yield Job("first_option_postprocess", {"options": labels, "cushion": cushion}, having)
        yield Job("first_option_postprocess_v1", {"options": labels, "cushion": True}, having)
        yield Job("last_option_postprocess", {"options": labels}, having)
    for name, arguments in _TEXT_READERS:
        if name != "general_cn_postprocess" or importlib.util.find_spec("jieba"):
            yield Job(name, arguments, replies)


def _read(job: Job) -> list[Any]:
    read: Callable[[Reply], Any]
    if job.reader == EVALUATOR:

        def read(reply: Reply) -> str | None:
            return infer_option(reply.text, list(reply.labels), list(reply.choices.values())).answer

    else:
        process = find_postprocessor({"type": job.reader, **job.arguments})

        def read(reply: Reply) -> Any:
            return process(reply.text, True)

    return [read(reply) for reply in job.replies]


def _originals(python: Path, system: str, jobs: Sequence[Job]) -> list[list[Any] | None]:
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
        asked.write_text(json.dumps([job.asked() for job in jobs]), encoding="utf-8")
        command = [str(python), "-W", "ignore", str(_WORKER), system, str(asked), str(answered)]
        subprocess.run(command, check=True)
        return list(json.loads(answered.read_text(encoding="utf-8")))


def _spelled(value: Any) -> Any:
    """Return a value as Assay spells it: numbers are texts."""
    return str(value) if isinstance(value, float) else value


def _tables(counts: Mapping[tuple[str, str, str], tuple[int, int]], sources: Sequence[str]) -> list[str]:
    rows = []
    for reader, system in dict.fromkeys((reader, system) for reader, system, _ in counts):
        cells = [counts.get((reader, system, source), (0, 0)) for source in sources]
        rows.append((reader, system, *(f"{equal:,} of {n:,}" for equal, n in cells)))
    return [markdown_table(("reader", "original", *sources), rows)]


def _careful(sources: Mapping[str, Sequence[Reply]]) -> str:
    """Return how the default, careful reader compares with the faithful one."""
    rows = []
    for source, replies in sources.items():
        n_equal = n_none = 0
        for reply in replies:
            labels, choices = list(reply.labels), list(reply.choices.values())
            careful = extract_option(reply.text, labels, choices).answer
            n_none += careful is None
            n_equal += careful is not None and careful == infer_option(reply.text, labels, choices).answer
        rows.append((source, f"{len(replies):,}", f"{n_equal:,}", f"{n_none:,}"))
    return "The default reader beside the original's evaluator:\n\n" + markdown_table(
        ("replies", "number", "same option", "no answer by default"), rows
    )


if __name__ == "__main__":
    main()
