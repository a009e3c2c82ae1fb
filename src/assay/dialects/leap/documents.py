"""The documents that a task is evaluated on: which split, which of them, in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import AuthorError
from assay.core.ids import digest
from assay.core.limit import Limit
from assay.dialects.leap.authoring import Task
from assay.dialects.leap.calling import Author
from assay.dialects.parts.plain_rows import plain
from assay.dialects.parts.row_names import named
from assay.sources.dataset_folder import DatasetMissing

CODE = "LEAP-005"
ORIGINAL_SEED = 42


class Documents(NamedTuple):
    """Documents and all that is known of each, in the order in which they are asked."""

    split: str
    """`test` or `validation`."""
    docs: list[Any]
    fields: list[dict[str, Any]]
    ids: list[str]
    rows: list[int]
    """Their numbers in the split, counted from 1."""
    n_there: int
    """Documents of the whole split."""


def documents_of(
    task: Task, author: Author, limit: Limit | None, seed: int, shared: random.Random | None
) -> Documents:
    """Return the documents to evaluate; `shared`: the generator that shuffles them in the faithful way."""
    split, docs = _split_of(task, author)
    rows = list(range(1, len(docs) + 1))
    if shared is not None:
        # One shuffle of both: a list of equal length takes the same places.
        pairs = list(zip(docs, rows, strict=True))
        shared.shuffle(pairs)
        docs, rows = [doc for doc, _ in pairs], [row for _, row in pairs]
    fields = [_fields(doc) for doc in docs]
    ids = named([digest(one) for one in fields])
    kept = _kept(ids, limit, seed, is_shuffled=shared is not None)
    return Documents(
        split,
        [docs[at] for at in kept],
        [fields[at] for at in kept],
        [ids[at] for at in kept],
        [rows[at] for at in kept],
        len(docs),
    )


def _kept(ids: Sequence[str], limit: Limit | None, seed: int, *, is_shuffled: bool) -> Sequence[int]:
    """Return which documents a limit leaves; of shuffled ones, the first are a draw already."""
    every = range(len(ids))
    if limit is None:
        return every
    if is_shuffled:
        return every[-limit.n :] if limit.which == "last" else every[: limit.n]
    chosen = limit.chosen(ids, seed)
    return [at for at in every if ids[at] in chosen]


def _split_of(task: Task, author: Author) -> tuple[str, list[Any]]:
    """Return the documents of the test split, or of the validation split where there is none."""
    with author.calling("has_test_docs"):
        has_test = bool(task.has_test_docs())
    with author.calling("has_validation_docs"):
        has_validation = bool(task.has_validation_docs())
    if not has_test and not has_validation:
        what = "has_test_docs() and has_validation_docs() are both False: there is nothing to evaluate"
        raise AuthorError(author.problem(CODE, what, "return True from one of them, and give its documents"))
    split = "test" if has_test else "validation"
    docs = docs_of(task, author, f"{split}_docs")
    if not docs:
        other = ", or return False from has_test_docs()" if has_test and has_validation else ""
        what = f"has_{split}_docs() is True, but {split}_docs() gives no documents"
        fix = f"define {split}_docs(self) to return them{other}"
        raise AuthorError(author.problem(CODE, what, fix))
    return split, docs


def docs_of(task: Task, author: Author, method: str) -> list[Any]:
    """Return what one of the author's methods gives; a split that does not exist is said to be absent."""
    with author.calling(method):
        try:
            made = getattr(task, method)()
            return [] if made is None else list(made)
        except KeyError as error:
            splits = getattr(task, "dataset", None)
            wanted = error.args[0] if error.args else None
            if not isinstance(splits, Mapping) or wanted in splits:
                raise
            absent = task._loaded.absent.get(str(wanted))
            what = f"{method}() reads the split {wanted!r}, which does not exist; there are {_listed(splits)}"
            fix = "correct the split's name, or add its data"
            if absent is not None:
                what = f"{method}() reads the split {wanted!r}, whose file is not there: {str(absent)!r}"
                fix = "add the file"
            also = "; or ask for no examples: --shots 0" if method == "training_docs" else ""
            raise DatasetMissing(author.problem(CODE, what, fix + also)) from error


def _listed(splits: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(name)) for name in splits) or "none"


def _fields(doc: Any) -> dict[str, Any]:
    """Return a document as it is stored: its fields, or the whole of one that has none."""
    if isinstance(doc, Mapping):
        made: dict[str, Any] = plain(doc)
        return made
    return {"doc": doc if isinstance(doc, str) else plain(doc)}
