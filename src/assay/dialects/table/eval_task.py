"""Tasks of a Hugging Face `eval.yaml`: the role of each column, the solvers and the scorers.

The file does not name its data: rows come from the files in the same folder, or from its repository.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, explain_type_error, listing, suggest_name
from assay.core.origin import Origin
from assay.sources.yaml_file import read_yaml

FILE_NAME = "eval.yaml"
ANY_CONFIG = "default"
"""The config of a task without one."""
JUDGE_SCORERS = ("model_graded_qa", "model_graded_fact")
SOLVERS: Mapping[str, tuple[str, ...]] = {
    "prompt_template": ("template", "*"),
    "system_message": ("template", "*"),
    "user_message": ("template", "*"),
    "chain_of_thought": ("template",),
    "generate": ("max_tokens",),
    "multiple_choice": ("cot", "max_tokens"),
}
"""The supported solvers and their arguments; `*`: other arguments fill the template."""
SCORERS: Mapping[str, tuple[str, ...]] = {
    "includes": ("ignore_case",),
    "match": ("location", "ignore_case", "numeric"),
    "pattern": ("pattern", "ignore_case", "match_all"),
    "exact": (),
    "f1": (),
    "choice": (),
    **{name: ("model",) for name in JUDGE_SCORERS},
}
"""The supported scorers and their arguments."""
_UNSUPPORTED = ("answer", "math", "use_tools", "self_critique")
"""Solvers and scorers of inspect that are not supported. No spelling suggestion is made for these."""
_REDUCER = re.compile(r"mean|median|mode|max|pass_at_[1-9]\d*|at_least_[1-9]\d*")
_LOCATIONS = ("begin", "end", "any", "exact")


class FieldSpec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The role of each column."""

    input: str = "input"
    target: str = "target"
    """A column, or `literal:VALUE` for the same answer in all rows."""
    choices: str | tuple[str, ...] | None = None
    """The column that lists the options, or one column per option."""
    id: str | None = None
    metadata: tuple[str, ...] | None = None
    """Columns that templates may use."""
    input_image: str | None = None
    """The image column: a data URL, a web address or a path."""
    description: str | None = None


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A solver or a scorer."""

    name: str
    args: dict[str, Any] = {}


class EvalTask(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One task of the file."""

    field_spec: FieldSpec
    solvers: tuple[Step, ...]
    scorers: tuple[Step, ...]
    id: str | None = None
    config: str = ANY_CONFIG
    split: str = "test"
    shuffle_choices: bool | None = None
    epochs: int = 1
    epoch_reducer: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether a judge scores the replies."""
        return any(one.name in JUDGE_SCORERS for one in self.scorers)

    @property
    def max_tokens(self) -> int | None:
        """Return the maximum reply length, if a solver sets it."""
        return next((one.args["max_tokens"] for one in self.solvers if "max_tokens" in one.args), None)


def is_eval_file(path: Path) -> bool:
    """Whether a path is a file of evaluation tasks, by its name and its keys."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return False
    try:
        document = read_yaml(str(path))
    except AuthorError:
        return path.name == FILE_NAME  # The reader reports what is wrong.
    is_promptfoo = isinstance(document, Mapping) and "tests" in document and "tasks" not in document
    return has_field_specs(document) or (path.name == FILE_NAME and not is_promptfoo)


def has_field_specs(document: Any) -> bool:
    """Whether a document lists tasks with a `field_spec`; tasks of other frameworks have none."""
    tasks = document.get("tasks") if isinstance(document, Mapping) else None
    return isinstance(tasks, list) and any(isinstance(one, Mapping) and "field_spec" in one for one in tasks)


def read_eval_tasks(path: str) -> list[EvalTask]:
    """Return the tasks of a file; raise one error that lists everything unsupported."""
    return read_task_document(read_yaml(path), Origin(path))


def select_tasks(tasks: Sequence[EvalTask], ids: Sequence[str], path: str) -> list[EvalTask]:
    """Return the tasks with these ids, or all tasks without ids; raise AuthorError for an unknown id."""
    known = [task.id for task in tasks if task.id is not None]
    for name in ids:
        if name not in known:
            what = f"there is no task {name!r}{suggest_name(name, known)}; the tasks are {listing(known)}"
            raise AuthorError(_problem(what, Origin(path)))
    return [task for task in tasks if not ids or task.id in ids]


def read_task_document(document: Any, where: Origin) -> list[EvalTask]:
    """Return the tasks of a document from `read_yaml`."""
    written = document.get("tasks") if isinstance(document, Mapping) else None
    if not isinstance(written, list) or not written:
        raise AuthorError(_problem("the file has no 'tasks' list with at least one task", where))
    problems = Problems()
    tasks = [
        task
        for number, one in enumerate(written, 1)
        if (task := problems.collect(lambda one=one, number=number: _task(one, number, where))) is not None  # type: ignore[misc]
    ]
    ids = [task.id for task in tasks]
    if len(written) > 1 and None in ids:
        problems.add(_problem("each of several tasks needs an 'id'", where))
    for name in {one for one in ids if one is not None and ids.count(one) > 1}:
        problems.add(_problem(f"two tasks have the id {name!r}", where))
    problems.raise_if_any()
    return tasks


def _task(written: Any, number: int, where: Origin) -> EvalTask:
    name = written.get("id") if isinstance(written, Mapping) else None
    place = f"task {number}" if name is None else f"task {name!r}"
    try:
        task = msgspec.convert(written, EvalTask)
    except msgspec.ValidationError as error:
        raise AuthorError(_problem(f"{place}: {explain_type_error(error)}", where)) from None
    problems = Problems()
    for what in _faults(task):
        problems.add(_problem(f"{place}: {what}", where))
    problems.raise_if_any()
    return task


def _faults(task: EvalTask) -> list[str]:
    """Return the unsupported parts of a task."""
    faults = [
        *(fault for one in task.solvers if (fault := _describe_unknown(one, "solver", SOLVERS))),
        *(fault for one in task.scorers if (fault := _describe_unknown(one, "scorer", SCORERS))),
    ]
    if faults:
        return faults
    names = [one.name for one in task.solvers]
    if not names or names[-1] not in ("generate", "multiple_choice"):
        faults.append("the last solver must be 'generate' or 'multiple_choice'")
    if any(name in ("generate", "multiple_choice") for name in names[:-1]):
        faults.append(f"solvers after the model's reply are not supported: {listing(names)}")
    if len(set(_names(task))) < len(task.scorers):
        faults.append("a scorer is listed twice")
    if not task.scorers:
        faults.append("there is no scorer")
    if len(task.scorers) > 1 and task.is_judged:
        faults.append("a judge scorer cannot be combined with other scorers")
    if task.field_spec.choices is None and ("multiple_choice" in names or "choice" in _names(task)):
        faults.append("'multiple_choice' and 'choice' need field_spec.choices")
    if task.epochs < 1:
        faults.append(f"'epochs' is {task.epochs}, expected 1 or more")
    if task.epoch_reducer is not None and not _REDUCER.fullmatch(task.epoch_reducer):
        faults.append(f"the epoch_reducer {task.epoch_reducer!r} is not supported")
    elif task.is_judged and task.epoch_reducer not in (None, "mean"):
        faults.append(f"the epoch_reducer {task.epoch_reducer!r} with a judge is not supported")
    return [*faults, *_argument_faults(task)]


def _names(task: EvalTask) -> list[str]:
    return [one.name for one in task.scorers]


def _describe_unknown(step: Step, noun: str, known: Mapping[str, tuple[str, ...]]) -> str | None:
    if step.name not in known:
        hint = "" if step.name in _UNSUPPORTED else suggest_name(step.name, known)
        return f"the {noun} {step.name!r} is not supported{hint}; supported: {listing(known)}"
    allowed = known[step.name]
    others = [] if "*" in allowed else [name for name in step.args if name not in allowed]
    return f"the {noun} {step.name!r} has {listing(others)}, which is not supported" if others else None


def _argument_faults(task: EvalTask) -> list[str]:
    faults = []
    for one in task.solvers:
        template = one.args.get("template")
        needs_template = one.name in ("prompt_template", "system_message", "user_message")
        if needs_template and not isinstance(template, str):
            faults.append(f"the solver {one.name!r} needs 'template', a text")
        shows_prompt = template is None or "{prompt}" in str(template)
        if one.name in ("prompt_template", "chain_of_thought") and not shows_prompt:
            faults.append(f"the template of {one.name!r} does not contain {{prompt}}: {template!r:.60}")
    for one in task.scorers:
        if one.args.get("location", "end") not in _LOCATIONS:
            faults.append(f"'location' is {one.args['location']!r}; expected one of {listing(_LOCATIONS)}")
        if one.name == "pattern":
            faults += _pattern_faults(one.args.get("pattern"))
    return faults


def _pattern_faults(pattern: Any) -> list[str]:
    if not isinstance(pattern, str):
        return ["the scorer 'pattern' needs 'pattern', a regular expression"]
    try:
        re.compile(pattern)
    except re.error as error:
        return [f"the pattern {pattern!r:.60} is not a regular expression: {error}"]
    return []


def _problem(what: str, where: Origin) -> Problem:
    return Problem("TABLE-036", what, "correct the file; docs/guides/table-shapes.md lists its fields", where)
