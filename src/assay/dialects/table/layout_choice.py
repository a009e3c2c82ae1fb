"""The layout of a table: which column is what, from settings and the documented column names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.core.setting_names import name_setting
from assay.dialects.shared.choices import (
    build_labels,
    find_option_columns,
    read_option_list,
)
from assay.dialects.shared.request_selection import MAX_TOKENS
from assay.dialects.shared.template import get_field
from assay.dialects.table.column_words import suggest_role
from assay.dialects.table.columns import SAMPLE_ROWS, Column
from assay.dialects.table.layout import (
    Layout,
    LayoutForm,
)
from assay.dialects.table.meta import TableMeta, build_unknown_column_problem
from assay.dialects.table.readings import PLACEHOLDER
from assay.dialects.table.row_checks import is_letter
from assay.sources.record import Record

QUESTION_NAMES = ("question", "query", "prompt", "problem", "input", "question_stem", "sentence")
TEXT_NAME = "text"
ANSWER_NAMES = ("answer", "response", "target", "label", "answerKey", "gold")
OPTION_LIST_NAMES = ("choices", "options", "endings")
_COLUMN_KEYS = (
    *("input_columns", "context_columns", "output_column", "distractors", "category_column"),
    *("cluster_column", "id_column"),
)


class Table(Protocol):
    """The part of a source that a survey uses."""

    path: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of all rows, combined."""

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the dataset's own names for integer labels, by column."""

    def records(self) -> Iterator[Record]:
        """Yield the rows. Can be called more than once."""


_LONGEST_CLASS = 40
"""Characters of the name of a class."""
_LONGEST_LABEL = 2
"""Characters of a column's name that can label its option in the prompt; `Option A` is shown as A."""


def choose_layout(table: Table, meta: TableMeta, notes: list[str], *, faithful: bool, seed: int) -> Layout:
    """Return the layout that settings and column names determine; raise if they contradict the table."""
    columns = table.columns
    require_columns(table, meta)
    _require_label_names(table, meta)
    problems = Problems()
    if meta.data_type == "text" or has_only_texts(table, meta):
        return _choose_text_layout(table, meta, notes, problems)
    answer = meta.output_column
    if answer is None and not meta.no_answers and faithful:
        answer = _find_known_column(ANSWER_NAMES, columns)
    options, labels = _choose_options(table, meta, columns, problems)
    has_options = bool(options or meta.distractors or meta.label_names)
    data_type = meta.data_type or ("mcq" if has_options else "qa")
    if data_type == "mcq" and not has_options:
        problems.add(
            Problem(
                "TABLE-001",
                f"an mcq table needs option columns A, B, ...; the columns are {listing(columns)}",
                'name the option columns with --options X,Y (or "options" in the meta file), or use '
                "--data-type qa",
                Origin(table.path),
            )
        )
    option_names = {options} if isinstance(options, str) else set(options)
    if meta.input_columns:
        # One field may contain the question and its options in the same text.
        is_own_list = isinstance(options, str) and options in meta.input_columns
        questions = tuple(name for name in meta.input_columns if is_own_list or name not in option_names)
    else:
        question = _find_known_column(QUESTION_NAMES, [name for name in columns if name != answer])
        questions = () if question is None else (question,)
    if not questions and not (meta.template or meta.human_prompt):
        problems.add(_build_missing_problem(table, "question", columns, "the default prompt uses it"))
    problems.raise_if_any()
    shown = questions or tuple(name for name in columns if name != answer and name not in option_names)
    return Layout(
        data_type,
        columns,
        shown,
        answer,
        options if data_type == "mcq" else (),
        labels if data_type == "mcq" else None,
        _choose_form(meta, data_type, options, answer),
        context_columns=meta.context_columns or (),
        distractors=meta.distractors or (),
        label_names=_number_label_names(meta),
        shuffle_seed=seed if meta.distractors or meta.shuffle_options else None,
        category_column=meta.category_column
        or ("category" if "category" in columns and answer != "category" else None),
        cluster_column=meta.cluster_column,
        id_column=meta.id_column or ("id" if "id" in columns else None),
        keeps_empty_options=faithful,
        length_column=MAX_TOKENS if meta.output_config or MAX_TOKENS in columns else None,
    )


def require_columns(table: Table, meta: TableMeta) -> None:
    """Raise if a setting names a column that the table does not have."""
    columns = table.columns
    problems = Problems()
    for key in _COLUMN_KEYS:
        named = getattr(meta, key)
        for name in (named,) if isinstance(named, str) else named or ():
            if name not in columns and name.split(".")[0] not in columns:
                problems.add(_build_unknown_problem(table, name, key))
    problems.raise_if_any()


def _choose_form(
    meta: TableMeta, data_type: str, options: tuple[str, ...] | str, answer: str | None
) -> LayoutForm:
    if meta.distractors:
        return "beside_wrong"
    if meta.label_names is not None:
        return "named"
    if data_type == "mcq" and options == answer:
        return "marked"
    if data_type == "qa" and meta.answer_is in ("boolean", "after_hashes", "boxed"):
        return meta.answer_is
    return "label"


def _number_label_names(meta: TableMeta) -> dict[str, str] | None:
    names = meta.label_names
    if names is None or isinstance(names, dict):
        return names
    return {str(index): name for index, name in enumerate(names)}


def _require_label_names(table: Table, meta: TableMeta) -> None:
    """Raise if a pasted command still has placeholders instead of label names."""
    names = _number_label_names(meta) or {}
    if left := [name for name in names.values() if PLACEHOLDER.fullmatch(name)]:
        what = f"the label names are still the placeholders {listing(left)}"
        fix = "replace them with what each label means, for example --label-names 0=negative,1=positive"
        raise AuthorError(Problem("TABLE-004", what, fix, Origin(table.path)))


def has_only_texts(table: Table, meta: TableMeta) -> bool:
    """Whether the column `text` is the only content of the table."""
    columns = table.columns
    stated = (meta.data_type, meta.input_columns, meta.output_column, meta.options, meta.template)
    more = (meta.distractors, meta.label_names, meta.context_columns, meta.human_prompt, meta.bot_prompt)
    if TEXT_NAME not in columns or any((*stated, *more)) or find_option_columns(columns):
        return False
    asides = ("id", "metadata", "group", "prediction", "explanation")
    hints = {name: suggest_role(name) for name in columns if name != TEXT_NAME}
    if any(hint is not None and hint.role not in asides for hint in hints.values()):
        return False
    unsure = {name: hint for name, hint in hints.items() if hint is None or hint.role == "group"}
    return not any(_may_be_answer(table, name, has_role=hint is not None) for name, hint in unsure.items())


def _may_be_answer(table: Table, name: str, *, has_role: bool) -> bool:
    """Whether a column may say what each text is: its values differ; those of a group must repeat."""
    cells = [record.fields.get(name) for record in islice(table.records(), SAMPLE_ROWS)]
    column = Column(name, cells)
    values = column.distinct
    if not has_role:
        return len(values) >= 2
    is_class = column.is_text and all(2 < len(value) <= _LONGEST_CLASS for value in values)
    return is_class and 2 <= len(values) < len(column.filled)


def _choose_text_layout(table: Table, meta: TableMeta, notes: list[str], problems: Problems) -> Layout:
    columns = table.columns
    if meta.data_type is None:
        notes.append(f"the rows are plain texts (column {TEXT_NAME!r}): measuring their perplexity")
    named = meta.input_columns or (TEXT_NAME,)
    if len(named) > 1:
        given = name_setting("input_columns")
        what = f"{given} names {listing(named)}, but a table of plain texts has a single text column"
        problems.add(Problem("TABLE-016", what, f"name one column with {given}", Origin(table.path)))
    elif meta.input_columns is None and TEXT_NAME not in columns:
        problems.add(_build_missing_problem(table, TEXT_NAME, columns, "a table of plain texts needs it"))
    problems.raise_if_any()
    is_joined = meta.windows not in (None, "classic")
    has_groups = "category" in columns and not is_joined
    return Layout(
        "text",
        columns,
        named,
        None,
        category_column=meta.category_column or ("category" if has_groups else None),
        cluster_column=meta.cluster_column,
        id_column=meta.id_column or ("id" if "id" in columns and not is_joined else None),
        keeps_empty_texts=is_joined,
    )


def _choose_options(
    table: Table, meta: TableMeta, columns: tuple[str, ...], problems: Problems
) -> tuple[tuple[str, ...] | str, tuple[str, ...] | str | None]:
    """Return the option columns (or the field that lists the options) and the option labels."""
    options: tuple[str, ...] | str = meta.options or ()
    if isinstance(options, tuple) and len(options) == 1 and _find_first_list(table, options[0]) is not None:
        options = options[0]
    for name in (options,) if isinstance(options, str) else options:
        if name not in columns and name.split(".")[0] not in columns:
            problems.add(_build_unknown_problem(table, name, "options"))
    if not options and meta.data_type != "qa" and not (meta.distractors or meta.label_names):
        options = find_option_columns(columns) or _find_lettered_inputs(table, meta)
        if not options:
            options = next(
                (name for name in OPTION_LIST_NAMES if name in columns and _find_first_list(table, name)), ()
            )
    labels = meta.option_labels
    if labels is None and isinstance(options, tuple):
        answer = meta.output_column or _find_known_column(ANSWER_NAMES, columns)
        is_short = all(len(name) <= _LONGEST_LABEL for name in options)
        if options and (
            all(is_letter(name) for name in options)
            or (is_short and _has_named_options(table, options, answer))
        ):
            labels = options
    if labels is None and isinstance(options, str):
        beside = _find_first_list(table, options)
        if isinstance(beside, Mapping) and "label" in beside:
            labels = f"{options}.label"
    return options, labels


def _find_first_list(table: Table, name: str) -> Any:
    """Return the first value of a field that is a list of options, or None if no row has one."""
    return next(
        (
            get_field(record.fields, name)
            for record in table.records()
            if read_option_list(record.fields, name) is not None
        ),
        None,
    )


def _find_lettered_inputs(table: Table, meta: TableMeta) -> tuple[str, ...]:
    """Return the input columns named by single letters, such as X Y Z W, if every answer is one of them."""
    letters = tuple(name for name in meta.input_columns or () if is_letter(name))
    if len(letters) < 2 or meta.output_column is None:
        return ()
    answers = (get_field(record.fields, meta.output_column, None) for record in table.records())
    return letters if all(answer in (None, "") or answer in letters for answer in answers) else ()


def _has_named_options(table: Table, names: tuple[str, ...], answer: str | None) -> bool:
    """Whether answers are names of option columns: at least one is, and no answer is a letter."""
    if answer is None or not names:
        return False
    letters = build_labels(len(names))
    is_named = False
    for record in table.records():
        value = get_field(record.fields, answer, None)
        for one in value if isinstance(value, list | tuple) else (value,):
            if str(one).strip() in letters:
                return False
            is_named = is_named or str(one).strip() in names
    return is_named


def _find_known_column(names: tuple[str, ...], columns: tuple[str, ...] | list[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _build_unknown_problem(table: Table, name: str, key: str) -> Problem:
    """Return the problem of a setting that names a column which the table does not have."""
    return build_unknown_column_problem(name, key, table.columns, table.path)


def _build_missing_problem(table: Table, name: str, columns: tuple[str, ...], why: str) -> Problem:
    return Problem(
        "TABLE-001",
        f"there is no column {name!r} ({why}){suggest_name(name, columns)}; "
        f"the columns are {listing(columns)}",
        "rename the column, or name the columns to use with --input-columns, --answer-column, --options or "
        "--human-prompt (or in the meta file)",
        Origin(table.path),
    )
