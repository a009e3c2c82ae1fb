"""Judge prompts: filled with the row's columns, then with the model's answer, each once.

A dataset may store the text of a judge's prompt in a column, with its own placeholders; so the columns are
filled first. The model's answer is inserted last and never expanded: a model that writes `{obj_gold}` cannot
insert the right answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.prompt import Message, Prompt
from assay.dialects.openicl.templates.templates import Templates

MAX_TURNS = 8
"""Maximum number of turns whose answers have their own placeholders."""
_ANSWER = ("prediction", "model_answer")
_GOLD = ("obj_gold", "gold")
REFERENCE = "reference"
"""The row's column of that name, or else the right answer; the original leaves it empty."""
_RIVAL = "prediction2"
"""The second of two answers."""
JUDGE_FIELDS = (
    *_ANSWER,
    _RIVAL,
    *_GOLD,
    REFERENCE,
    *(f"prediction_r{turn}" for turn in range(1, MAX_TURNS + 1)),
)
"""The placeholders of a judge's prompt, in addition to the row's columns."""
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
    """Return the judge's prompt for a row. `answer`: a text, or one per turn. `second`: the other answer."""
    own = {name: value for name, value in fields.items() if name not in JUDGE_FIELDS}
    shown = templates.generation({name: _fill_prompt_column(value, own) for name, value in own.items()}, ())
    values = _build_judge_values(gold, answer) | ({} if second is None else {_RIVAL: second})
    if not is_faithful:
        known = fields.get(REFERENCE)
        values[REFERENCE] = values[_GOLD[0]] if known is None else str(known)

    def fill(text: str) -> str:
        return _HOLE.sub(lambda hole: values.get(hole[1], ""), text)

    if isinstance(shown, str):
        return fill(shown)
    return tuple(Message(message.role, fill(message.text)) for message in shown)


def _fill_prompt_column(value: Any, columns: Mapping[str, Any]) -> Any:
    """Return a column's value; a value with an answer placeholder is a prompt and is filled in."""
    if not isinstance(value, str) or not _HOLE.search(value):
        return value
    return _ANY_HOLE.sub(lambda hole: str(columns[hole[1]]) if hole[1] in columns else hole[0], value)


def _build_judge_values(gold: Any, answer: Any) -> dict[str, str]:
    turns: Sequence[Any] = answer if isinstance(answer, list | tuple) else (answer,)
    whole = "\n\n".join(map(str, turns))
    values = {**dict.fromkeys(_ANSWER, whole), **dict.fromkeys(_GOLD, "" if gold is None else str(gold))}
    return values | {f"prediction_r{turn}": str(text) for turn, text in enumerate(turns, 1)}
