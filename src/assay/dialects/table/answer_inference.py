"""Inference of the answer column of a table without options, and of the answer's form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.errors import listing
from assay.dialects.shared.choices import read_answer
from assay.dialects.table.answer_columns import marks_one_column
from assay.dialects.table.cells import (
    extract_after_hashes,
    extract_last_boxed,
    find_last_option_list,
    parse_printed,
    read_targets,
)
from assay.dialects.table.column_words import (
    find_numbered_families,
    is_final_answer,
    is_weak_answer,
    split_column_name,
)
from assay.dialects.table.columns import Column, is_empty
from assay.dialects.table.evidence import Evidence, find_named_answers
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading

_MOST_CLASSES = 10
_ROWS_PER_CLASS = 4
_LEAST_ROWS_OF_CLASSES = 20
"""Minimum rows for a text column with few distinct values to count as a closed set of labels."""
_ROWS_PER_NAMED_CLASS = 2
"""Minimum rows per distinct value of a column whose name says that it classifies the rows."""
_CLASS_WORDS = frozenset(
    (
        "label",
        "labels",
        "class",
        "category",
        "sentiment",
        "verdict",
        "stance",
        "intent",
        "emotion",
        "polarity",
    )
)
_MOST_ROWS = 0.9
"""Share of rows that must fit a reading; the remaining rows then count as mistakes."""
_LONG_ANSWER_WORDS = 12
"""Median number of words from which on answers are too long for a text comparison."""


def reject_programs(table: Evidence) -> None:
    """Raise if the answers are programs, which only tests can score."""
    if table.given.output_column or table.given.no_answers:
        return
    tests = [column for column in table.free() if table.role(column) == "tests"]
    programs = [
        column.name
        for column in table.columns.values()
        if column.name in ("entry_point", "canonical_solution", "test_list", "test_setup_code", "code")
    ]
    if tests and programs:
        what = (
            f"the answers are programs (columns {listing(programs)}), to be tested by column "
            f"{tests[0].name!r}; running programs is not supported for tables"
        )
        prompt = next((c.name for c in table.free() if table.role(c) in ("question", "statement")), None)
        inputs = None if prompt is None else (prompt,)
        readings = [
            TableReading("save the replies without scoring", TableMeta(input_columns=inputs, no_answers=True))
        ]
        raise AmbiguousTableError(table.path, what, readings)


def infer_free_answer(table: Evidence) -> None:
    """Infer the answer column and the answer's form."""
    given = table.given
    if given.data_type == "text" or given.messages_column:
        return
    answer = _find_free_answer_column(table)
    if answer is None:
        return
    if given.output_column is None:
        table.meta["output_column"] = answer.name
        table.taken.add(answer.name)
        table.reasons.setdefault("answer", "by its name")
    if given.answer_is is not None or given.label_names is not None:
        return
    _infer_answer_form(table, answer)


def _find_free_answer_column(table: Evidence) -> Column | None:
    given = table.given
    if given.output_column is not None:
        return table.columns.get(given.output_column)
    named = find_named_answers(table)
    if given.no_answers:
        return None
    if not named and (unnamed := _find_unnamed_answer(table)) is not None:
        return unnamed
    if not named:
        ask_for_answer(table, TableMeta())
    plain = [column for column in named if not is_weak_answer(column.name)]
    agreed = [column for column in plain if is_final_answer(column.name)]
    plain = agreed if len(agreed) == 1 else plain
    named = plain or named
    if len(named) > 1 and (number := _final_number(named)) is not None:
        return number
    best, rivals = named[0], [column for column in named[1:] if not _has_same_answers(named[0], column)]
    if rivals:
        if (labels := _find_named_labels(table, named)) is not None:
            return labels
        readings = [_rival_reading(table, column, [best, *rivals]) for column in (best, *rivals)[:3]]
        if _are_alternatives([best, *rivals]):
            readings.insert(0, _build_alternatives_reading(table, [best, *rivals]))
        what = f"{listing(column.name for column in (best, *rivals))} could each be the right answer"
        raise AmbiguousTableError(table.path, what, readings)
    return best


def _are_alternatives(columns: list[Column]) -> bool:
    """Whether columns are the numbered answers of a row: `answer1`, `answer2`."""
    names = tuple(column.name for column in columns)
    are_numbered = any(set(family) == set(names) for _, family, _ in find_numbered_families(names))
    return are_numbered and not any("," in name for name in names)


def _build_alternatives_reading(table: Evidence, answers: list[Column]) -> TableReading:
    """Return the reading that accepts each of several answers. A long text beside them is the context."""
    names = [column.name for column in answers]
    texts = [column.name for column in table.free() if column.is_long and column not in answers]
    context = (*table.meta.get("context_columns", ()), *texts)
    inputs = table.meta.get("input_columns")
    meta = TableMeta(input_columns=inputs, context_columns=context or None, output_column=",".join(names))
    return TableReading("each of these columns has an accepted answer", meta)


def _rival_reading(table: Evidence, column: Column, rivals: list[Column]) -> TableReading:
    """Return the reading that takes one of several columns as the answer.

    A label of zeros and ones beside an answer in words judges that answer: the question must show it.
    """
    meta = TableMeta(output_column=column.name)
    judged = [other.name for other in rivals if other.is_text and other.integers is None]
    is_verdict = column.is_boolean or set(column.integers or (2,)) <= {0, 1}
    inputs = table.meta.get("input_columns")
    if inputs is None or not is_verdict or len(judged) != 1:
        return TableReading(f"the answer is {column.name}", meta)
    context = table.meta.get("context_columns")
    meta = msgspec.structs.replace(meta, input_columns=(*inputs, *judged), context_columns=context)
    return TableReading(f"{column.name} says whether {judged[0]} is right", meta)


def _final_number(answers: list[Column]) -> Column | None:
    """Return the column of numbers in which all others, worked solutions, end."""
    for column in answers:
        if column.integers is None:
            continue
        others = [other for other in answers if other is not column]
        pairs = [
            (mine, its)
            for other in others
            for mine, its in zip(column.cells, other.cells, strict=True)
            if not is_empty(mine) and not is_empty(its)
        ]
        # A number beside a number, or beside a label's name, is no worked solution.
        are_solutions = all(other.is_text and other.integers is None for other in others)
        if pairs and are_solutions and all(_ends_in(str(its), str(mine)) for mine, its in pairs):
            return column
    return None


def _ends_in(text: str, number: str) -> bool:
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)
    return bool(numbers) and numbers[-1].replace(",", "") == number.strip().removesuffix(".0")


def _find_unnamed_answer(table: Evidence) -> Column | None:
    """Return the column that classifies statements, where no name says which one is the answer.

    It must be the only one that can: a category, or truth values. Where the question asks, its answer cannot
    be a category, and truth values may be remarks on the row.
    """
    names = table.meta.get("input_columns") or table.given.input_columns or ()
    if any(table.columns[name].asks for name in names if name in table.columns) or not names:
        return None
    left = [column for column in _answer_candidates(table) if not column.is_counter]
    repeated = [column for column in left if 2 <= len(column.distinct) < len(column.filled)]
    unnamed = [column for column in repeated if table.role(column) in (None, "group")]
    others = [column for column in left if column not in unnamed and table.role(column) is None]
    if len(unnamed) != 1 or others:
        return None
    only = unnamed[0]
    if only.is_boolean:
        table.reasons["answer"] = "the only column of truth values"
        return only
    if table.role(only) == "group" and only.is_text and not only.is_long and not only.is_code:
        table.reasons["answer"] = "the only column that classifies the texts"
        return only
    return None


def _answer_candidates(table: Evidence) -> list[Column]:
    """Return the columns that may hold the right answer, the likeliest first."""
    # A sentence under an unknown name was taken for context, and may be the answer.
    unsure = {
        name
        for name in table.meta.get("context_columns", ())
        if table.role(table.columns[name]) is None and not table.columns[name].is_long
    }
    taken = table.taken - unsure
    left = [
        column
        for column in table.columns.values()
        if column.filled
        and column.name not in taken
        and (column.parent is None or table.role(column.parent) == "answer")
        and column.is_scalar
        and table.role(column) not in ("id", "explanation", "distractor")
    ]
    ranks = {None: 0, "group": 1, "metadata": 2}

    def rank(column: Column) -> tuple[bool, bool, int]:
        repeats = 2 <= len(column.distinct) < len(column.filled)
        role = table.role(column)
        return role == "metadata", not repeats, ranks.get(role, 0)

    return sorted(left, key=rank)


def _find_named_labels(table: Evidence, answers: list[Column]) -> Column | None:
    """Return the column of integers whose names are in another column."""
    numbers = next((column for column in answers if column.integers is not None), None)
    texts = [column for column in answers if column.is_text and column.integers is None]
    if numbers is None or len(texts) != 1 or not _is_one_to_one(numbers, texts[0]):
        return None
    return numbers


def ask_for_answer(table: Evidence, meta: TableMeta) -> None:
    """Raise `Undecided` where no column is plainly the right answer; `meta`: what is settled."""
    left = _answer_candidates(table)
    left = [column for column in left if len(column.distinct) > 1 and not column.is_counter] or left[:1]
    inputs = table.meta.get("input_columns")
    context = table.meta.get("context_columns")
    base = msgspec.structs.replace(meta, input_columns=inputs, context_columns=context)
    readings = [
        TableReading(
            f"the right answer is in {column.name}",
            msgspec.structs.replace(meta, output_column=column.name),
        )
        for column in left[:2]
    ]
    marks = [column.name for column in left if "," not in column.name]
    rows = [dict(zip(marks, cells, strict=True)) for cells in zip(*(c.cells for c in left), strict=True)]
    if len(left) > 1 and len(marks) == len(left) and not meta.options and marks_one_column(marks, rows):
        marked = TableMeta(input_columns=inputs, context_columns=context, output_column=",".join(marks))
        readings.insert(0, TableReading("the right answer is the name of the column with a 1", marked))
    if table.given.data_type is None and inputs == ("text",):
        readings.append(TableReading("plain texts: measure their perplexity", TableMeta(data_type="text")))
    readings.append(
        TableReading(
            "the file has no right answers: save the replies without scoring them",
            msgspec.structs.replace(base, no_answers=True),
        )
    )
    empty = [c.name for c in table.columns.values() if not c.filled and table.role(c) == "answer"]
    seen = f"; {listing(empty)} is empty in every row" if empty else ""
    names = listing(name for name, column in table.columns.items() if column.parent is None)
    what = f"no column is clearly the right answer{seen}; the columns are {names}"
    raise AmbiguousTableError(table.path, what, readings)


def _infer_answer_form(table: Evidence, answer: Column) -> None:
    """Infer how the answers are written: directly, at the end of a solution, or as labels."""
    texts = [cell for cell in answer.filled if isinstance(cell, str)]
    if names := table.label_names.get(answer.name):
        table.meta["label_names"] = {str(index): name for index, name in enumerate(names)}
        table.reasons["answer"] = "a label; the dataset provides the names"
    elif answer.is_boolean:
        table.meta["answer_is"] = "boolean"
    elif len(texts) == len(answer.filled) and all(map(extract_after_hashes, texts)):
        table.meta["answer_is"] = "after_hashes"
    elif len(texts) == len(answer.filled) and all(map(extract_last_boxed, texts)):
        table.meta["answer_is"] = "boxed"
    elif answer.integers is not None and _is_bare_label(table, answer):
        _infer_label_names(table, answer)
    elif _has_labelled_options(table, answer):
        return
    elif _is_closed_set(table, answer):
        table.meta["label_names"] = {value: value for value in answer.distinct}
        table.reasons["answer"] = f"only {len(answer.distinct)} distinct values"
    elif table.given.match is None and table.given.data_type is None:
        _ask_about_long_answers(table, answer)


def _is_bare_label(table: Evidence, answer: Column) -> bool:
    """Whether small numbers are labels: by the column's name, or because they are only 0 and 1."""
    numbers = set(answer.integers or ())
    if not numbers <= set(range(-1, 20)):
        return False
    plain = answer.suggestion is not None and any(
        word in ("label", "labels", "class", "sentiment", "target", "gold", "category", "verdict")
        for word in answer.name.casefold().replace("-", "_").split("_")
    )
    return plain or numbers == {0, 1}


def _infer_label_names(table: Evidence, answer: Column) -> None:
    for column in table.free():
        if column.is_text and not column.is_long and _is_one_to_one(answer, column):
            pairs = {
                str(int(number)): text
                for number, text in zip(answer.integers or (), column.filled, strict=True)
            }
            if len(pairs) >= 2:
                table.meta["label_names"] = dict(sorted(pairs.items(), key=lambda pair: int(pair[0])))
                table.reasons["answer"] = f"a label; column {column.name} has the names"
                table.taken.add(column.name)
                return
    numbers = sorted(set(answer.integers or ()) - {-1})
    named = {str(number): f"NAME{number}" for number in range(min(*numbers, 0), max(*numbers, 1) + 1)}
    inputs, context = table.meta.get("input_columns"), table.meta.get("context_columns")
    base = TableMeta(input_columns=inputs, context_columns=context, output_column=answer.name)
    readings = [
        TableReading(
            "the numbers are labels: replace NAME0, NAME1 ... with what each one means",
            msgspec.structs.replace(base, label_names=named),
        ),
        TableReading("the answer is the number itself", msgspec.structs.replace(base, answer_is="text")),
    ]
    what = f"the answers are the numbers {listing(map(str, numbers))}, but their meaning is unknown"
    raise AmbiguousTableError(table.path, what, readings, column=answer.name)


def _has_labelled_options(table: Evidence, answer: Column) -> bool:
    """Find options listed in the question text, `(A) ... (B) ...`, with letters as answers."""
    letters = [str(cell).strip("() .").upper() for cell in answer.filled]
    letters = [letter for letter in letters if len(letter) == 1 and letter.isascii() and letter.isalpha()]
    if not answer.is_text or len(letters) < _MOST_ROWS * len(answer.filled):
        return False
    names = table.meta.get("input_columns") or table.given.input_columns or ()
    for column in (table.columns[name] for name in names if name in table.columns):
        runs = [find_last_option_list(cell) if isinstance(cell, str) else None for cell in column.cells]
        rows = [None if run is None else run[1].to_options() for run in runs]
        pairs = [(cell, row) for cell, row in zip(answer.cells, rows, strict=True) if not is_empty(cell)]
        n = sum(row is not None and read_answer(cell, row, "label") is not None for cell, row in pairs)
        if n >= _MOST_ROWS * len(pairs):
            # The survey reports the rows that do not fit.
            table.meta["options"] = column.name
            table.meta["answer_is"] = "label"
            table.option_rows = rows
            table.reasons["options"] = "listed in the question text"
            return True
    if len(set(letters)) < 2 or table.given.data_type == "qa":
        return False
    what = f"the answers are letters ({listing(sorted(set(letters)))}), but no column contains the options"
    named = TableMeta(input_columns=table.meta.get("input_columns"), output_column=answer.name)
    meta = msgspec.structs.replace(named, data_type="qa")
    reading = TableReading("the reply must be this letter (a free-form answer)", meta)
    raise AmbiguousTableError(table.path, what, [reading], column=answer.name)


def _is_closed_set(table: Evidence, answer: Column) -> bool:
    if not answer.is_text or answer.integers is not None or answer.is_long:
        return False
    n, distinct = len(answer.filled), answer.distinct
    are_numbers = all(
        value.replace(".", "", 1).replace(",", "").lstrip("-$").isdecimal() for value in distinct
    )
    least = max(_LEAST_ROWS_OF_CLASSES, _ROWS_PER_CLASS * len(distinct))
    if _CLASS_WORDS & set(split_column_name(answer.name)) or table.role(answer) == "group":
        least = _ROWS_PER_NAMED_CLASS * len(distinct)
    return (
        not are_numbers
        and 2 <= len(distinct) <= _MOST_CLASSES
        and n >= least
        and all(len(value) <= 40 for value in distinct)
    )


def _ask_about_long_answers(table: Evidence, answer: Column) -> None:
    """Raise if answers are long texts and no comparison method is given."""
    cells = [parse_printed(cell) for cell in answer.filled] if answer.is_printed else answer.filled
    shortest = [min((len(one.split()) for one in read_targets(cell) or ("",)), default=0) for cell in cells]
    shortest.sort()
    middle = shortest[len(shortest) // 2]
    is_summary = any(word in answer.name.casefold() for word in ("summary", "highlight", "translation"))
    if middle <= _LONG_ANSWER_WORDS and not is_summary:
        return
    inputs, context = table.meta.get("input_columns"), table.meta.get("context_columns")
    base = TableMeta(input_columns=inputs, context_columns=context, output_column=answer.name)
    readings = [
        TableReading(
            "score the word overlap with the reference (F1)", msgspec.structs.replace(base, match="f1")
        ),
        TableReading(
            "a judge model compares each reply with the reference",
            msgspec.structs.replace(base, match="judge"),
            "--judge MODEL",
        ),
        TableReading(
            "the reply must equal the reference exactly", msgspec.structs.replace(base, match="exact")
        ),
    ]
    what = (
        f"the answers in column {answer.name!r} are long texts (about {middle} words), so the way to compare "
        "replies with them must be chosen"
    )
    raise AmbiguousTableError(table.path, what, readings, column=answer.name)


def _has_same_answers(one: Column, other: Column) -> bool:
    """Whether two columns have the same answers; one of them may be a worked solution or a list."""

    def plain(cell: Any) -> str:
        text = str(cell)
        return (extract_after_hashes(text) or extract_last_boxed(text) or text).strip().casefold()

    def holds(mine: Any, its: Any) -> bool:
        if isinstance(its, (list, tuple, Mapping)):
            return any(plain(mine) == plain(text) for text in read_targets(its) or ())
        return plain(mine) == plain(its)

    pairs = [
        (mine, its)
        for mine, its in zip(one.cells, other.cells, strict=True)
        if not is_empty(mine) and not is_empty(its)
    ]
    return all(holds(mine, its) or holds(its, mine) for mine, its in pairs)


def _is_one_to_one(numbers: Column, texts: Column) -> bool:
    pairs = {
        (str(number).strip(), str(text).strip())
        for number, text in zip(numbers.cells, texts.cells, strict=True)
        if not is_empty(number)
    }
    return (
        len(pairs) >= 2
        and len({number for number, _ in pairs}) == len({text for _, text in pairs}) == len(pairs)
        and len(pairs) < len(numbers.filled)
    )
