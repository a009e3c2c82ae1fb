"""Programs in replies to MBPP, between the marks of its prompt: [BEGIN] and [DONE]. Nothing is run here.

OpenCompass and AISBench do this inside their evaluators, with twenty patterns in order. Here each is an
opening and a closing mark, the first and the last of its kind: the patterns would take very long over replies
with much white space.
"""

from __future__ import annotations

import re

from assay.scoring.originals.opencompass.postprocess.code import first_block
from assay.scoring.originals.opencompass.postprocess.processor import make_unchanged

_OPENINGS = (r"\[BEGIN\]", "BEGIN")
_CLOSINGS = (r"\[DONE\]", "DONE")
_QUOTE_PAIRS = (("'", "'"), ("'", ""), ("", ""))
_CODE_FENCE = "```"
_MARKS = tuple(
    (re.compile(opening), None if closing is None else re.compile(f"(?={closing})"))
    for opening, closing in (
        *(
            (rf"{opening}\s*{before}", rf"{after}\s*{closing}" if after else closing)
            for before, after in _QUOTE_PAIRS
            for closing in _CLOSINGS
            for opening in _OPENINGS
        ),
        (rf"{_CODE_FENCE}python\s*", _CODE_FENCE),
        (rf"{_CODE_FENCE}\s*", _CODE_FENCE),
        (rf"{_CODE_FENCE}python\s*", None),
        (rf"{_CODE_FENCE}\s*", None),
        (r"\A", _CODE_FENCE),
        (r"\[BEGIN\]\s*'", None),
        (r"\[BEGIN\]", None),
        ("'", r"'\s*\[DONE\]"),
    )
)
"""Pairs of marks in the order in which they are tried; None: the program goes on to the end."""
_DONE = re.compile(r"\[?DONE")
_OWN_TESTS = re.compile("# ?[Tt]est")
_INTRODUCTION = "Here"
_DONE_QUOTED = re.compile(r"(?:'\s*)?\[?DONE")
_BEGIN_QUOTED = re.compile(r"BEGIN\]?(?:'\s*)?")


def _find_marked_program(text: str) -> str:
    for opening, closing in _MARKS:
        begun = opening.search(text)
        if begun is None:
            continue
        if closing is None:
            text = text[begun.end() :]
            break
        ends = [end.start() for end in closing.finditer(text, begun.end())]
        if ends:
            text = text[begun.end() : ends[-1]]
            break
    return _cut_at_done(text.split(_CODE_FENCE)[0]).replace(r"\_", "_").strip()


def _cut_at_done(text: str) -> str:
    done = _DONE.search(text)
    return text[: done.start()].rstrip().removesuffix("'") if done else text


def _find_block_program(text: str) -> str:
    """Return the program of a chat reply, without tests of its own."""
    text = first_block(text) if _CODE_FENCE in text else _drop_introduction(text)
    program = _OWN_TESTS.split(text, maxsplit=1)[0].strip()
    program = _DONE_QUOTED.split(program, maxsplit=1)[0]
    return _BEGIN_QUOTED.split(program, maxsplit=1)[-1].strip().removeprefix("'")


def _drop_introduction(text: str) -> str:
    """Return a text without the end of the line that says `Here is ...`."""
    before, _, after = text.partition(_INTRODUCTION)
    return before + after.partition("\n")[2] if "\n" in after else text


MBPP_EVALUATOR = make_unchanged(_find_marked_program)
MBPP_EVALUATOR_2 = make_unchanged(_find_block_program)
