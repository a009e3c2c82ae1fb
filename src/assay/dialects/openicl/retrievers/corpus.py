"""What a retriever sees of a dataset: texts, who is whom, and the tools that some retrievers ask for."""

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
    """Examples that are to be tried before a row."""

    row: int
    """Index into the test rows."""
    shots: tuple[int, ...]
    """Indexes into the train rows, in the order in which they are shown."""


Losses: TypeAlias = Callable[[Sequence[Trial], Sequence[Any]], Sequence[Sequence[float] | None]]
"""Asks the model: for each trial the loss of every label, in nats: minus the logarithm of how likely the
label's text is after the examples and the question. None: the model could not answer all of a trial."""


class Corpus(msgspec.Struct, frozen=True, kw_only=True):
    """Two splits as texts. The test rows may be some of their split: each is picked the same examples."""

    train: Sequence[str]
    """The input of every row that may be an example."""
    test: Sequence[str]
    """The input of every row that gets examples."""
    same: Mapping[int, Set[int]]
    """For test rows that the train split holds too: which train rows those are."""
    sample_ids: Sequence[str]
    """The id of each test row."""
    places: Sequence[int]
    """Where each test row stands in its whole split."""
    task: str
    seed: int
    labels: Sequence[Any] = ()
    """The answers a row may have."""
    train_split: str = "train"
    """What the dataset calls the split that examples come from."""
    where: Origin | None = None
    """The entry of the config, for errors."""
    embedder: Embedder | None = None
    """For retrievers with `needs_embedder`."""
    losses: Losses | None = None
    """For retrievers with `needs_model`."""

    def own(self, row: int) -> Set[int]:
        """Return the train rows that a test row must not be shown, since they are the row itself."""
        return self.same.get(row, frozenset())

    def lacks(self, what: str, fix: str) -> AuthorError:
        """Return the error for examples that the train split does not have."""
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
    """Return what retrievers need to know of rows.

    `text` makes a row's input (`joined`), `question` all that a prompt shows of it: by that, and not by an
    input that many rows share, a row is known again. `places` is None where `test` is a whole split. Without
    `labels`, those that a template knows, the labels are the answers of the train rows.
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
    """Return what makes a row's text: the columns with a space between them."""
    return lambda row: " ".join(str(row[column]) for column in columns)


def _gold(output_column: str | None) -> Callable[[Row], str]:
    """Return what reads a row's answer in a form that equal answers share; empty where none is known."""

    def read(row: Row) -> str:
        value = None if output_column is None else row.get(output_column)
        return "" if value is None else normalize_question(str(value))

    return read


def _answers(rows: Sequence[Row], output_column: str | None) -> tuple[Any, ...]:
    """Return the different answers of rows, in the order in which they come; a list is not one of a few."""
    if output_column is None:
        return ()
    values = (row.get(output_column) for row in rows)
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str | int | float)))


def _find_same_rows(
    train: Sequence[str], train_golds: Sequence[str], test: Sequence[str], test_golds: Sequence[str]
) -> dict[int, Set[int]]:
    """Return which train rows are the same as each test row: they ask the same and have the same answer.

    The place in a split says nothing: a range or another file moves rows. Where the test row's answer is not
    known, an example that asks the same would give it away.
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
