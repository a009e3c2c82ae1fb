"""How well replies are read: a corpus of replies, each with the answer that a careful person reads in it.

    python -m benchmarks.replies                 # prints the tables
    python -m benchmarks.replies --write         # puts them into RESULTS.md
    python -m benchmarks.replies --misses        # lists the replies that are read differently

The corpus is `tests/corpora/replies/*.jsonl`; files ending in `.held_out.jsonl` hold the replies that nobody
looked at while the rules were written. A row has

- `kind`: `choice`, `number` or `text`; `language`: the ISO 639 code
- `reply`: what the model wrote
- `answer`: what a careful person reads in it (a label, a number or a text), null for no single answer
- `labels` and `options` (choice), `targets` (text: the accepted answers), `prompt` (optional)
- `source`: `written`, or where the reply comes from; `note`: what is particular about it
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from assay.scoring.extract import extract_number, extract_option
from assay.scoring.normalize import numbers_equal
from assay.scoring.scorers.grading import AnswerGrader, extract_question
from benchmarks.record import add_output_options, hand_over, setting

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpora" / "replies"
HELD_OUT = ".held_out.jsonl"
TURNS = 5
_GRADER = AnswerGrader()

Kind = Literal["choice", "number", "text"]


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of the corpus."""

    kind: Kind
    language: str
    reply: str
    answer: str | None
    source: str
    note: str
    prompt: str = ""
    labels: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


class Tally(NamedTuple):
    """How the replies of one group were read."""

    right: int
    """Read as a person reads them, replies without an answer included."""
    wrong: int
    """Read as an answer that a person does not read there."""
    unanswered: int
    """Not read although a person finds an answer."""

    @property
    def total(self) -> int:
        """Return the number of replies."""
        return sum(self)


def read_corpus(*, is_held_out: bool) -> list[Reply]:
    """Return the replies of one part of the corpus, in the order of its files."""
    return [
        msgspec.json.decode(line, type=Reply)
        for path in sorted(CORPUS.glob("*.jsonl"))
        if path.name.endswith(HELD_OUT) == is_held_out
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


def _is_same_option(row: Reply) -> bool | None:
    found = extract_option(row.reply, row.labels, row.options).answer
    return None if found is None else found == row.answer


def _is_same_number(row: Reply) -> bool | None:
    found = extract_number(row.reply).answer
    return None if found is None else row.answer is not None and numbers_equal(found, row.answer)


def _is_same_text(row: Reply) -> bool | None:
    is_right = _GRADER.grade(row.reply, row.targets, extract_question(row.prompt)).value == 1.0
    return row.answer in row.targets if is_right else None


READERS: dict[Kind, Callable[[Reply], bool | None]] = {
    "choice": _is_same_option,
    "number": _is_same_number,
    "text": _is_same_text,
}
"""How each kind is read: whether the answer found is the one a person reads, None where none is found.

A text is read when it is scored right, so a reply whose answer is none of the targets has nothing to find.
"""


def has_answer(row: Reply) -> bool:
    """Whether there is an answer to find in a reply."""
    return row.answer is not None and (row.kind != "text" or row.answer in row.targets)


def outcome(row: Reply) -> Literal["right", "wrong", "unanswered"]:
    """Return how a reply was read."""
    is_same = READERS[row.kind](row)
    if is_same is None:
        return "unanswered" if has_answer(row) else "right"
    return "right" if is_same else "wrong"


def tally(rows: Iterable[Reply]) -> Tally:
    """Return how many replies were read right, wrong, or falsely as unanswered."""
    outcomes = [outcome(row) for row in rows]
    return Tally(*(outcomes.count(one) for one in ("right", "wrong", "unanswered")))


def _table(rows: Sequence[Reply], key: Callable[[Reply], str], name: str) -> str:
    header = [name, "replies", "without an answer", "right", "wrong", "falsely unanswered"]
    lines = []
    for group in sorted({key(row) for row in rows}):
        members = [row for row in rows if key(row) == group]
        counts = tally(members)
        n_without = sum(not has_answer(row) for row in members)
        lines.append([group, *map(str, (counts.total, n_without, *counts))])
    return markdown_table(header, lines)


def _speed(rows: Sequence[Reply]) -> str:
    short = [row for row in rows if len(row.reply) <= 200]
    best = min(_seconds(short) for _ in range(TURNS))
    return f"{len(short) / best:,.0f} replies of at most 200 characters a second."


def _seconds(rows: Sequence[Reply]) -> float:
    start = time.process_time()
    for row in rows:
        READERS[row.kind](row)
    return time.process_time() - start


def section() -> str:
    """Return the section of RESULTS.md."""
    developed, held_out = read_corpus(is_held_out=False), read_corpus(is_held_out=True)
    parts = [setting()]
    for title, rows in (("Seen while the rules were written", developed), ("Held out", held_out)):
        if rows:
            parts += [f"**{title}**", _table(rows, lambda row: row.kind, "kind")]
    parts += [
        "**Both, by language**",
        _table([*developed, *held_out], lambda row: f"{row.kind} {row.language}", "kind and language"),
        _speed([*developed, *held_out]),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Print or record the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_output_options(parser)
    parser.add_argument(
        "--misses", action="store_true", help="list the replies read differently, not held out"
    )
    options = parser.parse_args()
    if options.misses:
        for row in read_corpus(is_held_out=False):
            if (how := outcome(row)) != "right":
                print(f"{how} {row.kind} {row.language} [{row.note}] {row.answer!r} <- {row.reply!r}")
        return
    hand_over("replies", section(), options)


if __name__ == "__main__":
    main()
