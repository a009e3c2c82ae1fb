"""The survey of a table: one pass over all rows that decides the layout and collects every problem.

No decision depends on the first row alone, and no problem surfaces later, during a model run.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, listing
from assay.core.ids import rank
from assay.core.origin import Origin
from assay.dialects.shared.choices import (
    ANSWER_FORMS,
    AnswerFormCounts,
)
from assay.dialects.shared.duplicate_numbers import DuplicateNumbers
from assay.dialects.shared.template import get_field
from assay.dialects.table.columns import is_empty
from assay.dialects.table.inference import TableInference, infer_table_meta
from assay.dialects.table.layout import (
    Layout,
    hash_content,
    parse_content_id,
    read_printed_answer,
)
from assay.dialects.table.layout_choice import Table, choose_layout, has_only_texts, require_columns
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading
from assay.dialects.table.row_checks import build_answer_problem, check_answer, check_row

_MOST_LABELS = 1_000
"""Maximum number of labels to count. With more labels than this, the counts say little."""


class Survey(msgspec.Struct):
    """The result of a pass over the table."""

    layout: Layout
    n_rows: int = 0
    n_without_answer: int = 0
    label_counts: dict[str, int] = {}
    """How often each label of an mcq table is the right answer; incomplete for more than 1,000 labels."""
    group_counts: dict[str, int] = {}
    option_counts: dict[int, int] = {}
    """The number of rows, by their number of options."""
    twins: DuplicateNumbers = msgspec.field(default_factory=DuplicateNumbers)
    """The contents that several rows share, as numbers from `parse_content_id`."""
    has_several_right: bool = False
    """Whether any row has more than one right option."""
    filled: frozenset[str] = frozenset()
    """Columns that have a value in every row."""
    longest: tuple[int, int] = (0, 0)
    """Number of characters and row number of the longest record."""
    notes: list[str] = []
    """Messages about what was inferred or tolerated."""
    meta: TableMeta = TableMeta()
    """The given settings, completed by the inferred ones."""
    reasons: Mapping[str, str] = {}
    """The reason for each inferred part."""
    unused: tuple[str, ...] = ()
    """Columns that neither the prompt nor the answer uses."""


def survey_table(
    table: Table, meta: TableMeta, *, faithful: bool = False, seed: int = 0, is_scored: bool = True
) -> Survey:
    """Determine the layout of a table and check every row.

    A faithful run recognises only the original's column names and infers nothing else. A run that does not
    score needs no right answers.
    """
    notes: list[str] = []
    reasons: Mapping[str, str] = {}
    unused: tuple[str, ...] = ()
    if not faithful and meta.data_type != "text" and not has_only_texts(table, meta):
        meta, reasons, unused = _infer_meta(table, meta, is_scored=is_scored)
    layout = choose_layout(table, meta, notes, faithful=faithful, seed=seed)
    survey = Survey(layout, notes=notes, meta=meta, reasons=reasons, unused=unused)
    parts = _QuestionParts(layout, meta)
    forms = AnswerFormCounts(trusts_labels=meta.answer_is is None)
    problems = Problems()
    # Rows and ids are stored as 64-bit hashes: the table may be larger than memory.
    contents, ids = array("Q"), array("Q")
    labels: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    filled = frozenset(table.columns)
    for record in table.records():
        survey.n_rows += 1
        row = record.origin.row or survey.n_rows
        fields = record.fields
        options = layout.get_options(fields) if layout.data_type == "mcq" else None
        check_row(layout, record, options, problems)
        if None in fields.values() or not filled <= fields.keys():
            filled = frozenset(name for name in filled if fields.get(name) is not None)
        parts.add(fields)
        own = layout.get_own_id(fields)
        if own is not None:
            ids.append(rank(0, own))
        contents.append(parse_content_id(hash_content(fields)))
        answer = layout.get_answer(fields)
        survey.n_without_answer += answer is None and layout.data_type != "text"
        if (group := layout.get_group(fields)) is not None:
            groups[group] += 1
        if options is not None:
            sizes[len(options.texts)] += 1
        if answer is not None:
            n_right = check_answer(layout, record, answer, options, forms, problems)
            survey.has_several_right |= n_right > 1
            if options is not None and type(answer) is not dict and len(labels) <= _MOST_LABELS:
                labels[str(answer)] += layout.answer_form != "beside_wrong"
        length = sum(map(len, map(str, fields.values())))
        if length >= survey.longest[0]:
            survey.longest = length, row
    problems.raise_if_any()
    if layout.data_type == "mcq" and layout.answer_form in ANSWER_FORMS and forms.n:
        forms = forms if forms.is_whole else _count_all_readings(table, layout)
        layout = _choose_answer_form(table, layout, meta, forms, notes)
        survey.has_several_right = layout.answer_form in forms.several
    if is_scored and not faithful and layout.data_type != "text" and not meta.no_answers:
        _require_answers(table, layout, survey)
    survey.twins, survey.filled = DuplicateNumbers(contents), filled
    layout = msgspec.structs.replace(layout, joins_question=parts.are_irregular)
    survey.layout = _choose_ids(table, layout, meta, ids, notes)
    survey.label_counts, survey.group_counts, survey.option_counts = dict(labels), dict(groups), dict(sizes)
    return survey


def _infer_meta(table: Table, meta: TableMeta, *, is_scored: bool) -> TableInference:
    require_columns(table, meta)
    try:
        return infer_table_meta(table.path, table.columns, table.records(), meta, table.label_names)
    except AmbiguousTableError:
        if is_scored:
            raise
    without = msgspec.structs.replace(meta, no_answers=True)
    return infer_table_meta(table.path, table.columns, table.records(), without, table.label_names)


class _QuestionParts:
    """Checks whether every row has all parts of the question as text, so that a prompt can name each part."""

    def __init__(self, layout: Layout, meta: TableMeta) -> None:
        names = (*layout.context_columns, *layout.question_columns)
        has_default_prompt = not (meta.template or meta.human_prompt) and not meta.uses_one_text
        self._names = names if has_default_prompt and layout.data_type != "text" else ()
        self._has_several = len(names) > 1
        self.are_irregular = any(_BRACED_NAME.fullmatch(name) is None for name in self._names)

    def add(self, fields: Mapping[str, Any]) -> None:
        """Check one row."""
        if self.are_irregular:
            return
        for name in self._names:
            value = fields.get(name)
            if type(value) is not str or not value:
                value = get_field(fields, name, None)
                is_part_missing = self._has_several and is_empty(value)
                self.are_irregular |= is_part_missing or isinstance(value, (list, tuple))


_BRACED_NAME = re.compile(r"[^\W\d][\w .\-]*")
"""A column name that a prompt can use as `{name}`."""


def _require_answers(table: Table, layout: Layout, survey: Survey) -> None:
    """Raise if no row has a right answer and `no_answers` is not set."""
    if survey.n_rows and survey.n_without_answer == survey.n_rows:
        column = layout.answer_column
        what = "no column has right answers" if column is None else f"column {column!r} is empty in every row"
        without = TableMeta(no_answers=True)
        reading = TableReading(
            "the file has no right answers: save the replies without scoring them", without
        )
        raise AmbiguousTableError(table.path, what, [reading], column=column)


def _count_all_readings(table: Table, layout: Layout) -> AnswerFormCounts:
    """Read all rows again and count every way to read the answers. Needed if some are not labels."""
    forms = AnswerFormCounts()
    for record in table.records():
        if (answer := layout.get_answer(record.fields)) is not None:
            options = layout.get_options(record.fields)
            forms.add(read_printed_answer(answer, options), options)
    return forms


def _choose_answer_form(
    table: Table, layout: Layout, meta: TableMeta, forms: AnswerFormCounts, notes: list[str]
) -> Layout:
    form = meta.answer_is if meta.answer_is in ANSWER_FORMS else forms.best()
    if forms.fits[form] < forms.n:
        raise _collect_bad_answers(table, msgspec.structs.replace(layout, answer_form=form))
    rivals = () if meta.answer_is else forms.find_rivals(form)
    if rivals:
        words = {
            "label": "the option's label",
            "text": "the option's text",
            "index0": "the option's number, counted from 0",
            "index1": "the option's number, counted from 1",
        }
        raise AmbiguousTableError(
            table.path,
            f"the answers can be read as {listing((form, *rivals))}, with different results",
            [
                TableReading(f"the answer is {words[one]}", TableMeta(answer_is=one))
                for one in (form, *rivals)
            ],
            column=layout.answer_column,
            code="TABLE-010",
        )
    return msgspec.structs.replace(layout, answer_form=form)


def _collect_bad_answers(table: Table, layout: Layout) -> AuthorError:
    """Read all rows again and report every answer that matches no option."""
    problems = Problems()
    for record in table.records():
        options = layout.get_options(record.fields)
        if layout.get_gold(record.fields, options) is None:
            problems.add(build_answer_problem(layout, record, layout.get_answer(record.fields), options))
    return AuthorError(problems.first, total=problems.total)


def _choose_ids(table: Table, layout: Layout, meta: TableMeta, ids: array[int], notes: list[str]) -> Layout:
    repeated = DuplicateNumbers(ids)
    empty = rank(0, "")
    n_bad = len(repeated) + (empty in ids and empty not in repeated)
    if not n_bad:
        return layout
    if meta.id_column is not None:
        own = (layout.get_own_id(record.fields) or "" for record in table.records())
        first = next(name for name in own if not name or rank(0, name) in repeated)
        raise AuthorError(
            Problem(
                "TABLE-012",
                f"the id {first!r} is empty or repeated, as are {n_bad - 1:,} others",
                'make the ids unique, or name another column in "id_column"',
                Origin(table.path, column=meta.id_column),
            )
        )
    notes.append(f"column {layout.id_column!r} has repeated values, so sample ids are hashes of the content")
    return msgspec.structs.replace(layout, id_column=None)
