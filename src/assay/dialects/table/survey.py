"""The survey of a table: one pass over all rows that settles the layout and collects every problem.

No decision depends on the first row alone, and no problem surfaces later, during a model run.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, format_count, listing, suggest_name
from assay.core.ids import rank
from assay.core.origin import Origin
from assay.core.setting_names import name_setting
from assay.dialects.shared.choices import (
    ANSWER_FORMS,
    AnswerFormCounts,
    Options,
    build_labels,
    find_option_columns,
    read_option_list,
)
from assay.dialects.shared.duplicate_numbers import DuplicateNumbers
from assay.dialects.shared.request_selection import MAX_TOKENS
from assay.dialects.shared.template import get_field
from assay.dialects.table.column_words import suggest_role
from assay.dialects.table.columns import SAMPLE_ROWS, Column, is_empty
from assay.dialects.table.inference import TableInference, infer_table_meta
from assay.dialects.table.layout import (
    Layout,
    LayoutForm,
    hash_content,
    parse_content_id,
    read_printed_answer,
)
from assay.dialects.table.meta import TableMeta, build_unknown_column_problem
from assay.dialects.table.readings import PLACEHOLDER, AmbiguousTableError, Reading
from assay.sources.record import Record

QUESTION_NAMES = ("question", "query", "prompt", "problem", "input", "question_stem", "sentence")
TEXT_NAME = "text"
ANSWER_NAMES = ("answer", "response", "target", "label", "answerKey", "gold")
OPTION_LIST_NAMES = ("choices", "options", "endings")
_COLUMN_KEYS = (
    *("input_columns", "context_columns", "output_column", "distractors", "category_column"),
    *("cluster_column", "id_column"),
)
_MOST_LABELS = 1_000
"""Maximum number of labels to count. With more labels than this, the counts say little."""


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
    if not faithful and meta.data_type != "text" and not _has_only_texts(table, meta):
        meta, reasons, unused = _infer_meta(table, meta, is_scored=is_scored)
    layout = _settle_layout(table, meta, notes, faithful=faithful, seed=seed)
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
        _check_row(layout, record, options, problems)
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
            n_right = _check_answer(layout, record, answer, options, forms, problems)
            survey.has_several_right |= n_right > 1
            if options is not None and type(answer) is not dict and len(labels) <= _MOST_LABELS:
                labels[str(answer)] += layout.answer_form != "beside_wrong"
        length = sum(map(len, map(str, fields.values())))
        if length >= survey.longest[0]:
            survey.longest = length, row
    problems.raise_if_any()
    if layout.data_type == "mcq" and layout.answer_form in ANSWER_FORMS and forms.n:
        forms = forms if forms.is_whole else _count_all_readings(table, layout)
        layout = _settle_answer_form(table, layout, meta, forms, notes)
        survey.has_several_right = layout.answer_form in forms.several
    if is_scored and not faithful and layout.data_type != "text" and not meta.no_answers:
        _require_answers(table, layout, survey)
    survey.twins, survey.filled = DuplicateNumbers(contents), filled
    layout = msgspec.structs.replace(layout, joins_question=parts.are_irregular)
    survey.layout = _settle_ids(table, layout, meta, ids, notes)
    survey.label_counts, survey.group_counts, survey.option_counts = dict(labels), dict(groups), dict(sizes)
    return survey


def _infer_meta(table: Table, meta: TableMeta, *, is_scored: bool) -> TableInference:
    _require_columns(table, meta)
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


def _require_columns(table: Table, meta: TableMeta) -> None:
    """Raise if a setting names a column that the table does not have."""
    columns = table.columns
    problems = Problems()
    for key in _COLUMN_KEYS:
        named = getattr(meta, key)
        for name in (named,) if isinstance(named, str) else named or ():
            if name not in columns and name.split(".")[0] not in columns:
                problems.add(_build_unknown_problem(table, name, key))
    problems.raise_if_any()


def _require_answers(table: Table, layout: Layout, survey: Survey) -> None:
    """Raise if no row has a right answer and `no_answers` is not set."""
    if survey.n_rows and survey.n_without_answer == survey.n_rows:
        column = layout.answer_column
        what = "no column has right answers" if column is None else f"column {column!r} is empty in every row"
        without = TableMeta(no_answers=True)
        reading = Reading("the file has no right answers: save the replies without scoring them", without)
        raise AmbiguousTableError(table.path, what, [reading], column=column)


def _settle_layout(table: Table, meta: TableMeta, notes: list[str], *, faithful: bool, seed: int) -> Layout:
    columns = table.columns
    _require_columns(table, meta)
    _require_label_names(table, meta)
    problems = Problems()
    if meta.data_type == "text" or _has_only_texts(table, meta):
        return _settle_texts(table, meta, notes, problems)
    answer = meta.output_column
    if answer is None and not meta.no_answers and faithful:
        answer = _find_known_column(ANSWER_NAMES, columns)
    options, labels = _settle_options(table, meta, columns, problems)
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
        _settle_form(meta, data_type, options, answer),
        context_columns=meta.context_columns or (),
        distractors=meta.distractors or (),
        label_names=_label_names(meta),
        shuffle_seed=seed if meta.distractors or meta.shuffle_options else None,
        category_column=meta.category_column
        or ("category" if "category" in columns and answer != "category" else None),
        cluster_column=meta.cluster_column,
        id_column=meta.id_column or ("id" if "id" in columns else None),
        keeps_empty_options=faithful,
        length_column=MAX_TOKENS if meta.output_config or MAX_TOKENS in columns else None,
    )


def _settle_form(
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


def _label_names(meta: TableMeta) -> dict[str, str] | None:
    names = meta.label_names
    if names is None or isinstance(names, dict):
        return names
    return {str(index): name for index, name in enumerate(names)}


def _require_label_names(table: Table, meta: TableMeta) -> None:
    """Raise if a pasted command still has placeholders instead of label names."""
    names = _label_names(meta) or {}
    if left := [name for name in names.values() if PLACEHOLDER.fullmatch(name)]:
        what = f"the label names are still the placeholders {listing(left)}"
        fix = "replace them with what each label means, for example --label-names 0=negative,1=positive"
        raise AuthorError(Problem("TABLE-004", what, fix, Origin(table.path)))


def _has_only_texts(table: Table, meta: TableMeta) -> bool:
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


def _settle_texts(table: Table, meta: TableMeta, notes: list[str], problems: Problems) -> Layout:
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


def _settle_options(
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
            all(_is_letter(name) for name in options)
            or (is_short and _has_named_options(table, options, answer))
        ):
            labels = options
    if labels is None and isinstance(options, str):
        beside = _find_first_list(table, options)
        if isinstance(beside, Mapping) and "label" in beside:
            labels = f"{options}.label"
    return options, labels


_LONGEST_CLASS = 40
"""Characters of the name of a class."""
_LONGEST_LABEL = 2
"""Characters of a column's name that can label its option in the prompt; `Option A` is shown as A."""


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
    letters = tuple(name for name in meta.input_columns or () if _is_letter(name))
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


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isascii() and name.isupper()


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


def _check_row(layout: Layout, record: Record, options: Options | None, problems: Problems) -> None:
    if layout.data_type == "text":
        _check_text(layout, record, problems)
        return
    values = record.fields.values()
    # Fast path: most rows have a filled cell.
    if not any(values) and not any(value not in (None, "", []) for value in values):
        problems.add(
            Problem("TABLE-008", "every field of the row is empty", "fill it in, or delete it", record.origin)
        )
        return
    try:
        layout.get_length(record.fields)
    except ValueError as error:
        fix = "write the maximum number of tokens of the answer, or leave the cell empty"
        problems.add(Problem("TABLE-017", str(error), fix, record.origin.at(MAX_TOKENS)))
    if options is None:
        return
    if len(options.texts) < 2:
        problems.add(
            Problem(
                "TABLE-009",
                f"the row has {format_count(len(options.texts), 'option')}, expected at least 2",
                'fill in the option columns, or use --data-type qa ("data_type": "qa" in the meta file)',
                record.origin,
            )
        )
    elif not layout.keeps_empty_options and not all(map(str.strip, options.texts)):
        empty = options.labels[[bool(text.strip()) for text in options.texts].index(False)]
        problems.add(
            Problem(
                "TABLE-009",
                f"option {empty} is empty, but a later option is not",
                "fill it in, or move the later options forward",
                record.origin,
            )
        )
    elif len(options.labels) != len(options.texts) or len(set(options.labels)) != len(options.labels):
        problems.add(
            Problem(
                "TABLE-009",
                f"the row has {len(options.texts)} options, but the labels {listing(options.labels)}",
                'give each option its own label in "option_labels"',
                record.origin,
            )
        )


def _check_text(layout: Layout, record: Record, problems: Problems) -> None:
    (column,) = layout.question_columns
    value = get_field(record.fields, column, None)
    if not isinstance(value, str):
        what, fix = f"found {value!r:.60}, expected a text", "write a text, or delete the row"
    elif not value.strip() and not layout.keeps_empty_texts:
        what = "the text is empty"
        fix = "delete the row, or use --windows hf-stride or gptq, which join all texts"
    else:
        return
    problems.add(Problem("TABLE-008", what, fix, record.origin.at(column)))


def _check_answer(
    layout: Layout,
    record: Record,
    answer: Any,
    options: Options | None,
    forms: AnswerFormCounts,
    problems: Problems,
) -> int:
    """Check one answer and return the number of right options it names.

    An answer that may be a label, a text or an index is only added to `forms`, and the result is 0.
    """
    if options is None:
        if layout.data_type == "qa" and not layout.get_targets(answer):
            problems.add(_build_answer_problem(layout, record, answer, None))
        return 0
    if layout.answer_form in ANSWER_FORMS:
        forms.add(read_printed_answer(answer, options), options)
        return 0
    gold = layout.get_gold(record.fields, options)
    if gold is None:
        problems.add(_build_answer_problem(layout, record, answer, options))
    return len(gold or ())


def _count_all_readings(table: Table, layout: Layout) -> AnswerFormCounts:
    """Read all rows again and count every way to read the answers. Needed if some are not labels."""
    forms = AnswerFormCounts()
    for record in table.records():
        if (answer := layout.get_answer(record.fields)) is not None:
            options = layout.get_options(record.fields)
            forms.add(read_printed_answer(answer, options), options)
    return forms


def _settle_answer_form(
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
            [Reading(f"the answer is {words[one]}", TableMeta(answer_is=one)) for one in (form, *rivals)],
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
            problems.add(_build_answer_problem(layout, record, layout.get_answer(record.fields), options))
    return AuthorError(problems.first, total=problems.total)


def _build_answer_problem(layout: Layout, record: Record, answer: Any, options: Options | None) -> Problem:
    """Return the problem for an answer that does not have the expected form."""
    texts, labels = ((), ()) if options is None else (options.texts, options.labels)
    expected = {
        "label": f"one of {' '.join(labels)}",
        "text": f"the text of one option: {listing(texts)}",
        "index0": f"a number from 0 to {len(texts) - 1}",
        "index1": f"a number from 1 to {len(texts)}",
        "named": f"one of {listing(layout.label_names or ())}",
        "marked": "options with at least one marked as right",
        "beside_wrong": "a text",
        "boolean": "true or false",
        "after_hashes": "a solution that ends with #### and the answer",
        "boxed": "a solution with its answer in \\boxed{}",
    }[layout.answer_form]
    if options is None and layout.answer_form == "label":
        expected = "a text, a number, a list of these, or an object with value, text, aliases or spans"
    fix = "correct the answer or the options" + _format_label_fix(layout)
    if layout.answer_form == "named":
        fix = f"correct the answer, or name all values with --label-names {answer}=..."
        fix += "; for free-form answers use --data-type qa"
    elif options is None:
        fix = "correct the answer, or set the form of the answers with --answer-is text"
    return Problem(
        "TABLE-011",
        f"found {answer!r:.200}, expected {expected}",
        fix,
        record.origin.at(layout.answer_column or "answer"),
    )


def _format_label_fix(layout: Layout) -> str:
    """Return the hint for answers that use other names for the options."""
    labels = layout.option_labels
    if labels is not None and (labels != layout.options or all(map(_is_letter, labels))):
        return ""
    return '; if the answers use other names for the options, list them: "option_labels": ["...", "..."]'


def _settle_ids(table: Table, layout: Layout, meta: TableMeta, ids: array[int], notes: list[str]) -> Layout:
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
