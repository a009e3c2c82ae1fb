"""The first line of a reply, or all of it: translations, summaries, long contexts."""

from __future__ import annotations

from assay.scoring.originals.opencompass.postprocess.processor import make_unchanged

_QUOTES = "“，。！”"


def _strip_first_line(text: str) -> str:
    return text.strip().split("\n")[0].strip()


def _cut_first_line_unstripped(text: str) -> str:
    return text.strip().split("\n")[0]


def _cut_indented_first_line(text: str) -> str:
    return text.lstrip("\n").split("\n")[0]


def _entity(text: str) -> str:
    return _cut_first_line_unstripped(text).replace("Answer: ", "").strip()


def _headline(text: str) -> str:
    """Return a headline without the marks of a list and quotes; one model's stray Russian word goes, too."""
    line = _cut_first_line_unstripped(text).replace("своей", "").strip()
    for mark in ("1. ", "- "):
        if line.startswith(mark):
            line = line.replace(mark, "")
    return line.strip(_QUOTES)


def _keep_text(text: str) -> str:
    return text


FIRST_LINE = make_unchanged(_strip_first_line)
FLORES = make_unchanged(_cut_first_line_unstripped)
LONGBENCH = make_unchanged(_cut_indented_first_line)
RECORD = make_unchanged(_entity)
LCSTS = make_unchanged(_headline)
WHOLE = make_unchanged(_keep_text)
