"""Reading the whole table once: what its columns mean, what is wrong with it, what a person should know.

Nothing is decided by the first row, and nothing is found out later by a model run: every problem of
the file is gathered here.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.ids import rank
from assay.core.origin import Origin
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
from assay.dialects.table.meta import TableMeta
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
"""Labels that are counted; of so many, each is right about as often as another."""


class Table(Protocol):
    """What a survey needs of a source."""

    path: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of all rows together."""

    @property
    def label_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names that the data gives to integer labels, by column."""

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
    twins: DuplicateNumbers = msgspec.field(default_factory=DuplicateNumbers)
    """The contents that several rows share, by `content_number`."""
    has_several_right: bool = False
    """Whether some row has more than one right option."""
    filled: frozenset[str] = frozenset()
    """Columns that have a value in every row."""
    longest: tuple[int, int] = (0, 0)
    """Characters and row number of the longest record."""
    notes: list[str] = []
    """What was inferred or let pass, in words."""
    meta: TableMeta = TableMeta()
    """What was said, with what was inferred."""
    reasons: Mapping[str, str] = {}
    """Why each part was taken to be what it is."""
    unused: tuple[str, ...] = ()
    """Columns that are no part of the prompt or the answer."""


def survey_table(
    table: Table, said: TableMeta, *, faithful: bool = False, seed: int = 0, is_scored: bool = True
) -> Survey:
    """Settle the layout of a table and check every row of it.

    A faithful run infers nothing beyond the original's own names. A run that scores nothing needs no right
    answers.
    """
    notes: list[str] = []
    reasons: Mapping[str, str] = {}
    unused: tuple[str, ...] = ()
    if not faithful and said.data_type != "text" and not _has_only_texts(table, said):
        said, reasons, unused = _infer_meta(table, said, is_scored=is_scored)
    layout = _settle_layout(table, said, notes, faithful=faithful, seed=seed)
    found = Survey(layout, notes=notes, meta=said, reasons=reasons, unused=unused)
    parts = _QuestionParts(layout, said)
    forms = AnswerFormCounts(trusts_labels=said.answer_is is None)
    problems = Problems()
    # Rows and ids are remembered by small numbers: the table may be larger than memory.
    contents, ids = array("Q"), array("Q")
    labels: Counter[str] = Counter()
    groups: Counter[str] = Counter()
    sizes: Counter[int] = Counter()
    filled = frozenset(table.columns)
    for record in table.records():
        found.n_rows += 1
        row = record.origin.row or found.n_rows
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
        found.n_without_answer += answer is None and layout.data_type != "text"
        if (group := layout.get_group(fields)) is not None:
            groups[group] += 1
        if options is not None:
            sizes[len(options.texts)] += 1
        if answer is not None:
            n_right = _check_answer(layout, record, answer, options, forms, problems)
            found.has_several_right |= n_right > 1
            if options is not None and type(answer) is not dict and len(labels) <= _MOST_LABELS:
                labels[str(answer)] += layout.answer_form != "beside_wrong"
        length = sum(map(len, map(str, fields.values())))
        if length >= found.longest[0]:
            found.longest = length, row
    problems.raise_if_any()
    if layout.data_type == "mcq" and layout.answer_form in ANSWER_FORMS and forms.n:
        forms = forms if forms.is_whole else _count_all_readings(table, layout)
        layout = _settle_answer_form(table, layout, said, forms, notes)
        found.has_several_right = layout.answer_form in forms.several
    if is_scored and not faithful and layout.data_type != "text" and not said.no_answers:
        _require_answers(table, layout, found)
    found.twins, found.filled = DuplicateNumbers(contents), filled
    layout = msgspec.structs.replace(layout, joins_question=parts.are_irregular)
    found.layout = _settle_ids(table, layout, said, ids, notes)
    found.label_counts, found.group_counts, found.option_counts = dict(labels), dict(groups), dict(sizes)
    return found


def _infer_meta(table: Table, said: TableMeta, *, is_scored: bool) -> TableInference:
    _require_columns(table, said)
    try:
        return infer_table_meta(table.path, table.columns, table.records(), said, table.label_names)
    except AmbiguousTableError:
        if is_scored:
            raise
    without = msgspec.structs.replace(said, no_answers=True)
    return infer_table_meta(table.path, table.columns, table.records(), without, table.label_names)


class _QuestionParts:
    """Whether every row has all parts of the question as texts, which then can be named in a prompt."""

    def __init__(self, layout: Layout, said: TableMeta) -> None:
        names = (*layout.context_columns, *layout.question_columns)
        has_default_prompt = not (said.template or said.human_prompt) and not said.uses_one_text
        self._names = names if has_default_prompt and layout.data_type != "text" else ()
        self._has_several = len(names) > 1
        self.are_irregular = any(_BRACED_NAME.fullmatch(name) is None for name in self._names)

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take one row."""
        if self.are_irregular:
            return
        for name in self._names:
            value = fields.get(name)
            if type(value) is not str or not value:
                value = get_field(fields, name, None)
                is_part_missing = self._has_several and is_empty(value)
                self.are_irregular |= is_part_missing or isinstance(value, (list, tuple))


_BRACED_NAME = re.compile(r"[^\W\d][\w .\-]*")
"""A name that a prompt can show as `{name}`."""


def _require_columns(table: Table, said: TableMeta) -> None:
    """Raise where a setting names a column that the table does not have."""
    columns = table.columns
    problems = Problems()
    for key in _COLUMN_KEYS:
        named = getattr(said, key)
        for name in (named,) if isinstance(named, str) else named or ():
            if name not in columns and name.split(".")[0] not in columns:
                problems.add(_build_missing_problem(table, name, columns, f"{key!r} names it"))
    problems.raise_if_any()


def _require_answers(table: Table, layout: Layout, found: Survey) -> None:
    """Raise where no row has a right answer and nobody said so."""
    if found.n_rows and found.n_without_answer == found.n_rows:
        column = layout.answer_column
        seen = (
            "no column holds right answers" if column is None else f"column {column!r} is empty in every row"
        )
        meta = TableMeta(no_answers=True)
        reading = Reading("the table has no right answers: keep the replies, score nothing", meta)
        raise AmbiguousTableError(table.path, seen, [reading], column=column)


def _settle_layout(table: Table, said: TableMeta, notes: list[str], *, faithful: bool, seed: int) -> Layout:
    columns = table.columns
    _require_columns(table, said)
    _require_label_names(table, said)
    problems = Problems()
    if said.data_type == "text" or _has_only_texts(table, said):
        return _settle_texts(table, said, notes, problems)
    answer = said.output_column
    if answer is None and not said.no_answers and faithful:
        answer = _find_known_column(ANSWER_NAMES, columns)
    options, labels = _settle_options(table, said, columns, problems)
    has_options = bool(options or said.distractors or said.label_names)
    data_type = said.data_type or ("mcq" if has_options else "qa")
    if data_type == "mcq" and not has_options:
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
        # One field may hold the question and, in the same text, its options.
        is_own_list = isinstance(options, str) and options in said.input_columns
        questions = tuple(name for name in said.input_columns if is_own_list or name not in option_names)
    else:
        question = _find_known_column(QUESTION_NAMES, [name for name in columns if name != answer])
        questions = () if question is None else (question,)
    if not questions and not (said.template or said.human_prompt):
        problems.add(_build_missing_problem(table, "question", columns, "the default prompt shows it"))
    problems.raise_if_any()
    shown = questions or tuple(name for name in columns if name != answer and name not in option_names)
    return Layout(
        data_type,
        columns,
        shown,
        answer,
        options if data_type == "mcq" else (),
        labels if data_type == "mcq" else None,
        _settle_form(said, data_type, options, answer),
        context_columns=said.context_columns or (),
        distractors=said.distractors or (),
        label_names=_label_names(said),
        shuffle_seed=seed if said.distractors or said.shuffle_options else None,
        category_column=said.category_column
        or ("category" if "category" in columns and answer != "category" else None),
        cluster_column=said.cluster_column,
        id_column=said.id_column or ("id" if "id" in columns else None),
        keeps_empty_options=faithful,
        length_column=MAX_TOKENS if said.output_config or MAX_TOKENS in columns else None,
    )


def _settle_form(
    said: TableMeta, data_type: str, options: tuple[str, ...] | str, answer: str | None
) -> LayoutForm:
    if said.distractors:
        return "beside_wrong"
    if said.label_names is not None:
        return "named"
    if data_type == "mcq" and options == answer:
        return "marked"
    if data_type == "qa" and said.answer_is in ("boolean", "after_hashes", "boxed"):
        return said.answer_is
    return "label"


def _label_names(said: TableMeta) -> dict[str, str] | None:
    names = said.label_names
    if names is None or isinstance(names, dict):
        return names
    return {str(index): name for index, name in enumerate(names)}


def _require_label_names(table: Table, said: TableMeta) -> None:
    """Raise where a command was pasted before the names were written into it."""
    names = _label_names(said) or {}
    if left := [name for name in names.values() if PLACEHOLDER.fullmatch(name)]:
        what = f"the names of the labels are still {listing(left)}"
        fix = "write what each label means, for example --label-names 0=negative,1=positive"
        raise AuthorError(Problem("TABLE-004", what, fix, Origin(table.path)))


def _has_only_texts(table: Table, said: TableMeta) -> bool:
    """Whether nothing but a column `text` can be what the table is about."""
    columns = table.columns
    stated = (said.data_type, said.input_columns, said.output_column, said.options, said.template)
    more = (said.distractors, said.label_names, said.context_columns, said.human_prompt, said.bot_prompt)
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


def _settle_texts(table: Table, said: TableMeta, notes: list[str], problems: Problems) -> Layout:
    columns = table.columns
    if said.data_type is None:
        notes.append(f"the rows are plain texts (column {TEXT_NAME!r}): their perplexity is measured")
    named = said.input_columns or (TEXT_NAME,)
    if len(named) > 1:
        what = f"'input_columns' names {listing(named)}, but a table of plain texts has one column of them"
        problems.add(Problem("TABLE-016", what, "name the one column", Origin(table.path)))
    elif said.input_columns is None and TEXT_NAME not in columns:
        problems.add(_build_missing_problem(table, TEXT_NAME, columns, "a table of plain texts needs it"))
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
    if isinstance(options, tuple) and len(options) == 1 and _find_first_list(table, options[0]) is not None:
        options = options[0]
    for name in (options,) if isinstance(options, str) else options:
        if name not in columns and name.split(".")[0] not in columns:
            problems.add(_build_missing_problem(table, name, columns, "'options' names it"))
    if not options and said.data_type != "qa" and not (said.distractors or said.label_names):
        options = find_option_columns(columns) or _find_lettered_inputs(table, said)
        if not options:
            options = next(
                (name for name in OPTION_LIST_NAMES if name in columns and _find_first_list(table, name)), ()
            )
    labels = said.option_labels
    if labels is None and isinstance(options, tuple):
        answer = said.output_column or _find_known_column(ANSWER_NAMES, columns)
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
    """Return the first value of a field that is a list of options; None when no row has one."""
    return next(
        (
            get_field(record.fields, name)
            for record in table.records()
            if read_option_list(record.fields, name) is not None
        ),
        None,
    )


def _find_lettered_inputs(table: Table, said: TableMeta) -> tuple[str, ...]:
    """Return input columns named by single letters, such as X Y Z W, when every answer is one of them."""
    letters = tuple(name for name in said.input_columns or () if _is_letter(name))
    if len(letters) < 2 or said.output_column is None:
        return ()
    answers = (get_field(record.fields, said.output_column, None) for record in table.records())
    return letters if all(answer in (None, "") or answer in letters for answer in answers) else ()


def _has_named_options(table: Table, names: tuple[str, ...], answer: str | None) -> bool:
    """Whether answers name option columns: some do, and none is a letter."""
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


def _build_missing_problem(table: Table, name: str, columns: tuple[str, ...], why: str) -> Problem:
    return Problem(
        "TABLE-001",
        f"there is no column {name!r} ({why}){suggest_name(name, columns)}; the columns are {listing(columns)}",
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
        layout.get_length(record.fields)
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
    value = get_field(record.fields, column, None)
    if not isinstance(value, str):
        what, fix = f"found {value!r:.60}, expected a text", "write a text, or delete the row"
    elif not value.strip() and not layout.keeps_empty_texts:
        what, fix = "the text is empty", "delete the row; --windows hf-stride and gptq join texts and take it"
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
    """Count the readings of an answer that names an option; any other answer must have its form.

    Return how many options such an other answer names.
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
    """Walk the rows again for every way to read their answers: not all of them are labels."""
    forms = AnswerFormCounts()
    for record in table.records():
        if (answer := layout.get_answer(record.fields)) is not None:
            options = layout.get_options(record.fields)
            forms.add(read_printed_answer(answer, options), options)
    return forms


def _settle_answer_form(
    table: Table, layout: Layout, said: TableMeta, forms: AnswerFormCounts, notes: list[str]
) -> Layout:
    form = said.answer_is if said.answer_is in ANSWER_FORMS else forms.best()
    if forms.fits[form] < forms.n:
        raise _collect_bad_answers(table, msgspec.structs.replace(layout, answer_form=form))
    rivals = () if said.answer_is else forms.find_rivals(form)
    if rivals:
        words = {
            "label": "the option's label",
            "text": "the option's text",
            "index0": "the option's number, from 0",
            "index1": "the option's number, from 1",
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
    """Walk the rows again for every answer that names no option."""
    problems = Problems()
    for record in table.records():
        options = layout.get_options(record.fields)
        if layout.get_gold(record.fields, options) is None:
            problems.add(_build_answer_problem(layout, record, layout.get_answer(record.fields), options))
    return AuthorError(problems.kept, total=problems.total)


def _build_answer_problem(layout: Layout, record: Record, answer: Any, options: Options | None) -> Problem:
    """Return the problem of an answer that does not have the form of the others."""
    texts, labels = ((), ()) if options is None else (options.texts, options.labels)
    expected = {
        "label": f"one of {' '.join(labels)}",
        "text": f"the text of one option: {listing(texts)}",
        "index0": f"a number from 0 to {len(texts) - 1}",
        "index1": f"a number from 1 to {len(texts)}",
        "named": f"one of {listing(layout.label_names or ())}",
        "marked": "options of which at least one is marked right",
        "beside_wrong": "a text",
        "boolean": "true or false",
        "after_hashes": "a solution that ends in #### and the answer",
        "boxed": "a solution with its answer in \\boxed{}",
    }[layout.answer_form]
    if options is None and layout.answer_form == "label":
        expected = "a text, a number, a list of them, or an object with value, text, aliases or spans"
    fix = "correct the answer or the options" + _format_label_fix(layout)
    if layout.answer_form == "named":
        fix = f"correct the answer, or name all values: --label-names {answer}=..."
        fix += "; for free answers: --data-type qa"
    elif options is None:
        fix = "correct the answer, or say how answers are written: --answer-is text"
    return Problem(
        "TABLE-011",
        f"found {answer!r:.200}, expected {expected}",
        fix,
        record.origin.at(layout.answer_column or "answer"),
    )


def _format_label_fix(layout: Layout) -> str:
    """Return the fix for options that the answers call otherwise."""
    labels = layout.option_labels
    if labels is not None and (labels != layout.options or all(map(_is_letter, labels))):
        return ""
    return '; if the answers use other names for the options, list them: "option_labels": ["...", "..."]'


def _settle_ids(table: Table, layout: Layout, said: TableMeta, ids: array[int], notes: list[str]) -> Layout:
    repeated = DuplicateNumbers(ids)
    empty = rank(0, "")
    n_bad = len(repeated) + (empty in ids and empty not in repeated)
    if not n_bad:
        return layout
    if said.id_column is not None:
        own = (layout.get_own_id(record.fields) or "" for record in table.records())
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
