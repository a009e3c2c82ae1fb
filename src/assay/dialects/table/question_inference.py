"""Inference of the question columns, and of the context columns that precede them in the prompt."""

from __future__ import annotations

from assay.core.errors import listing
from assay.dialects.table.columns import Column
from assay.dialects.table.evidence import Evidence, find_named_answers
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, Reading

_NAME_COLUMNS = Reading(
    "replace QUESTION and ANSWER by the names of your columns",
    TableMeta(input_columns=("QUESTION",), output_column="ANSWER"),
)


def infer_question(table: Evidence) -> None:
    """Infer the question columns and the context columns."""
    given = table.given
    if given.input_columns or given.template or given.human_prompt or given.messages_column:
        return
    used = set(table.taken)
    used.update(column.name for column in find_named_answers(table))
    texts = [
        column
        for column in table.free()
        if (column.is_text or column.is_text_list)
        and column.name not in used
        and not _is_aside(table, column)
    ]
    texts = [one for one in texts if not any(_is_redundant(one, other) for other in texts)]
    question, context = _split_texts(table, texts)
    if not question:
        return
    table.meta["input_columns"] = tuple(column.name for column in question)
    table.taken.update(table.meta["input_columns"])
    if context:
        table.meta["context_columns"] = tuple(column.name for column in context)
        table.taken.update(table.meta["context_columns"])
        unnamed = [column.name for column in context if table.role(column) is None]
        why = "its name" if not unnamed else f"{listing(unnamed)}: a long text next to the question"
        table.reasons["context"] = why


def _is_aside(table: Evidence, column: Column) -> bool:
    """Whether a text column is neither question nor context: an id, an explanation, a short remark, ..."""
    role = table.role(column)
    if role in ("id", "metadata", "group", "explanation", "prediction", "tests", "distractor"):
        return not (role == "metadata" and column.is_long and column.asks)
    if role in ("question", "instruction", "statement", "context"):
        return False
    if column.parent is not None:
        return True
    return not (column.is_long or column.asks)


def _split_texts(table: Evidence, texts: list[Column]) -> tuple[list[Column], list[Column]]:
    """Return the question columns and the context columns."""
    roles = {column.name: table.role(column) for column in texts}
    instructions = [column for column in texts if roles[column.name] == "instruction"]
    questions = [column for column in texts if roles[column.name] == "question"]
    if instructions:
        question = [
            *instructions,
            *(column for column in questions if not column.asks or len(questions) == 1),
        ]
        table.reasons["question"] = "an instruction and its input" if len(question) > 1 else "its name"
        return question, [column for column in texts if column not in question]
    for found, why in (
        (_find_strongest(questions), "its name"),
        ([column for column in texts if column.asks], "its texts are questions"),
        ([column for column in texts if roles[column.name] == "statement"], "its name"),
        ([column for column in texts if roles[column.name] == "context"], "its name"),
        (texts if len(texts) == 1 else [], "the only text column"),
    ):
        if found:
            table.reasons["question"] = why
            # Of two sentences or texts the last one is the question, the first one its context.
            chosen = found[0] if why == "its name" and roles[found[0].name] == "question" else found[-1]
            return [chosen], [column for column in texts if column is not chosen]
    return _infer_only_text(table)


def _infer_only_text(table: Evidence) -> tuple[list[Column], list[Column]]:
    """Fall back on the only remaining text column, whatever its name; raise if there are several."""
    answers = find_named_answers(table)
    left = [
        column
        for column in table.free()
        if (column.is_text or column.is_text_list) and column.parent is None and column not in answers
    ]
    unnamed = [column for column in left if table.role(column) is None]
    if len(unnamed) == 1 and unnamed[0].is_text:
        table.reasons["question"] = "the only text column without another role"
        return unnamed, []
    known = table.meta.get("output_column") or table.given.output_column
    known = known or (answers[0].name if answers else None)
    asides = ("id", "explanation", "group", "prediction")
    left = [column for column in left if table.role(column) not in asides]
    readings = []
    for column in (unnamed or left)[:3]:
        others = [other for other in unnamed if other is not column]
        output = known or (others[-1].name if others else None)
        meta = TableMeta(input_columns=(column.name,), output_column=output)
        answer = f", the answer {output}" if output else ""
        readings.append(Reading(f"the question is {column.name}{answer}", meta))
    names = listing(column.name for column in left) if left else "none"
    what = f"no column is clearly the question; text columns: {names}"
    raise AmbiguousTableError(table.path, what, readings or [_NAME_COLUMNS])


def _find_strongest(columns: list[Column]) -> list[Column]:
    """Return the columns whose names suggest their role most strongly; those with questions come first."""
    if not columns:
        return []
    strengths = {column.name: column.suggestion.strength if column.suggestion else 0 for column in columns}
    best = max(strengths.values())
    found = [column for column in columns if strengths[column.name] == best]
    return sorted(found, key=lambda column: not column.asks)


def _is_redundant(column: Column, other: Column) -> bool:
    """Whether another column's text contains this one's in every row; of equal columns keep the first."""
    if column is other or not column.is_contained_in(other):
        return False
    return not other.is_contained_in(column) or column.name > other.name
