"""Which columns can name the right one of some options, and in which form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from assay.dialects.shared.choices import ANSWER_FORMS, AnswerForm, Options, read_answer
from assay.dialects.table.column_words import is_weak_answer, split_column_name
from assay.dialects.table.columns import Column, is_empty
from assay.dialects.table.layout import read_printed_answer

FitForm: TypeAlias = Literal["label", "text", "index0", "index1", "marked"]


class AnswerFit(NamedTuple):
    """A column that names an option in every row of the sample that it fills."""

    column: Column
    form: FitForm
    golds: tuple[tuple[int, ...] | None, ...]
    """The right options of each row."""
    note: str = ""
    is_sure: bool = True
    """Whether the form is settled; else numbers may count from 0 or from 1."""

    @property
    def rank(self) -> int:
        """How surely this is the answer: by name first, then by form."""
        hint = self.column.suggestion
        named = (
            0
            if hint is None or hint.role != "answer"
            else 10
            if is_weak_answer(self.column.name)
            else 10 * hint.strength
        )
        return named + {"label": 3, "marked": 3, "text": 2, "index0": 1, "index1": 1}[self.form]

    @property
    def why(self) -> str:
        """Why it was taken to be the answer."""
        hint = self.column.suggestion
        is_named = hint is not None and hint.role == "answer"
        return self.note or ("its name" if is_named else "its values name an option in every row")


def find_answer_fits(
    columns: Iterable[Column],
    rows: Sequence[Options | None],
    base: int | None,
    form: str | None,
    label_names: Mapping[str, tuple[str, ...]],
) -> list[AnswerFit]:
    """Return the columns that name an option in every row of the sample.

    `base` is the number of the first option's column; `form` the only form to try.
    """
    found = []
    for column in columns:
        forms = [one for one in ANSWER_FORMS if form in (None, one)]
        if column.name in label_names:
            # Integers with names count from 0, whatever the names are.
            forms = [one for one in forms if one == "index0"]
        readings = {one: golds for one in forms if (golds := _golds(column, rows, one)) is not None}
        if readings:
            found.append(_choose_best_fit(column, readings, base))
    return found


def _golds(
    column: Column, rows: Sequence[Options | None], form: AnswerForm
) -> tuple[tuple[int, ...] | None, ...] | None:
    golds: list[tuple[int, ...] | None] = []
    for cell, options in zip(column.cells, rows, strict=False):
        if is_empty(cell) or options is None:
            golds.append(None)
            continue
        value = read_printed_answer(cell, options)
        if isinstance(value, dict) or (gold := read_answer(value, options, form)) is None:
            return None
        golds.append(gold)
    return tuple(golds) if any(gold is not None for gold in golds) else None


def _choose_best_fit(
    column: Column, readings: Mapping[AnswerForm, tuple[tuple[int, ...] | None, ...]], base: int | None
) -> AnswerFit:
    if "label" in readings:
        return AnswerFit(column, "label", readings["label"])
    if "text" in readings:
        return AnswerFit(column, "text", readings["text"])
    # A 0 settles it, and so does the number of the last option.
    if len(readings) == 1:
        form = next(iter(readings))
        return AnswerFit(column, form, readings[form])
    if base is not None:
        form = "index1" if base else "index0"
        return AnswerFit(column, form, readings[form], f"the option columns count from {base}")
    counts_from_0 = not {"idx", "index", "ind"}.isdisjoint(split_column_name(column.name))
    if min(column.integers or (0,)) == 1 and not counts_from_0:
        why = "no answer is 0; if they count from 0: --answer-is index0"
        return AnswerFit(column, "index1", readings["index1"], why)
    return AnswerFit(column, "index0", readings["index0"], is_sure=False)
