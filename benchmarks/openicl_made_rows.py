"""Rows that fit an entry of a config, made up: they have its columns, and its labels as right answers.

The texts hold what breaks templates that are filled carelessly: braces, names of other columns in braces, the
mark of the examples, other scripts, line breaks, spaces at either end, nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from assay.dialects.openicl.authored.code import get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL

N_ROWS = 12
_PARTS = ("begin", "round", "end")
_NUMBER = re.compile(r"\d+")
_HOLE = re.compile(r"\{(\w+)\}")
_TEXTS = (
    "How many {name}s are in {row}?",
    "  two lines\nof text, with spaces at its ends ",
    "\\frac{{1}}{{2}} and {{braces}}, {{{name}}}",
    "한국어와 中文, naïve",
    "</E> and <E> and </s>",
    "100 % of $x$, 'quoted' and \"quoted\"",
    "",
    "{other}",
    "\ttab\r\nand a carriage return",
    "a word",
    "[1, 2, 3]",
    "{{}} {{0}} {{ {other} }}",
)
_OF_THE_JUDGE = ("prediction", "obj_gold")
"""What a judge is told beside the row."""
_ANSWERS = ("A", "B", "C", "D", "42", "yes", "no")


def made_splits(entry: DatasetEntry, n_rows: int = N_ROWS) -> dict[str, list[dict[str, Any]]]:
    """Return the splits that an entry reads, with so many rows or more, where it names more."""
    reader = entry.reader_cfg
    n = max([n_rows, *(number + n_rows for number in _numbers(entry))])
    columns = list(_columns(entry))
    labels = _labels(entry)
    splits = dict.fromkeys((reader.train_split, reader.test_split))
    return {
        name: [_row(entry, columns, labels, f"{name} {number}", number) for number in range(n)]
        for name in splits
    }


def _numbers(entry: DatasetEntry) -> Iterator[int]:
    """Yield which rows an entry names: those of its examples, and those that its ranges begin and end at."""
    yield from (int(one) for one in entry.infer_cfg.retriever.arguments.get("fix_id_list") or ())
    yield int(entry.infer_cfg.retriever.arguments.get("ice_num") or 0)
    for said in (entry.reader_cfg.test_range, entry.reader_cfg.train_range):
        if isinstance(said, str):
            yield from (int(one) for one in _NUMBER.findall(said))


def _columns(entry: DatasetEntry) -> Iterator[str]:
    """Yield the columns that an entry reads, and those of its template that it does not name as inputs."""
    reader = entry.reader_cfg
    known = dict.fromkeys(reader.input_columns)
    if reader.output_column is not None:
        known[reader.output_column] = None
    yield from known
    judges = [] if entry.eval_cfg is None else [entry.eval_cfg.evaluator.arguments]
    shown = [one.arguments for one in _templates(entry)]
    for text in _texts([*shown, *judges, entry.judge_infer_cfg]):
        for hole in _HOLE.findall(text):
            if hole not in known and (hole.islower() or len(hole) == 1) and hole not in _OF_THE_JUDGE:
                known[hole] = None
                yield hole


def _templates(entry: DatasetEntry) -> list[Component]:
    infer = entry.infer_cfg
    return [one for one in (infer.prompt_template, infer.ice_template) if one is not None]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _labels(entry: DatasetEntry) -> list[Hashable]:
    """Return the labels that a template has a text for; none where it has one text for all."""
    for component in _templates(entry):
        template = component.arguments.get("template")
        if isinstance(template, Mapping) and not all(key in _PARTS for key in template):
            return list(template)
    return []


def _row(
    entry: DatasetEntry, columns: list[str], labels: list[Hashable], name: str, number: int
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for place, column in enumerate(columns):
        other = columns[(place + 1) % len(columns)]
        text = _TEXTS[(number + 5 * place) % len(_TEXTS)]
        made[column] = text.format(name=column, row=name, other=f"{{{other}}}")
    inferencer = get_short_name(entry.infer_cfg.inferencer.type)
    output = entry.reader_cfg.output_column
    if output is not None:
        answers = labels or _ANSWERS
        made[output] = answers[number % len(answers)]
    if "max_out_len" in made:
        made["max_out_len"] = 7 + number
    if inferencer == "CLPInferencer":
        made["choices"] = ["A", "B", "C"]
    if inferencer == "LLInferencer":
        # The columns hold whole texts, of which it is the end.
        made["cont"] = f" continuation {number}"
        made.update({column: made[column] + made["cont"] for column in entry.reader_cfg.input_columns})
    if inferencer in ("ChatInferencer", "ParallelChatInferencer", "MultiTurnGenInferencer"):
        made.update({column: _dialogue(number) for column in entry.reader_cfg.input_columns[:1]})
    if any(get_short_name(one.type) == MULTIMODAL for one in _templates(entry)):
        made["content"] = f"<AIS_TEXT_START>question {number}<AIS_CONTENT_TAG>"
    for column in _expanded(entry):
        made[column] = _dialogue(number)
    return made


def _expanded(entry: DatasetEntry) -> Iterator[str]:
    """Yield the columns that hold whole messages."""
    for component in _templates(entry):
        for message in component.arguments.get("messages") or ():
            if isinstance(message, Mapping) and "expand_column" in message:
                yield str(message["expand_column"])


def _dialogue(number: int) -> list[dict[str, str]]:
    said = [("user", f"first {number}"), ("assistant", "an answer"), ("user", "second"), ("assistant", "end")]
    return [{"role": role, "content": text} for role, text in said]
