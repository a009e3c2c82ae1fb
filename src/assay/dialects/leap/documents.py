"""The documents that a task is evaluated on: which split, which of them, in which order."""

from __future__ import annotations

import linecache
import random
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError
from assay.core.ids import digest
from assay.core.limit import Limit
from assay.dialects.leap.authoring import Task
from assay.dialects.leap.calling import TaskAuthor
from assay.dialects.shared.plain_rows import to_plain_data
from assay.dialects.shared.row_names import name_rows
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


def select_documents(
    task: Task, author: TaskAuthor, limit: Limit | None, seed: int, shared: random.Random | None
) -> Documents:
    """Return the documents to evaluate; `shared`: the generator that shuffles them in the faithful way."""
    split, docs = _choose_split(task, author)
    rows = list(range(1, len(docs) + 1))
    if shared is not None:
        # One shuffle of both: a list of equal length takes the same places.
        pairs = list(zip(docs, rows, strict=True))
        shared.shuffle(pairs)
        docs, rows = [doc for doc, _ in pairs], [row for _, row in pairs]
    fields = [_fields(doc) for doc in docs]
    ids = name_rows([digest(one) for one in fields])
    kept = _apply_limit(ids, limit, seed, is_shuffled=shared is not None)
    return Documents(
        split,
        [docs[at] for at in kept],
        [fields[at] for at in kept],
        [ids[at] for at in kept],
        [rows[at] for at in kept],
        len(docs),
    )


def _apply_limit(ids: Sequence[str], limit: Limit | None, seed: int, *, is_shuffled: bool) -> Sequence[int]:
    """Return which documents a limit leaves; of shuffled ones, the first are a draw already."""
    every = range(len(ids))
    if limit is None:
        return every
    if is_shuffled:
        return every[-limit.n :] if limit.which == "last" else every[: limit.n]
    chosen = limit.chosen(ids, seed)
    return [at for at in every if ids[at] in chosen]


def _choose_split(task: Task, author: TaskAuthor) -> tuple[str, list[Any]]:
    """Return the documents of the test split, or of the validation split where there is none."""
    with author.calling("has_test_docs"):
        has_test = bool(task.has_test_docs())
    with author.calling("has_validation_docs"):
        has_validation = bool(task.has_validation_docs())
    if not has_test and not has_validation:
        what = "has_test_docs() and has_validation_docs() are both False: there is nothing to evaluate"
        raise AuthorError(author.problem(CODE, what, "return True from one of them, and give its documents"))
    split = "test" if has_test else "validation"
    docs = load_docs(task, author, f"{split}_docs")
    if not docs:
        other = ", or return False from has_test_docs()" if has_test and has_validation else ""
        what = f"has_{split}_docs() is True, but {split}_docs() gives no documents"
        fix = f"define {split}_docs(self) to return them{other}"
        raise AuthorError(author.problem(CODE, what, fix))
    return split, docs


def _is_split_error(error: KeyError, path: Path) -> bool:
    """Whether a KeyError is of the splits of a dataset, and not of a document or any other dict."""
    frames = traceback.extract_tb(error.__traceback__)
    if Path(frames[-1].filename).name == "dataset_dict.py":
        return True
    own = [frame for frame in frames if frame.filename == str(path)]
    if not own or own[-1] is not frames[-1]:
        return False
    last = own[-1]
    line = linecache.getline(str(path), last.lineno or 0).encode()
    # Columns are counted in bytes; of an expression over several lines, the first is looked at.
    end = last.end_colno if last.end_lineno == last.lineno else None
    part = line[last.colno or 0 : end]
    return b"dataset" in part


def _columns(splits: Mapping[Any, Any]) -> list[str]:
    """Return the columns of the rows of all splits."""
    found: dict[str, None] = {}
    for rows in splits.values():
        names = getattr(rows, "column_names", None)
        if names is None and isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
            names = list(rows[0])
        found.update(dict.fromkeys(map(str, names or ())))
    return list(found)


def load_docs(task: Task, author: TaskAuthor, method: str) -> list[Any]:
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
            if not _is_split_error(error, author.path):
                columns = _columns(splits)
                raise AuthorError(
                    author.problem(*author.explain_error(error, f"{method}()", columns))
                ) from error
            absent = task._loaded.absent.get(str(wanted))
            what = f"{method}() reads the split {wanted!r}, which does not exist; there are {_format_splits(splits)}"
            fix = "correct the split's name, or add its data"
            if absent is not None:
                what = f"{method}() reads the split {wanted!r}, whose file is not there: {str(absent)!r}"
                fix = "add the file"
            also = "; or ask for no examples: --shots 0" if method == "training_docs" else ""
            raise DatasetMissing(author.problem(CODE, what, fix + also)) from error


def _format_splits(splits: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(name)) for name in splits) or "none"


def _fields(doc: Any) -> dict[str, Any]:
    """Return a document as it is stored: its fields, or the whole of one that has none."""
    if isinstance(doc, Mapping):
        made: dict[str, Any] = to_plain_data(doc)
        return made
    return {"doc": doc if isinstance(doc, str) else to_plain_data(doc)}
