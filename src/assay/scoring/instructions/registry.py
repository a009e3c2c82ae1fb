"""All instructions by id, and the parser for the instructions in a dataset's row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.errors import Problem, Problems, explain_type_error, listing, suggest_name
from assay.scoring.instructions.instruction import Instruction
from assay.scoring.instructions.kinds import (
    AllCapitals,
    AllLowercase,
    BulletList,
    CapitalWordFrequency,
    ConstrainedResponse,
    EndPhrase,
    ForbiddenWords,
    HighlightedSections,
    JsonFormat,
    KeywordFrequency,
    KeywordsExist,
    LetterFrequency,
    NoComma,
    NthParagraphFirstWord,
    ParagraphCount,
    Placeholders,
    Postscript,
    Quotation,
    RepeatPrompt,
    Sections,
    SentenceCount,
    Title,
    TwoResponses,
    WordCount,
)
from assay.scoring.instructions.language import ResponseLanguage

INSTRUCTIONS: dict[str, type[Instruction]] = {
    kind.id: kind
    for kind in (
        KeywordsExist,
        KeywordFrequency,
        ForbiddenWords,
        LetterFrequency,
        ResponseLanguage,
        SentenceCount,
        ParagraphCount,
        WordCount,
        NthParagraphFirstWord,
        Placeholders,
        Postscript,
        BulletList,
        ConstrainedResponse,
        HighlightedSections,
        Sections,
        JsonFormat,
        Title,
        TwoResponses,
        RepeatPrompt,
        EndPhrase,
        Quotation,
        CapitalWordFrequency,
        AllCapitals,
        AllLowercase,
        NoComma,
    )
}
"""The 25 kinds of instruction."""


def read_rows(rows: Sequence[Mapping[str, Any]]) -> list[tuple[Instruction, ...]]:
    """Return the instructions of each row; raise one AuthorError with the problems of all rows.

    A row has the ids of its instructions and, at the same positions, their arguments. An argument None counts
    as missing: tables have a column for every argument of any kind.
    """
    problems = Problems()
    read = [tuple(_read_row(row, f"row {number}", problems)) for number, row in enumerate(rows, start=1)]
    problems.raise_if_any()
    return read


def _read_row(row: Mapping[str, Any], place: str, problems: Problems) -> Iterator[Instruction]:
    ids, arguments = row.get("instruction_id_list"), row.get("kwargs")
    if isinstance(ids, list) and isinstance(arguments, list) and 0 < len(ids) == len(arguments):
        for name, given in zip(ids, arguments, strict=True):
            instruction = _read(name, given, place)
            if isinstance(instruction, Problem):
                problems.add(instruction)
            else:
                yield instruction
        return
    what = (
        f"{place}: 'instruction_id_list' and 'kwargs' must be two non-empty lists of the same length; "
        f"found {ids!r} and {arguments!r}"
    )
    problems.add(Problem("IFEVAL-001", what, "give each instruction its arguments; use {} for none"))


def _read(name: Any, given: Any, place: str) -> Instruction | Problem:
    kind = INSTRUCTIONS.get(name) if isinstance(name, str) else None
    if kind is None:
        what = f"{place}: unknown instruction {name!r}{suggest_name(str(name), INSTRUCTIONS)}"
        return Problem("IFEVAL-002", what, f"use one of {listing(INSTRUCTIONS, at_most=len(INSTRUCTIONS))}")
    if not isinstance(given, Mapping):
        what = f"{place}: the arguments of {name!r} are {given!r}; expected a mapping"
        return Problem("IFEVAL-003", what, "write a mapping; use {} for no arguments")
    stated = {argument: value for argument, value in given.items() if value is not None}
    try:
        return msgspec.convert(stated, kind)
    except msgspec.ValidationError as error:
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(kind)) or "none"
        what = f"{place}: invalid arguments {stated!r} for {name!r}: {explain_type_error(error)}"
        return Problem("IFEVAL-003", what, f"correct them; this instruction accepts: {fields}")
