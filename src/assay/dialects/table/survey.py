"""Reading the whole table once: what its columns mean, what is wrong with it, what a person should know.

Nothing is decided by the first row, and nothing is found out later by a model run: every problem of
the file is gathered here.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, listing, nearest
from assay.core.ids import rank
from assay.core.origin import Origin
from assay.dialects.parts.choices import (
    AnswerForms,
    Options,
    labels_for,
    listed,
    option_columns,
    read_answer,
)
from assay.dialects.parts.repeated import Repeated
from assay.dialects.parts.requested import MAX_TOKENS
from assay.dialects.parts.template import field
from assay.dialects.table.layout import Layout, content_id, content_number
from assay.dialects.table.meta import TableMeta
from assay.sources.record import Record

QUESTION_NAMES = ("question", "query", "prompt", "problem", "input", "question_stem", "sentence")
TEXT_NAME = "text"
ANSWER_NAMES = ("answer", "response", "target", "label", "answerKey", "gold")
OPTION_LIST_NAMES = ("choices", "options", "endings")
_MOST_LABELS = 1_000
"""Labels that are counted; of so many, each is right about as often as another."""


class Table(Protocol):
    """What a survey needs of a source."""

    path: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of all rows together."""

    def records(self) -> Iterator[Record]:
        """Yield the rows; can be called again."""


class Survey(msgspec.Struct):
    """What a pass over the table found."""

    layout: Layout
    n_rows: int = 0
    n_without_answer: int = 0
    label_counts: dict[str, int] = {}
    """How often each label (of mcq) is the right answer; of more than a thousand, some of them."""
    group_counts: dict[str, int] = {}
    option_counts: dict[int, int] = {}
    """How many rows have how many options."""
    twins: Repeated = msgspec.field(default_factory=Repeated)
    """The contents that several rows share, by `content_number`."""
    longest: tuple[int, int] = (0, 0)
    """Characters and row number of the longest record."""
    notes: list[str] = []
    """What was inferred or let pass, in words."""


def survey(table: Table, said: TableMeta, *, faithful: bool = False) -> Survey:
    """Settle the layout of a table and check every row of it."""
    notes: list[str] = []
    layout = _settle(table, said, notes, faithful=faithful)
    found = Survey(layout, notes=notes)
    forms = AnswerForms(trusts_labels=said.answer_is is None)
    problems = Problems()
    # Rows and ids are remembered by small numbers: the table may be larger than memory.
    contents, ids = array("Q"), array("Q")
    labels: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    for record in table.records():
        found.n_rows += 1
        row = record.origin.row or found.n_rows
        fields = record.fields
        options = layout.options_of(fields) if layout.data_type == "mcq" else None
        _check_row(layout, record, options, problems)
        own = layout.own_id(fields)
        if own is not None:
            ids.append(rank(0, own))
        contents.append(content_number(content_id(fields)))
        answer = layout.answer_of(fields)
        found.n_without_answer += answer is None and layout.data_type != "text"
        if (group := layout.group_of(fields)) is not None:
            groups[group] += 1
        if options is not None:
            sizes[len(options.texts)] += 1
            if answer is not None:
                forms.add(answer, options)
                if len(labels) <= _MOST_LABELS:
                    labels[str(answer)] += 1
        length = sum(map(len, map(str, fields.values())))
        if length >= found.longest[0]:
            found.longest = length, row
    problems.raise_if_any()
    if layout.data_type == "mcq" and forms.n:
        forms = forms if forms.is_whole else _all_readings(table, layout)
        layout = _settle_answer_form(table, layout, said, forms, notes)
    found.twins = Repeated(contents)
    found.layout = _settle_ids(table, layout, said, ids, notes)
    found.label_counts, found.group_counts, found.option_counts = dict(labels), dict(groups), dict(sizes)
    return found


def _settle(table: Table, said: TableMeta, notes: list[str], *, faithful: bool) -> Layout:
    columns = table.columns
    problems = Problems()
    for key in ("input_columns", "output_column", "category_column", "cluster_column", "id_column"):
        named = getattr(said, key)
        for name in (named,) if isinstance(named, str) else named or ():
            if name not in columns and name.split(".")[0] not in columns:
                problems.add(_missing(table, name, columns, f"{key!r} names it"))
    if said.data_type == "text" or _holds_texts(table, said):
        return _settle_texts(table, said, notes, problems)
    answer = said.output_column or _known(ANSWER_NAMES, columns)
    if answer is not None and answer != "answer" and said.output_column is None:
        notes.append(f"the answer is read from column {answer!r}")
    options, labels = _settle_options(table, said, columns, problems)
    data_type = said.data_type or ("mcq" if options else "qa")
    if data_type == "mcq" and not options:
        problems.add(
            Problem(
                "TABLE-001",
                f"no options: an mcq table needs columns A, B, ... but there are {listing(columns)}",
                'name them in the meta file, "options": ["X", "Y"] or "options": "choices"; or use qa',
                Origin(table.path),
            )
        )
    option_names = {options} if isinstance(options, str) else set(options)
    if said.input_columns:
        questions = tuple(name for name in said.input_columns if name not in option_names)
    else:
        question = _known(QUESTION_NAMES, [name for name in columns if name != answer])
        questions = () if question is None else (question,)
        if question not in (None, "question"):
            notes.append(f"the question is read from column {question!r}")
    if not questions and not (said.template or said.human_prompt):
        problems.add(_missing(table, "question", columns, "the default prompt shows it"))
    problems.raise_if_any()
    shown = questions or tuple(name for name in columns if name != answer and name not in option_names)
    return Layout(
        data_type,
        columns,
        shown,
        answer,
        options if data_type == "mcq" else (),
        labels if data_type == "mcq" else None,
        category_column=said.category_column or ("category" if "category" in columns else None),
        cluster_column=said.cluster_column,
        id_column=said.id_column or ("id" if "id" in columns else None),
        keeps_empty_options=faithful,
        length_column=MAX_TOKENS if said.output_config or MAX_TOKENS in columns else None,
    )


def _holds_texts(table: Table, said: TableMeta) -> bool:
    """Whether nothing but a column `text` can be what the table is about."""
    columns = table.columns
    asked = (said.data_type, said.input_columns, said.output_column, said.options, said.template)
    if TEXT_NAME not in columns or any((*asked, said.human_prompt, said.bot_prompt)):
        return False
    lists = any(name in columns and _lists(table, name) for name in OPTION_LIST_NAMES)
    known = _known((*QUESTION_NAMES, *ANSWER_NAMES), columns)
    return known is None and not option_columns(columns) and not lists


def _settle_texts(table: Table, said: TableMeta, notes: list[str], problems: Problems) -> Layout:
    columns = table.columns
    if said.data_type is None:
        notes.append(f"the rows are plain texts (column {TEXT_NAME!r}): their perplexity is measured")
    named = said.input_columns or (TEXT_NAME,)
    if len(named) > 1:
        what = f"'input_columns' names {listing(named)}, but a table of plain texts has one column of them"
        problems.add(Problem("TABLE-016", what, "name the one column", Origin(table.path)))
    elif said.input_columns is None and TEXT_NAME not in columns:
        problems.add(_missing(table, TEXT_NAME, columns, "a table of plain texts needs it"))
    problems.raise_if_any()
    is_joined = said.windows not in (None, "classic")
    has_groups = "category" in columns and not is_joined
    return Layout(
        "text",
        columns,
        named,
        None,
        category_column=said.category_column or ("category" if has_groups else None),
        cluster_column=said.cluster_column,
        id_column=said.id_column or ("id" if "id" in columns and not is_joined else None),
        keeps_empty_texts=is_joined,
    )


def _settle_options(
    table: Table, said: TableMeta, columns: tuple[str, ...], problems: Problems
) -> tuple[tuple[str, ...] | str, tuple[str, ...] | str | None]:
    """Return where the options are and what they are called."""
    options: tuple[str, ...] | str = said.options or ()
    if isinstance(options, tuple) and len(options) == 1 and _lists(table, options[0]) is not None:
        options = options[0]
    for name in (options,) if isinstance(options, str) else options:
        if name not in columns and name.split(".")[0] not in columns:
            problems.add(_missing(table, name, columns, "'options' names it"))
    if not options and said.data_type != "qa":
        options = option_columns(columns) or _lettered_inputs(table, said)
        if not options:
            options = next(
                (name for name in OPTION_LIST_NAMES if name in columns and _lists(table, name)), ()
            )
    labels = said.option_labels
    if labels is None and isinstance(options, tuple):
        answer = said.output_column or _known(ANSWER_NAMES, columns)
        if all(_is_letter(name) for name in options) or _are_answers(table, options, answer):
            labels = options
    if labels is None and isinstance(options, str):
        beside = _lists(table, options)
        if isinstance(beside, Mapping) and "label" in beside:
            labels = f"{options}.label"
    return options, labels


def _lists(table: Table, name: str) -> Any:
    """Return the first value of a field that is a list of options; None when no row has one."""
    return next(
        (field(record.fields, name) for record in table.records() if listed(record.fields, name) is not None),
        None,
    )


def _lettered_inputs(table: Table, said: TableMeta) -> tuple[str, ...]:
    """Return input columns named by single letters, such as X Y Z W, when every answer is one of them."""
    letters = tuple(name for name in said.input_columns or () if _is_letter(name))
    if len(letters) < 2 or said.output_column is None:
        return ()
    answers = (field(record.fields, said.output_column, None) for record in table.records())
    return letters if all(answer in (None, "") or answer in letters for answer in answers) else ()


def _are_answers(table: Table, names: tuple[str, ...], answer: str | None) -> bool:
    """Whether answers name option columns: some do, and none is a letter."""
    if answer is None or not names:
        return False
    letters = labels_for(len(names))
    is_named = False
    for record in table.records():
        value = field(record.fields, answer, None)
        for one in value if isinstance(value, list | tuple) else (value,):
            if str(one).strip() in letters:
                return False
            is_named = is_named or str(one).strip() in names
    return is_named


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isascii() and name.isupper()


def _known(names: tuple[str, ...], columns: tuple[str, ...] | list[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _missing(table: Table, name: str, columns: tuple[str, ...], why: str) -> Problem:
    return Problem(
        "TABLE-001",
        f"there is no column {name!r} ({why}){nearest(name, columns)}; the columns are {listing(columns)}",
        "rename the column, or say in the meta file which columns to use (human_prompt, input_columns, "
        "output_column, options)",
        Origin(table.path),
    )


def _check_row(layout: Layout, record: Record, options: Options | None, problems: Problems) -> None:
    if layout.data_type == "text":
        _check_text(layout, record, problems)
        return
    values = record.fields.values()
    # Most rows are seen to be filled at once.
    if not any(values) and not any(value not in (None, "", []) for value in values):
        problems.add(
            Problem("TABLE-008", "every field of the row is empty", "fill it in or delete it", record.origin)
        )
        return
    try:
        layout.length_of(record.fields)
    except ValueError as error:
        fix = "write how many tokens the answer may have, or leave it empty"
        problems.add(Problem("TABLE-017", str(error), fix, record.origin.at(MAX_TOKENS)))
    if options is None:
        return
    if len(options.texts) < 2:
        problems.add(
            Problem(
                "TABLE-009",
                f"the row has {len(options.texts)} options, expected at least 2",
                'fill the option columns, or set "data_type": "qa" in the meta file',
                record.origin,
            )
        )
    elif not layout.keeps_empty_options and not all(map(str.strip, options.texts)):
        empty = options.labels[[bool(text.strip()) for text in options.texts].index(False)]
        problems.add(
            Problem(
                "TABLE-009",
                f"option {empty} is empty but a later one is not",
                "fill it in, or move the later options up",
                record.origin,
            )
        )
    elif len(options.labels) != len(options.texts) or len(set(options.labels)) != len(options.labels):
        problems.add(
            Problem(
                "TABLE-009",
                f"{len(options.texts)} options have the labels {listing(options.labels)}",
                "give each option one label of its own in option_labels",
                record.origin,
            )
        )


def _check_text(layout: Layout, record: Record, problems: Problems) -> None:
    (column,) = layout.question_columns
    value = field(record.fields, column, None)
    if not isinstance(value, str):
        what, fix = f"found {value!r:.60}, expected a text", "write a text, or delete the row"
    elif not value.strip() and not layout.keeps_empty_texts:
        what, fix = "the text is empty", "delete the row; --windows hf-stride and gptq join texts and take it"
    else:
        return
    problems.add(Problem("TABLE-008", what, fix, record.origin.at(column)))


def _all_readings(table: Table, layout: Layout) -> AnswerForms:
    """Walk the rows again for every way to read their answers: not all of them are labels."""
    forms = AnswerForms()
    for record in table.records():
        if (answer := layout.answer_of(record.fields)) is not None:
            forms.add(answer, layout.options_of(record.fields))
    return forms


def _settle_answer_form(
    table: Table, layout: Layout, said: TableMeta, forms: AnswerForms, notes: list[str]
) -> Layout:
    form = said.answer_is or forms.best()
    if forms.fits[form] < forms.n:
        raise _bad_answers(table, msgspec.structs.replace(layout, answer_form=form))
    rivals = () if said.answer_is else forms.rivals(form)
    if rivals:
        readings = listing((form, *rivals))
        raise AuthorError(
            Problem(
                "TABLE-010",
                f"the answers can be read as {readings}, with different results",
                f'say which: "answer_is": "{form}" in the meta file, or --answer-is {form}',
                Origin(table.path, column=layout.answer_column),
            )
        )
    if form != "label" and not said.answer_is:
        words = {"text": "the option's text", "index0": "an index from 0", "index1": "an index from 1"}
        notes.append(f"the answer is {words[form]}")
    return msgspec.structs.replace(layout, answer_form=form)


def _bad_answers(table: Table, layout: Layout) -> AuthorError:
    """Walk the rows again for every answer that names no option."""
    problems = Problems()
    for record in table.records():
        answer = layout.answer_of(record.fields)
        options = layout.options_of(record.fields)
        if answer is None or read_answer(answer, options, layout.answer_form) is not None:
            continue
        expected = {
            "label": f"one of {' '.join(options.labels)}",
            "text": f"the text of one option: {listing(options.texts)}",
            "index0": f"a number from 0 to {len(options.texts) - 1}",
            "index1": f"a number from 1 to {len(options.texts)}",
        }[layout.answer_form]
        problems.add(
            Problem(
                "TABLE-011",
                f"found {answer!r}, expected {expected}",
                "correct the answer or the options" + _other_labels(layout),
                record.origin.at(layout.answer_column or "answer"),
            )
        )
    return AuthorError(problems.kept, total=problems.total)


def _other_labels(layout: Layout) -> str:
    """Return the fix for options that the answers call otherwise."""
    labels = layout.option_labels
    if labels is not None and (labels != layout.options or all(map(_is_letter, labels))):
        return ""
    return '; if the answers use other names for the options, list them: "option_labels": ["...", "..."]'


def _settle_ids(table: Table, layout: Layout, said: TableMeta, ids: array[int], notes: list[str]) -> Layout:
    repeated = Repeated(ids)
    empty = rank(0, "")
    n_bad = len(repeated) + (empty in ids and empty not in repeated)
    if not n_bad:
        return layout
    if said.id_column is not None:
        own = (layout.own_id(record.fields) or "" for record in table.records())
        first = next(name for name in own if not name or rank(0, name) in repeated)
        raise AuthorError(
            Problem(
                "TABLE-012",
                f"the id {first!r} is empty or repeated, and {n_bad - 1:,} others too",
                "make them unique, or name another id_column",
                Origin(table.path, column=said.id_column),
            )
        )
    notes.append(f"column {layout.id_column!r} repeats values, so samples are named by their content")
    return msgspec.structs.replace(layout, id_column=None)
