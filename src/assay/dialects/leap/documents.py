"""Select the documents to evaluate: the split, the documents and their order."""

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
    """Documents with their data, in the order of evaluation."""

    split: str
    """`test` or `validation`."""
    docs: list[Any]
    fields: list[dict[str, Any]]
    ids: list[str]
    rows: list[int]
    """Row numbers in the split, counted from 1."""
    n_there: int
    """Number of documents in the whole split."""


def select_documents(
    task: Task, author: TaskAuthor, limit: Limit | None, seed: int, shared: random.Random | None
) -> Documents:
    """Return the documents to evaluate; `shared`: the generator that shuffles them in faithful mode."""
    split, docs = _choose_split(task, author)
    rows = list(range(1, len(docs) + 1))
    if shared is not None:
        # Shuffle both together: a list of the same length gets the same permutation.
        pairs = list(zip(docs, rows, strict=True))
        shared.shuffle(pairs)
        docs, rows = [doc for doc, _ in pairs], [row for _, row in pairs]
    fields = [_fields(doc) for doc in docs]
    ids = name_rows([digest(row) for row in fields])
    selected = _apply_limit(ids, limit, seed, is_shuffled=shared is not None)
    return Documents(
        split,
        [docs[at] for at in selected],
        [fields[at] for at in selected],
        [ids[at] for at in selected],
        [rows[at] for at in selected],
        len(docs),
    )


def _apply_limit(ids: Sequence[str], limit: Limit | None, seed: int, *, is_shuffled: bool) -> Sequence[int]:
    """Return the documents within a limit; of shuffled ones, the first are a random sample already."""
    positions = range(len(ids))
    if limit is None:
        return positions
    if is_shuffled:
        return positions[-limit.n :] if limit.which == "last" else positions[: limit.n]
    chosen = limit.select_ids(ids, seed)
    return [at for at in positions if ids[at] in chosen]


def _choose_split(task: Task, author: TaskAuthor) -> tuple[str, list[Any]]:
    """Return the documents of the test split, or else of the validation split."""
    with author.convert_errors("has_test_docs"):
        has_test = bool(task.has_test_docs())
    with author.convert_errors("has_validation_docs"):
        has_validation = bool(task.has_validation_docs())
    if not has_test and not has_validation:
        what = "has_test_docs() and has_validation_docs() are both False, so there is nothing to evaluate"
        raise AuthorError(
            author.problem(CODE, what, "return True from one of them, and return its documents")
        )
    split = "test" if has_test else "validation"
    docs = load_docs(task, author, f"{split}_docs")
    if not docs:
        other = ", or return False from has_test_docs()" if has_test and has_validation else ""
        what = f"has_{split}_docs() is True, but {split}_docs() returns no documents"
        fix = f"define {split}_docs(self) to return them{other}"
        raise AuthorError(author.problem(CODE, what, fix))
    return split, docs


def _is_split_error(error: KeyError, path: Path) -> bool:
    """Return whether a KeyError comes from the splits of a dataset instead of a document or another dict."""
    frames = traceback.extract_tb(error.__traceback__)
    if Path(frames[-1].filename).name == "dataset_dict.py":
        return True
    own = [frame for frame in frames if frame.filename == str(path)]
    if not own or own[-1] is not frames[-1]:
        return False
    last = own[-1]
    line = linecache.getline(str(path), last.lineno or 0).encode()
    # Columns count bytes; for an expression over several lines, use the first.
    end = last.end_colno if last.end_lineno == last.lineno else None
    part = line[last.colno or 0 : end]
    return b"dataset" in part


def _columns(splits: Mapping[Any, Any]) -> list[str]:
    """Return the columns of the rows of all splits."""
    columns: dict[str, None] = {}
    for rows in splits.values():
        names = getattr(rows, "column_names", None)
        if names is None and isinstance(rows, Sequence) and rows and isinstance(rows[0], Mapping):
            names = list(rows[0])
        columns.update(dict.fromkeys(map(str, names or ())))
    return list(columns)


def load_docs(task: Task, author: TaskAuthor, method: str) -> list[Any]:
    """Return the documents of one of the author's methods; reports a missing split as such."""
    with author.convert_errors(method):
        try:
            docs = getattr(task, method)()
            return [] if docs is None else list(docs)
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
            what = f"{method}() reads the split {wanted!r}, which does not exist; "
            what += f"the splits are {_format_splits(splits)}"
            fix = "fix the split's name, or add its data"
            if absent is not None:
                what = f"{method}() reads the split {wanted!r}, whose file does not exist: {str(absent)!r}"
                fix = "add the file"
            also = "; or use --shots 0" if method == "training_docs" else ""
            raise DatasetMissing(author.problem(CODE, what, fix + also)) from error


def _format_splits(splits: Mapping[str, Any]) -> str:
    return ", ".join(repr(str(name)) for name in splits) or "none"


def _fields(doc: Any) -> dict[str, Any]:
    """Return a document as stored: its fields, or the whole document if it has none."""
    if isinstance(doc, Mapping):
        fields: dict[str, Any] = to_plain_data(doc)
        return fields
    return {"doc": doc if isinstance(doc, str) else to_plain_data(doc)}
