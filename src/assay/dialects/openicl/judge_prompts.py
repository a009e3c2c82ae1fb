"""What a judge is shown: the row's columns, then the model's answer, each put in once.

A dataset may keep the text of a judge's prompt in a column, with holes of its own; so the columns are filled
in first. What the model wrote comes last and is looked at by nobody: a model that writes `{obj_gold}` is not
told the right answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.prompt import Message, Prompt
from assay.dialects.openicl.templates.templates import Templates

MAX_TURNS = 8
"""Answers of so many turns can be shown one by one."""
_ANSWER = ("prediction", "model_answer")
_GOLD = ("obj_gold", "gold")
REFERENCE = "reference"
"""The row's column of that name, else the right answer; the original fills it with nothing."""
_RIVAL = "prediction2"
"""Of two answers, the one that stands second."""
JUDGE_FIELDS = (
    *_ANSWER,
    _RIVAL,
    *_GOLD,
    REFERENCE,
    *(f"prediction_r{turn}" for turn in range(1, MAX_TURNS + 1)),
)
"""What a judge's prompt may show beside the columns of the row."""
_ANY_HOLE = re.compile(r"\{(\w+)\}")
_HOLE = re.compile(r"\{(" + "|".join(JUDGE_FIELDS) + r")\}")


def render_judge_prompt(
    templates: Templates,
    fields: Mapping[str, Any],
    gold: Any,
    answer: Any,
    second: str | None = None,
    *,
    is_faithful: bool = False,
) -> Prompt:
    """Return what a judge is shown of a row; `answer`: a text, or one for each turn; `second`: another's."""
    own = {name: value for name, value in fields.items() if name not in JUDGE_FIELDS}
    shown = templates.generation({name: _fill_prompt_column(value, own) for name, value in own.items()}, ())
    told = _build_judge_values(gold, answer) | ({} if second is None else {_RIVAL: second})
    if not is_faithful:
        known = fields.get(REFERENCE)
        told[REFERENCE] = told[_GOLD[0]] if known is None else str(known)

    def filled(text: str) -> str:
        return _HOLE.sub(lambda hole: told.get(hole[1], ""), text)

    if isinstance(shown, str):
        return filled(shown)
    return tuple(Message(message.role, filled(message.text)) for message in shown)


def _fill_prompt_column(value: Any, columns: Mapping[str, Any]) -> Any:
    """Return a column's value; one that has a place for the answer is a prompt itself, to be filled in."""
    if not isinstance(value, str) or not _HOLE.search(value):
        return value
    return _ANY_HOLE.sub(lambda hole: str(columns[hole[1]]) if hole[1] in columns else hole[0], value)


def _build_judge_values(gold: Any, answer: Any) -> dict[str, str]:
    turns: Sequence[Any] = answer if isinstance(answer, list | tuple) else (answer,)
    whole = "\n\n".join(map(str, turns))
    told = {**dict.fromkeys(_ANSWER, whole), **dict.fromkeys(_GOLD, "" if gold is None else str(gold))}
    return told | {f"prediction_r{turn}": str(text) for turn, text in enumerate(turns, 1)}
