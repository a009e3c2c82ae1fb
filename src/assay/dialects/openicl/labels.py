"""The labels that are compared in each row of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from assay.core.errors import AuthorError, Problem, Problems
from assay.core.origin import Origin
from assay.dialects.openicl.dataset_rows import COLUMN_CODE, LoadedData
from assay.dialects.openicl.entry_validation import TEMPLATE_CODE, EntryParts
from assay.dialects.shared.lazy_rows import LazyRows

_CHOICES, _CONTINUATION = "choices", "cont"


def find_labels(parts: EntryParts, output_column: str | None, where: Origin) -> Sequence[tuple[Any, ...]]:
    """Return for each row the labels that are compared; none where a text is written."""
    inference, test = parts.inference, parts.data.test
    if inference.form == "choices":
        return _choices(parts)
    if inference.form not in ("options", "continuation"):
        return [()] * len(test)
    if inference.form == "continuation":
        _check_continuations(parts)
    labels = inference.labels or parts.templates.labels or _answers(parts.data, output_column)
    if not labels:
        what = f"{inference.name} compares labels, and neither the template nor a column names any"
        fix = "write the template as a dict from each label to its text"
        raise AuthorError(Problem(TEMPLATE_CODE, what, fix, where))
    names = Counter(map(str, labels))
    if len(names) < len(labels):
        what = f"two labels are called {names.most_common(1)[0][0]!r}"
        raise AuthorError(Problem(TEMPLATE_CODE, what, "give each label a name of its own", where))
    return [labels] * len(test)


def _check_continuations(parts: EntryParts) -> None:
    """Raise for all rows that have no text to be scored behind the labels."""
    problems = Problems()
    for row, origin in zip(parts.data.test.rows, parts.data.test.origins, strict=True):
        value = row.get(_CONTINUATION)
        if not isinstance(value, str) or not value:
            what = f"{parts.inference.name} scores the column {_CONTINUATION!r}, which has {value!r:.60}"
            problems.add(Problem(COLUMN_CODE, what, "let load return a text there", origin))
    problems.raise_if_any()


def _choices(parts: EntryParts) -> Sequence[tuple[Any, ...]]:
    """Return the options that stand in a column; a row without has those of the first, as the original."""
    test = parts.data.test
    first = test.rows[0].get(_CHOICES)
    if not isinstance(first, list | tuple) or not first:
        what = f"{parts.inference.name} compares the column {_CHOICES!r}, which has {first!r:.60}"
        fix = f"let load return the options of each row in {_CHOICES!r}"
        raise AuthorError(Problem(COLUMN_CODE, what, fix, test.origins[0]))
    return LazyRows(test.rows, lambda row: tuple(row.get(_CHOICES) or first))


def _answers(data: LoadedData, column: str | None) -> tuple[Any, ...]:
    """Return the right answers of all rows, each once, in a steady order."""
    if not column:
        return ()
    found = (row.get(column) for row in chain(data.test.rows, data.train.rows))
    return tuple(sorted(dict.fromkeys(one for one in found if one is not None), key=str))
