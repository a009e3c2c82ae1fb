"""The first line of a reply, or all of it: translations, summaries, long contexts."""

from __future__ import annotations

from assay.scoring.originals.opencompass.postprocess.processor import unchanged

_QUOTES = "“，。！”"


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0].strip()


def _first_line_as_it_is(text: str) -> str:
    return text.strip().split("\n")[0]


def _first_line_with_its_indent(text: str) -> str:
    return text.lstrip("\n").split("\n")[0]


def _entity(text: str) -> str:
    return _first_line_as_it_is(text).replace("Answer: ", "").strip()


def _headline(text: str) -> str:
    """Return a headline without the marks of a list and quotes; one model's stray Russian word goes, too."""
    line = _first_line_as_it_is(text).replace("своей", "").strip()
    for mark in ("1. ", "- "):
        if line.startswith(mark):
            line = line.replace(mark, "")
    return line.strip(_QUOTES)


def _whole(text: str) -> str:
    return text


FIRST_LINE = unchanged(_first_line)
FLORES = unchanged(_first_line_as_it_is)
LONGBENCH = unchanged(_first_line_with_its_indent)
RECORD = unchanged(_entity)
LCSTS = unchanged(_headline)
WHOLE = unchanged(_whole)
