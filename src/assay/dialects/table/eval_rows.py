"""The rows of an `eval.yaml` task, with its solvers applied and its options and answers read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assay.core.errors import Problem, listing
from assay.core.ids import make_random
from assay.core.method import Method
from assay.core.task import ComponentSpec
from assay.dialects.shared.choices import build_labels
from assay.dialects.shared.messages import BadConversation, is_conversation, read_turns
from assay.dialects.shared.template import get_field, has_field
from assay.dialects.table.chat_rows import ChatSource
from assay.dialects.table.eval_task import EvalTask
from assay.dialects.table.meta import TableMeta
from assay.dialects.table.row_adapters import AdaptedSource, RowProblem
from assay.sources.delimited import DelimitedSource
from assay.sources.record import Record
from assay.sources.source import Source

MESSAGES_COLUMN, CHOICES_COLUMN, ANSWER_COLUMN = "__messages", "__choices", "__answer"
"""The columns that reading adds to the rows."""
LITERAL_PREFIX = "literal:"
_HOLE = re.compile(r"\{\{|\}\}|\{(?P<name>\w+)\}")
_REASONING_PROMPT = "Think step by step. Then write your answer on a last line of its own, after ANSWER:\n\n"


def read_eval_rows(
    source: Source, meta: TableMeta, task: EvalTask, notes: list[str], seed: int
) -> tuple[Source, TableMeta]:
    """Return the rows as conversations with options and answers, and the completed settings."""
    reader = _EvalRowReader(task, meta.abbr or "", seed, has_cells=isinstance(source, DelimitedSource))
    spec = task.field_spec
    columns = (
        *source.columns,
        MESSAGES_COLUMN,
        ANSWER_COLUMN,
        *((CHOICES_COLUMN,) if spec.choices is not None else ()),
    )
    reading = AdaptedSource(source, columns, reader.read)
    has_choices = spec.choices is not None
    implied = TableMeta(
        data_type="mcq" if has_choices else "qa",
        messages_column=MESSAGES_COLUMN,
        input_columns=(MESSAGES_COLUMN,),
        output_column=ANSWER_COLUMN,
        options=CHOICES_COLUMN if has_choices else None,
        answer_is="label" if has_choices else None,
        id_column=spec.id,
        max_tokens=task.max_tokens,
    )
    merged = meta.merge_over(implied)
    merged = msgspec.structs.replace(
        merged, messages_column=MESSAGES_COLUMN, input_columns=(MESSAGES_COLUMN,), output_column=ANSWER_COLUMN
    )
    shaped = ChatSource.from_messages(reading, MESSAGES_COLUMN, ANSWER_COLUMN)
    notes.append(_note(task))
    if any("model" in one.args for one in task.scorers):
        notes.append("the 'model' of a scorer has no effect; set the judge with --judge")
    return shaped, merged


def find_original_columns(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return the dataset's own names for the columns that reading adds."""
    spec = meta.get("eval_task", {}).get("field_spec")
    if spec is None:
        return {}
    choices = spec.get("choices", "")
    return {
        MESSAGES_COLUMN: spec.get("input", "input"),
        ANSWER_COLUMN: spec.get("target", "target"),
        CHOICES_COLUMN: choices if isinstance(choices, str) else ", ".join(choices),
    }


def build_eval_scorer(task: EvalTask) -> ComponentSpec:
    """Return the scorer for the replies of a task."""
    if task.is_judged:
        (one,) = task.scorers
        return ComponentSpec(
            "row_metrics",
            {"track": Method.GEN, "metrics": {one.name: {"type": "gpt4_eval"}}, "extract": "whole"},
        )
    scorers = [msgspec.to_builtins(one) for one in task.scorers]
    return ComponentSpec(
        "inspect_scores", {"track": Method.GEN, "scorers": scorers, "reducer": task.epoch_reducer or "mean"}
    )


def _note(task: EvalTask) -> str:
    solvers = ", ".join(one.name for one in task.solvers)
    scorers = ", ".join(one.name for one in task.scorers)
    return f"eval.yaml: solvers {solvers}; scorers {scorers}"


class _EvalRowReader:
    """Reads the rows of one task."""

    def __init__(self, task: EvalTask, name: str, seed: int, *, has_cells: bool) -> None:
        self._task = task
        self._has_cells = has_cells
        self._name = name
        self._seed = seed

    def read(self, record: Record) -> dict[str, Any]:
        """Return a row's fields, with conversation, options and answer added."""
        spec = self._task.field_spec
        choices = None if spec.choices is None else self._choices(record, spec.choices)
        answer = self._answer(record, choices)
        if choices is not None and self._task.shuffle_choices:
            choices, answer = self._shuffle_choices(record, choices, answer)
        fields = {**record.fields, MESSAGES_COLUMN: self._messages(record), ANSWER_COLUMN: answer}
        return fields if choices is None else {**fields, CHOICES_COLUMN: choices}

    def _value(self, record: Record, column: str, why: str) -> Any:
        if not has_field(record.fields, column):
            known = listing(record.fields)
            what = f"the row has no field {column!r} (named by field_spec.{why}); its fields are {known}"
            raise _problem(record, column, what, "correct field_spec or the row")
        return get_field(record.fields, column)

    def _choices(self, record: Record, named: str | tuple[str, ...]) -> list[str]:
        value = (
            self._value(record, named, "choices")
            if isinstance(named, str)
            else [self._value(record, one, "choices") for one in named]
        )
        if isinstance(value, Mapping) and isinstance(value.get("text"), list):
            value = value["text"]
        if not isinstance(value, list) or len(value) < 2:
            what = f"the options are {value!r:.80}, expected a list of at least two"
            raise _problem(record, named if isinstance(named, str) else named[0], what, "correct the row")
        return [str(one) for one in value]

    def _answer(self, record: Record, choices: list[str] | None) -> Any:
        target = self._task.field_spec.target
        if target.startswith(LITERAL_PREFIX):
            value: Any = target.removeprefix(LITERAL_PREFIX)
        else:
            value = self._value(record, target, "target")
        if choices is None:
            return value
        labels = build_labels(len(choices))
        several = value if isinstance(value, list) else [value]
        named = [_label(one, labels, self._has_cells) for one in several]
        if value in (None, "") or not several:
            return None
        if len(several) > 1:
            what = f"found {value!r:.60}: several right options are not supported"
            raise _problem(record, target, what, "remove the row, or name one option")
        if None in named:
            known = f"a letter from {labels[0]} to {labels[-1]} or an index from 0 to {len(labels) - 1}"
            raise _problem(record, target, f"found {value!r:.60}, expected {known}", "correct the answer")
        return named if isinstance(value, list) else named[0]

    def _shuffle_choices(self, record: Record, choices: list[str], answer: Any) -> tuple[list[str], Any]:
        """Return the options in an order drawn from the seed and the row, and the answer's new letter."""
        order = list(range(len(choices)))
        make_random(self._seed, self._name, str(record.origin.row), "choices").shuffle(order)
        labels = build_labels(len(choices))
        letters = {labels[old]: labels[new] for new, old in enumerate(order)}
        moved = [letters[one] for one in answer] if isinstance(answer, list) else letters.get(answer)
        return [choices[old] for old in order], moved

    def _messages(self, record: Record) -> list[dict[str, Any]]:
        spec = self._task.field_spec
        value = self._value(record, spec.input, "input")
        if is_conversation(value):
            try:
                turns = [turn.to_openai() for turn in read_turns(value)]
            except BadConversation as trouble:
                raise _problem(record, spec.input, str(trouble), "correct the row") from None
        else:
            if not isinstance(value, str) or not value.strip():
                raise _problem(record, spec.input, f"found {value!r:.60}, expected a text", "correct the row")
            turns = [{"role": "user", "content": value}]
        values = self._collect_values(record)
        for solver in self._task.solvers:
            turns = _SOLVERS[solver.name](turns, solver.args, values)
        image = None if spec.input_image is None else record.fields.get(spec.input_image)
        if isinstance(image, str) and image:
            text = {"type": "text", "text": turns[-1]["content"]}
            turns[-1] = {
                **turns[-1],
                "content": [text, {"type": "image_url", "image_url": {"url": image}}],
            }
        return turns

    def _collect_values(self, record: Record) -> dict[str, Any]:
        """Return the values of a row that templates may use."""
        return {name: self._value(record, name, "metadata") for name in self._task.field_spec.metadata or ()}


def _label(value: Any, labels: tuple[str, ...], is_cell: bool) -> str | None:
    """Return the letter for an answer that is a letter, or an integer counted from 0.

    Digits in a text are ambiguous, as they may count from 1; a csv cell has no other way to write an integer.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return labels[value] if 0 <= value < len(labels) else None
    text = str(value).strip()
    if text in labels:
        return text
    return labels[int(text)] if is_cell and text.isdecimal() and int(text) < len(labels) else None


def _fill_template(template: str, values: Mapping[str, Any]) -> str:
    """Fill `{name}` in a template; `{{` and `}}` are literal braces, unknown names stay unchanged."""

    def fill(match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0][0]
        return str(values[match["name"]]) if match["name"] in values else match[0]

    return _HOLE.sub(fill, template)


Turns = list[dict[str, Any]]


def _prompt_template(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    last = turns[-1]
    given = {**values, **args, "prompt": last["content"]}
    return [*turns[:-1], {**last, "content": _fill_template(args["template"], given)}]


def _system_message(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    system = {"role": "system", "content": _fill_template(args["template"], {**values, **args})}
    at = sum(turn["role"] == "system" for turn in turns)
    return [*turns[:at], system, *turns[at:]]


def _user_message(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    return [*turns, {"role": "user", "content": _fill_template(args["template"], {**values, **args})}]


def _chain_of_thought(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    return _prompt_template(
        turns, {"template": args.get("template") or f"{_REASONING_PROMPT}{{prompt}}"}, values
    )


def _multiple_choice(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    # ChatDialogue adds the options after the last turn.
    return _chain_of_thought(turns, {}, values) if args.get("cot") else turns


def _generate(turns: Turns, args: Mapping[str, Any], values: Mapping[str, Any]) -> Turns:
    return turns


_SOLVERS: Mapping[str, Callable[[Turns, Mapping[str, Any], Mapping[str, Any]], Turns]] = {
    "prompt_template": _prompt_template,
    "system_message": _system_message,
    "user_message": _user_message,
    "chain_of_thought": _chain_of_thought,
    "multiple_choice": _multiple_choice,
    "generate": _generate,
}


def _problem(record: Record, column: str, what: str, fix: str) -> RowProblem:
    return RowProblem(Problem("TABLE-037", what, fix, record.origin.at(column)))
