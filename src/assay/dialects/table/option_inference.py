"""Inference of the options of a table, and of the column with the right one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from assay.core.errors import listing
from assay.dialects.shared.choices import ANSWER_FORMS, AnswerForm, Options, build_labels, read_answer
from assay.dialects.table.answer_inference import ask_for_answer
from assay.dialects.table.cells import read_options
from assay.dialects.table.column_words import (
    find_numbered_families,
    is_option_stem,
    is_weak_answer,
    split_column_name,
)
from assay.dialects.table.columns import Column, is_empty
from assay.dialects.table.evidence import Evidence, find_named_answers
from assay.dialects.table.layout import read_printed_answer
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading

FitForm: TypeAlias = Literal["label", "text", "index0", "index1", "marked"]


class AnswerFit(NamedTuple):
    """A column whose every filled cell names an option."""

    column: Column
    form: FitForm
    golds: tuple[tuple[int, ...] | None, ...]
    """The right options of each row."""
    note: str = ""
    is_sure: bool = True
    """Whether the form is certain; otherwise numbers may count from 0 or from 1."""

    @property
    def rank(self) -> int:
        """How likely this is the answer column: by name first, then by form."""
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
        """The reason for choosing this column."""
        hint = self.column.suggestion
        is_named = hint is not None and hint.role == "answer"
        return self.note or ("by its name" if is_named else "every row's value names an option")


def find_answer_fits(
    columns: Iterable[Column],
    rows: Sequence[Options | None],
    base: int | None,
    form: str | None,
    label_names: Mapping[str, tuple[str, ...]],
) -> list[AnswerFit]:
    """Return the columns that name an option in every row of the sample.

    `base`: the number of the first option column. `form`: the only form to try.
    """
    found = []
    for column in columns:
        forms = [one for one in ANSWER_FORMS if form in (None, one)]
        if column.name in label_names:
            # Integers with names always count from 0.
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
    # A 0, or the number of the last option, leaves only one reading.
    if len(readings) == 1:
        form = next(iter(readings))
        return AnswerFit(column, form, readings[form])
    if base is not None:
        form = "index1" if base else "index0"
        return AnswerFit(column, form, readings[form], f"the option columns count from {base}")
    counts_from_0 = not {"idx", "index", "ind"}.isdisjoint(split_column_name(column.name))
    if min(column.integers or (0,)) == 1 and not counts_from_0:
        why = "no answer is 0; if the answers count from 0, use --answer-is index0"
        return AnswerFit(column, "index1", readings["index1"], why)
    return AnswerFit(column, "index0", readings["index0"], is_sure=False)


_NAMED_RANK = 10
"""Rank from which on a column's name marks it as the answer."""


class _Choice(NamedTuple):
    """A candidate for the options of a table: the columns, and the options of each row."""

    options: tuple[str, ...] | str
    rows: list[Options | None]
    base: int | None
    """The number of the first option column."""
    is_named: bool
    """Whether the names suggest options."""
    why: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.options,) if isinstance(self.options, str) else self.options


def infer_distractors(table: Evidence) -> bool:
    """Infer columns of wrong options next to a column with the right answer."""
    given = table.given
    if given.options or given.data_type in ("qa", "text") or given.label_names:
        return False
    if given.distractors is None:
        wrong = [c for c in table.free() if table.role(c) == "distractor" and (c.is_scalar or c.is_text_list)]
        right = find_named_answers(table)
        if not wrong or (not right and given.output_column is None):
            return False
        table.meta["distractors"] = tuple(column.name for column in wrong)
        answer = given.output_column or right[0].name
        rivals = [c for c in right if c.name != answer and not is_weak_answer(c.name) and not c.is_boolean]
        if given.output_column is None and rivals and any(c.cells != right[0].cells for c in rivals):
            _ask_about_distractors(table, [right[0], *rivals])
        table.meta["output_column"] = answer
        table.taken.update((*table.meta["distractors"], answer, *(c.name for c in rivals)))
        table.reasons["options"] = "the right answer and the wrong ones, shuffled by the seed"
    elif given.output_column is None and (right := find_named_answers(table)):
        table.meta["output_column"] = right[0].name
        table.taken.add(right[0].name)
    table.option_rows = []
    return True


def _ask_about_distractors(table: Evidence, answers: list[Column]) -> None:
    readings = []
    for column in answers:
        wrong = table.meta["distractors"]
        if column.is_text:
            meta = TableMeta(output_column=column.name, distractors=wrong)
            readings.append(
                TableReading(f"options: {column.name} is right, {listing(wrong)} are wrong", meta)
            )
        meta = TableMeta(data_type="qa", output_column=column.name)
        readings.append(TableReading(f"a free-form answer: any value in {column.name}", meta))
    what = f"{listing(c.name for c in answers)} could each be the right answer"
    raise AmbiguousTableError(table.path, what, readings[:3])


def infer_choice(table: Evidence) -> None:
    """Infer the options and the column with the right one."""
    given = table.given
    if given.data_type in ("qa", "text") or given.label_names is not None:
        return
    found = [] if given.options else list(_choices(table))
    if given.options:
        found = [_build_given_choice(table, given.options)]
    best: tuple[_Choice, AnswerFit | None] | None = None
    for choice in found:
        fit = _find_answer(table, choice)
        if fit is not None or (best is None and choice.is_named):
            best = choice, fit
        if fit is not None:
            break
    if best is not None:
        _take_choice(table, *best)


def _build_given_choice(table: Evidence, options: tuple[str, ...] | str) -> _Choice:
    names = (options,) if isinstance(options, str) else options
    if len(names) == 1 and names[0] in table.columns and not table.columns[names[0]].is_scalar:
        options = names[0]
    return _Choice(options, _read_row_options(table, options), None, True, "")


def _choices(table: Evidence) -> Iterator[_Choice]:
    """Yield the candidates for options, the most certain first."""
    families = find_numbered_families(_list_option_columns(table))
    inputs = frozenset(table.given.input_columns or ())
    families.sort(key=lambda family: (family[0] != "", not is_option_stem(family[0]), -len(family[1])))
    unsure = []
    for stem, names, base in families:
        named = is_option_stem(stem)
        choice = _Choice(names, _read_row_options(table, names), base, named and stem != "answer", "")
        if named:
            yield choice
        elif len(names) >= 3 and inputs.isdisjoint(names):
            unsure.append(choice)
    letters = tuple(name for name in table.given.input_columns or () if _is_letter(name))
    if len(letters) >= 2 and set(letters) <= set(_list_option_columns(table)):
        yield _Choice(
            letters, _read_row_options(table, letters), None, False, "the answers name these columns"
        )
    marked = [column for column in table.free() if column.marks_right]
    # Of several lists with marks, prefer the one with a single right option: it is the stricter question.
    marked.sort(key=lambda column: max(map(len, _right_options(column))))
    for column in marked:
        yield _build_list_choice(table, column, named=True, why="its options are marked as right or wrong")
    for column in table.free():
        if table.role(column) == "option" and column.holds_options and not column.marks_right:
            yield _build_list_choice(table, column, named=True, why="by its name")
    for column in table.free():
        is_list = not column.is_scalar or column.is_printed
        is_unnamed = column.parent is None and table.role(column) is None
        if is_list and is_unnamed and column.holds_options and not column.marks_right:
            yield _build_list_choice(
                table, column, named=False, why="a list in each row; the answers name its items"
            )
    for column in table.free():
        # `answers` with a column of indexes into them are options; without, they are accepted answers.
        if (
            all(isinstance(cell, list) for cell in column.filled)
            and column.holds_options
            and table.role(column) == "answer"
            and column.parent is None
        ):
            yield _build_list_choice(
                table, column, named=False, why="a list in each row; the answers name its items"
            )
    yield from unsure
    yield from _find_named_columns(table)


def _list_option_columns(table: Evidence) -> tuple[str, ...]:
    """Return the columns that may contain an option: those without a role, and the given input columns.

    A template may show the options, so that a meta file lists them in `input_columns`.
    """
    free = {column.name for column in table.free()} | set(table.given.input_columns or ())
    return tuple(
        name
        for name, column in table.columns.items()
        if name in free and column.filled and column.is_scalar and column.parent is None
    )


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isascii() and name.isupper()


def _find_named_columns(table: Evidence) -> Iterator[_Choice]:
    """Yield the columns whose names are the answers."""
    names = _list_option_columns(table)
    given = table.given.output_column
    answers = (
        find_named_answers(table)
        if given is None
        else [table.columns[given]]
        if given in table.columns
        else []
    )
    for column in answers:
        named = [name for name in names if name in column.distinct and name != column.name]
        if len(named) >= 2 and len(named) == len(column.distinct):
            between = names[names.index(named[0]) : names.index(named[-1]) + 1]
            options = tuple(name for name in between if name != column.name)
            yield _Choice(
                options, _read_row_options(table, options), None, False, "the answers name these columns"
            )


def _build_list_choice(table: Evidence, column: Column, *, named: bool, why: str) -> _Choice:
    return _Choice(column.name, _read_row_options(table, column.name), None, named, why)


def _read_row_options(table: Evidence, options: tuple[str, ...] | str) -> list[Options | None]:
    if isinstance(options, str):
        column = table.columns.get(options)
        cells = [] if column is None else column.cells
        read = [None if is_empty(cell) else read_options(cell) for cell in cells]
        return [None if one is None else one.to_options() for one in read]
    columns = [table.columns[name] for name in options if name in table.columns]
    rows: list[Options | None] = []
    letters = tuple(options) if all(len(name) == 1 and not name.isdigit() for name in options) else None
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = ["" if cell is None else str(cell) for cell in cells]
        while texts and not texts[-1].strip():
            texts.pop()
        labels = letters[: len(texts)] if letters else build_labels(len(texts))
        rows.append(Options(labels, tuple(texts), tuple(options[: len(texts)])))
    return rows


def _find_answer(table: Evidence, choice: _Choice) -> AnswerFit | None:
    """Return the column that names the right option in every row of the sample."""
    if isinstance(choice.options, str) and table.columns[choice.options].marks_right:
        return AnswerFit(table.columns[choice.options], "marked", ())
    given = table.given.output_column
    candidates = [
        column
        for column in (
            table.free() if given is None else [table.columns[given]] if given in table.columns else []
        )
        if column.name not in choice.columns
        and column.name not in table.flags
        and (column.parent is None or column.parent.name not in choice.columns or column.name == given)
    ]
    fits = find_answer_fits(candidates, choice.rows, choice.base, table.given.answer_is, table.label_names)
    if given is None:
        fits = [fit for fit in fits if _can_be_answer(fit)]
    fits.sort(key=lambda fit: -fit.rank)
    if not fits:
        return None
    best = fits[0]
    named = [column for column in find_named_answers(table) if column.name not in choice.columns]
    if best.rank < _NAMED_RANK and any(not is_weak_answer(column.name) for column in named):
        # A column that is called the answer and has mistakes is still the answer: the survey lists them.
        return None
    others = [fit for fit in fits[1:] if fit.rank >= 20 and fit.golds != best.golds and best.rank < 30]
    others += [fit for fit in fits[1:] if fit.rank == best.rank and fit.golds != best.golds]
    if others:
        rivals = list({fit.column.name: fit for fit in (best, *others)}.values())
        what = f"{listing(fit.column.name for fit in rivals)} each name an option, but they disagree"
        readings = [
            TableReading(f"the answer is in {fit.column.name}", TableMeta(output_column=fit.column.name))
            for fit in rivals[:3]
        ]
        raise AmbiguousTableError(table.path, what, readings)
    agreeing = [fit.column.name for fit in fits[1:] if fit.golds == best.golds and fit.rank >= _NAMED_RANK]
    table.taken.update(agreeing)
    return best


def _take_choice(table: Evidence, choice: _Choice, fit: AnswerFit | None) -> None:
    table.option_rows = choice.rows
    table.taken.update(choice.columns)
    if table.given.options is None:
        table.meta["options"] = choice.options
        table.reasons["options"] = choice.why
    if fit is None:
        _infer_unfitting_answer(table, choice)
        return
    if table.given.output_column is None:
        table.meta["output_column"] = fit.column.name
    table.taken.add(fit.column.name)
    table.reasons["answer"] = fit.why
    if fit.form in ("index0", "index1") and fit.is_sure and table.given.answer_is is None:
        table.meta["answer_is"] = fit.form
    if fit.form == "marked" and table.given.shuffle_options is None:
        # If the first option is always right, its position would reveal it.
        right = _right_options(fit.column)
        table.meta["shuffle_options"] = all(one == tuple(range(len(one))) for one in right)


def _infer_unfitting_answer(table: Evidence, choice: _Choice) -> None:
    """Choose an answer column by name although some answers name no option: the survey reports these."""
    if table.given.output_column is None and (named := find_named_answers(table)):
        table.meta["output_column"] = named[0].name
        table.taken.add(named[0].name)
        table.reasons["answer"] = "by its name"
    elif table.given.output_column is None and not table.given.no_answers:
        ask_for_answer(table, TableMeta(options=choice.options))


def _can_be_answer(fit: AnswerFit) -> bool:
    """Whether a column that names options in every row may be the answer, and not an id or a row number."""
    hint = fit.column.suggestion
    if hint is not None and hint.role == "answer":
        return True
    if hint is not None and hint.role in (
        "id",
        "metadata",
        "group",
        "explanation",
        "prediction",
        "distractor",
    ):
        return False
    if fit.form in ("index0", "index1"):
        return not fit.column.is_counter
    return fit.form != "text" or len(set(fit.golds)) > 1 or len(fit.golds) == 1


def _right_options(column: Column) -> list[tuple[int, ...]]:
    """Return the indexes of the options that each filled cell marks as right."""
    read = (read_options(cell) for cell in column.filled)
    return [one.right for one in read if one is not None and one.right is not None]
