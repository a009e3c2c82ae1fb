"""Inference of the question columns, and of the context columns that precede them in the prompt."""

from __future__ import annotations

import re

from assay.core.errors import listing
from assay.dialects.table.cells import read_list
from assay.dialects.table.column_words import is_remark, parse_numbered_name
from assay.dialects.table.columns import Column, is_empty
from assay.dialects.table.evidence import Evidence, find_named_answers
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.readings import AmbiguousTableError, TableReading

_NAME_COLUMNS = TableReading(
    "replace QUESTION and ANSWER with the names of your columns",
    TableMeta(input_columns=("QUESTION",), output_column="ANSWER"),
)


_MOST_WORDS = 4
"""Words of an expression that a question is about."""


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
    if any(not one.is_code for one in texts):
        texts = [one for one in texts if not one.is_code or _is_plainly_asked(one)]
    if any(table.role(one) == "context" for one in texts):
        # Beside a context, a sentence under an unknown name may as well explain the answer.
        texts = [one for one in texts if table.role(one) is not None or one.is_long or one.asks]
    texts += [one for one in table.free() if _is_whole_of(table, one, texts)]
    texts = [one for one in texts if not _repeats_options(table, one, texts)]
    texts = [one for one in texts if not any(_is_redundant(one, other) for other in texts)]
    texts = [one for one in texts if not any(_is_variant(table, one, other) for other in texts)]
    question, context = _split_texts(table, texts)
    if not question:
        return
    _reject_several_questions(table, question[-1], context)
    if not any(column.asks for column in question):
        context = [*_find_quoted_words(table, [*context, *question]), *context]
    table.meta["input_columns"] = tuple(column.name for column in question)
    table.taken.update(table.meta["input_columns"])
    if context:
        table.meta["context_columns"] = tuple(column.name for column in context)
        table.taken.update(table.meta["context_columns"])
        unnamed = [column.name for column in context if table.role(column) is None]
        why = "by its name" if not unnamed else f"{listing(unnamed)}: a text that belongs to the question"
        table.reasons["context"] = why


def _is_aside(table: Evidence, column: Column) -> bool:
    """Whether a text column is neither question nor context: an id, an explanation, a short remark, ..."""
    role = table.role(column)
    if role in ("id", "metadata", "group", "explanation", "prediction", "tests", "distractor"):
        return not (role == "metadata" and column.is_long and column.asks)
    if role == "context" and is_remark(column.name) and not column.is_long:
        return True
    if role in ("question", "instruction", "statement", "context"):
        return False
    if column.parent is not None or role == "answer" or is_remark(column.name):
        return True
    return not (column.is_long or column.asks or column.is_prose)


def _is_plainly_asked(column: Column) -> bool:
    hint = column.suggestion
    return hint is not None and hint.role in ("question", "instruction") and hint.strength > 1


def _is_whole_of(table: Evidence, column: Column, texts: list[Column]) -> bool:
    """Whether a column without a known name is a text of which another column without one is a part."""
    if not column.is_text or column.parent is not None or column in texts or table.role(column) is not None:
        return False
    parts = [one for one in texts if table.role(one) is None]
    return any(one.is_contained_in(column) and not column.is_contained_in(one) for one in parts)


def _repeats_options(table: Evidence, column: Column, texts: list[Column]) -> bool:
    """Whether a column is another one's text with the options, which the prompt lists anyway."""
    rows = table.option_rows
    if not rows or not any(other is not column and other.is_contained_in(column) for other in texts):
        return False
    return all(
        is_empty(cell) or options is None or all(text in str(cell) for text in options.texts)
        for cell, options in zip(column.cells, rows, strict=False)
    )


def _is_variant(table: Evidence, column: Column, other: Column) -> bool:
    """Whether a column is another form of one with a plainer name: `premises-FOL` beside `premises`."""
    if column is other or column.parent is not None or table.role(column) != table.role(other):
        return False
    mine, its = column.suggestion, other.suggestion
    has_longer_name = re.match(re.escape(other.name) + r"[^\w]|" + re.escape(other.name) + "_", column.name)
    return bool(has_longer_name and mine and its and mine.strength < its.strength)


def _reject_several_questions(table: Evidence, question: Column, context: list[Column]) -> None:
    """Stop where a row holds several questions, each with an answer of its own."""
    if not question.is_text_list or table.role(question) != "question":
        return
    if not any(len(cell) > 1 for cell in question.filled):
        return
    for answer in find_named_answers(table):
        cells = [read_list(cell) for cell in answer.cells]
        pairs = list(zip(question.cells, cells, strict=True))
        if all(its is not None and len(mine or ()) == len(its) for mine, its in pairs):
            what = (
                f"each row contains several questions (column {question.name!r}) and their answers "
                f"(column {answer.name!r}); write a separate row for each question"
            )
            before = tuple(column.name for column in context) or None
            meta = TableMeta(
                data_type="qa", input_columns=(question.name,), context_columns=before, no_answers=True
            )
            reading = TableReading("show all questions of a row in one prompt, without scoring", meta)
            raise AmbiguousTableError(table.path, what, [reading], column=question.name)


def _find_quoted_words(table: Evidence, columns: list[Column]) -> list[Column]:
    """Return the columns of words that the shown texts contain, and that the question is about.

    Where no text asks, a word beside it says what is meant: the word of two sentences, a pronoun, an aspect.
    """
    answers = {column.name for column in find_named_answers(table)}
    passages = [column for column in columns if column.is_text]
    asides = ("id", "group", "explanation", "prediction", "tests", "distractor", "answer", "option")
    found = []
    for column in table.free():
        is_candidate = column.is_text and column.parent is None and column not in columns
        if not is_candidate or column.name in answers or table.role(column) in asides:
            continue
        if parse_numbered_name(column.name) is not None or any(
            len(text.split()) > _MOST_WORDS for text in column.filled
        ):
            continue
        if len(column.distinct) > 1 and len(column.filled) == len(column.cells):
            rows = zip(column.cells, *(one.cells for one in passages), strict=True)
            if all(_is_quoted(str(word), list(map(str, texts))) for word, *texts in rows):
                found.append(column)
    # A longer quotation contains the shorter one.
    return [
        one for one in found if not any(one is not other and one.is_contained_in(other) for other in found)
    ]


def _is_quoted(word: str, texts: list[str]) -> bool:
    word = word.strip().casefold()
    return bool(word) and any(word in text.casefold() and word != text.strip().casefold() for text in texts)


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
        table.reasons["question"] = "an instruction and its input" if len(question) > 1 else "by its name"
        return question, [column for column in texts if column not in question]
    for found, why in (
        (_find_strongest(questions), "by its name"),
        ([column for column in texts if column.asks], "its texts ask"),
        (_find_strongest([column for column in texts if roles[column.name] == "statement"]), "by its name"),
        ([column for column in texts if roles[column.name] == "context"], "by its name"),
        (texts if len(texts) == 1 else [], "the only text column"),
    ):
        if found:
            table.reasons["question"] = why
            # Of two sentences or texts the last one is the question, the first one its context.
            chosen = found[0] if why == "by its name" and roles[found[0].name] == "question" else found[-1]
            return [chosen], [column for column in texts if column is not chosen]
    return _infer_only_text(table)


def _infer_only_text(table: Evidence) -> tuple[list[Column], list[Column]]:
    """Fall back on the only remaining text column, whatever its name; raise if there are several."""
    answers = find_named_answers(table)
    left = [
        column
        for column in table.free()
        if (column.is_text or column.is_text_list)
        and column.parent is None
        and column not in answers
        and column.integers is None
    ]
    # The only texts may be the fields of an object, such as `translation`.
    nested = [] if left else [column for column in table.free() if column.is_text]
    left = [one for one in left if not any(_is_redundant(one, other) for other in left)]
    unnamed = [column for column in left if table.role(column) is None]
    if len(unnamed) == 1 and unnamed[0].is_text:
        table.reasons["question"] = "the only text column without another role"
        return unnamed, []
    known = table.meta.get("output_column") or table.given.output_column
    known = known or (answers[0].name if answers else None)
    asides = ("id", "explanation", "group", "prediction")
    left = [column for column in left if table.role(column) not in asides]
    readings = []
    left = left or nested
    for column in (unnamed or left)[:3]:
        others = [other for other in unnamed or nested if other is not column]
        output = known or (others[-1].name if others else None)
        meta = TableMeta(input_columns=(column.name,), output_column=output)
        answer = f", the answer {output}" if output else ""
        translation = _build_translation_reading(column.name, output)
        readings.append(translation or TableReading(f"the question is {column.name}{answer}", meta))
    if len(table.columns) == len(unnamed) == 2 and table.path.endswith((".csv", ".tsv", ".txt")):
        columns = "--no-header --columns question,answer"
        readings.append(TableReading("the first row contains data, not column names", TableMeta(), columns))
    names = listing(column.name for column in left) if left else "none"
    what = f"no column is clearly the question; text columns: {names}"
    raise AmbiguousTableError(table.path, what, readings or [_NAME_COLUMNS])


_LANGUAGES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fi": "Finnish", "fr": "French", "gu": "Gujarati", "ha": "Hausa",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic", "it": "Italian",
    "ja": "Japanese", "kk": "Kazakh", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch",
    "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
    "sw": "Swahili", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese",
    "zh": "Chinese",
}  # fmt: skip


def _build_translation_reading(source: str, target: str | None) -> TableReading | None:
    """Return the reading of two columns named by language codes, such as `de` and `translation.en`."""
    languages = [_LANGUAGES.get((name or "").split(".")[-1].casefold()) for name in (source, target)]
    if target is None or None in languages or languages[0] == languages[1]:
        return None
    meta = TableMeta(
        input_columns=(source,),
        output_column=target,
        human_prompt=f"Translate from {languages[0]} into {languages[1]}: {{{source}}}",
        match="f1",
    )
    return TableReading(f"translate {source} into {target}; score the word overlap (F1)", meta)


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
