"""The input of retrievers: texts, identities of rows, and tools that some retrievers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.core.ports import Embedder
from assay.dialects.shared.fewshot import normalize_question

Row: TypeAlias = Mapping[str, Any]


class Trial(NamedTuple):
    """A set of examples to try for a row."""

    row: int
    """Index into the test rows."""
    shots: tuple[int, ...]
    """Indexes into the train rows, in prompt order."""


Losses: TypeAlias = Callable[[Sequence[Trial], Sequence[Any]], Sequence[Sequence[float] | None]]
"""Returns the loss of every label for each trial, computed by the model: the negative log-likelihood in nats
of the label's text after the examples and the question. None: the model could not answer all of a trial."""


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """Two splits as texts. The test rows may be a subset of their split, with the same examples."""

    train: Sequence[str]
    """The input of every possible example."""
    test: Sequence[str]
    """The input of every row that needs examples."""
    same: Mapping[int, Set[int]]
    """For test rows that are also in the train split: the equal train rows."""
    sample_ids: Sequence[str]
    """The id of each test row."""
    places: Sequence[int]
    """The position of each test row in its whole split."""
    task: str
    seed: int
    labels: Sequence[Any] = ()
    """The possible answers."""
    train_split: str = "train"
    """The dataset's name for the split of examples."""
    where: Origin | None = None
    """The entry of the config, for messages."""
    embedder: Embedder | None = None
    """For retrievers with `needs_embedder`."""
    losses: Losses | None = None
    """For retrievers with `needs_model`."""

    def find_equal_rows(self, row: int) -> Set[int]:
        """Return the train rows that equal a test row and must not be its examples."""
        return self.same.get(row, frozenset())

    def lacks(self, what: str, fix: str) -> AuthorError:
        """Return the error for a train split with too few examples."""
        return AuthorError(Problem("OPENICL-030", what, fix, self.where))


def build_corpus(
    train: Sequence[Row],
    test: Sequence[Row],
    *,
    text: Callable[[Row], str],
    question: Callable[[Row], str] | None = None,
    output_column: str | None,
    sample_ids: Sequence[str],
    task: str,
    seed: int,
    places: Sequence[int] | None = None,
    labels: Sequence[Any] = (),
    train_split: str = "train",
    where: Origin | None = None,
    embedder: Embedder | None = None,
) -> Corpus:
    """Return the corpus for retrievers.

    `text` returns a row's input, `question` everything that a prompt shows of it: rows are compared by
    `question`, because many rows may share an input. `places` is None if `test` is a whole split. Without
    `labels` (those of a template), the labels are the answers of the train rows.
    """
    gold = _gold(output_column)
    train_texts = [text(row) for row in train]
    test_texts = [text(row) for row in test]
    asked = (train_texts, test_texts)
    if question is not None:
        asked = ([question(row) for row in train], [question(row) for row in test])
    return Corpus(
        train=train_texts,
        test=test_texts,
        same=_find_same_rows(asked[0], [gold(row) for row in train], asked[1], [gold(row) for row in test]),
        sample_ids=sample_ids,
        places=range(len(test)) if places is None else places,
        task=task,
        seed=seed,
        labels=tuple(labels) or _answers(train, output_column),
        train_split=train_split,
        where=where,
        embedder=embedder,
    )


def build_text_joiner(columns: Sequence[str]) -> Callable[[Row], str]:
    """Return a function that joins the columns of a row with spaces."""
    return lambda row: " ".join(str(row[column]) for column in columns)


def _gold(output_column: str | None) -> Callable[[Row], str]:
    """Return a function that returns a row's answer in a normalised form; empty if unknown."""

    def read(row: Row) -> str:
        value = None if output_column is None else row.get(output_column)
        return "" if value is None else normalize_question(str(value))

    return read


def _answers(rows: Sequence[Row], output_column: str | None) -> tuple[Any, ...]:
    """Return the distinct answers of rows in order; lists are not labels."""
    if output_column is None:
        return ()
    values = (row.get(output_column) for row in rows)
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str | int | float)))


def _find_same_rows(
    train: Sequence[str], train_golds: Sequence[str], test: Sequence[str], test_golds: Sequence[str]
) -> dict[int, Set[int]]:
    """Return the train rows that equal each test row: same question and same answer.

    Positions cannot be compared, because a range or another file moves rows. If the test row's answer is
    unknown, every example with the same question is excluded, because it would reveal the answer.
    """
    asking: dict[str, set[int]] = {}
    answering: dict[tuple[str, str], set[int]] = {}
    for at, (text, gold) in enumerate(zip(train, train_golds, strict=True)):
        key = normalize_question(text)
        asking.setdefault(key, set()).add(at)
        answering.setdefault((key, gold), set()).add(at)
    same: dict[int, Set[int]] = {}
    for at, (text, gold) in enumerate(zip(test, test_golds, strict=True)):
        key = normalize_question(text)
        found = answering.get((key, gold)) if gold else asking.get(key)
        if found:
            same[at] = found
    return same
