"""Tasks of a Hugging Face `eval.yaml`: which columns are what, how the model is asked, what scores it.

The file names no data: rows come from the files beside it, or from the repository that it is in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.sources.yaml_file import read_yaml

FILE_NAME = "eval.yaml"
ANY_CONFIG = "default"
"""The config of a task that names none."""
JUDGE_SCORERS = ("model_graded_qa", "model_graded_fact")
SOLVERS: Mapping[str, tuple[str, ...]] = {
    "prompt_template": ("template", "*"),
    "system_message": ("template", "*"),
    "user_message": ("template", "*"),
    "chain_of_thought": ("template",),
    "generate": ("max_tokens",),
    "multiple_choice": ("cot", "max_tokens"),
}
"""The solvers that can be run, with their arguments; `*`: any others fill the template."""
SCORERS: Mapping[str, tuple[str, ...]] = {
    "includes": ("ignore_case",),
    "match": ("location", "ignore_case", "numeric"),
    "pattern": ("pattern", "ignore_case", "match_all"),
    "exact": (),
    "f1": (),
    "choice": (),
    **{name: ("model",) for name in JUDGE_SCORERS},
}
"""The scorers that can be run, with their arguments."""
_UNSUPPORTED = ("answer", "math", "use_tools", "self_critique")
"""Solvers and scorers of inspect that cannot be run: no misspelling of others."""
_REDUCER = re.compile(r"mean|median|mode|max|pass_at_[1-9]\d*|at_least_[1-9]\d*")
_LOCATIONS = ("begin", "end", "any", "exact")


class FieldSpec(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which column is what."""

    input: str = "input"
    target: str = "target"
    """A column, or `literal:VALUE` for one answer to all rows."""
    choices: str | tuple[str, ...] | None = None
    """The column that lists the options, or the columns that hold one each."""
    id: str | None = None
    metadata: tuple[str, ...] | None = None
    """Columns that templates may name."""
    input_image: str | None = None
    """The column that holds an image: a data URL, an address or a path."""
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
        """Whether a judge decides."""
        return any(one.name in JUDGE_SCORERS for one in self.scorers)

    @property
    def max_tokens(self) -> int | None:
        """Return how long replies may be, where a solver says it."""
        return next((one.args["max_tokens"] for one in self.solvers if "max_tokens" in one.args), None)


def is_eval_file(path: Path) -> bool:
    """Whether a path is a file of evaluation tasks, by its name and its keys."""
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return False
    try:
        document = read_yaml(str(path))
    except AuthorError:
        return path.name == FILE_NAME  # Whoever reads it says what is wrong with it.
    is_promptfoo = isinstance(document, Mapping) and "tests" in document and "tasks" not in document
    return has_field_specs(document) or (path.name == FILE_NAME and not is_promptfoo)


def has_field_specs(document: Any) -> bool:
    """Whether a document lists tasks that say which column is what; those of other frameworks do not."""
    tasks = document.get("tasks") if isinstance(document, Mapping) else None
    return isinstance(tasks, list) and any(isinstance(one, Mapping) and "field_spec" in one for one in tasks)


def read_eval_tasks(path: str) -> list[EvalTask]:
    """Return the tasks of a file; everything that cannot be run is rejected by name, all at once."""
    return read_task_document(read_yaml(path), Origin(path))


def select_tasks(tasks: Sequence[EvalTask], ids: Sequence[str], path: str) -> list[EvalTask]:
    """Return the tasks of some ids, or all where none is given; AuthorError for an id that no task has."""
    known = [task.id for task in tasks if task.id is not None]
    for name in ids:
        if name not in known:
            what = f"there is no task {name!r}{suggest_name(name, known)}; the tasks are {listing(known)}"
            raise AuthorError(_problem(what, Origin(path)))
    return [task for task in tasks if not ids or task.id in ids]


def read_task_document(document: Any, where: Origin) -> list[EvalTask]:
    """Return the tasks that a document describes, as `read_yaml` returns it."""
    written = document.get("tasks") if isinstance(document, Mapping) else None
    if not isinstance(written, list) or not written:
        raise AuthorError(_problem("the file has no list 'tasks' with a task in it", where))
    problems = Problems()
    tasks = [
        made
        for number, one in enumerate(written, 1)
        if (made := problems.collect(lambda one=one, number=number: _task(one, number, where))) is not None  # type: ignore[misc]
    ]
    ids = [task.id for task in tasks]
    if len(written) > 1 and None in ids:
        problems.add(_problem("a file of several tasks needs an 'id' for each", where))
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
        raise AuthorError(_problem(f"{place}: {error}", where)) from None
    problems = Problems()
    for what in _faults(task):
        problems.add(_problem(f"{place}: {what}", where))
    problems.raise_if_any()
    return task


def _faults(task: EvalTask) -> list[str]:
    """Return what of a task cannot be run."""
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
        faults.append("it names a scorer twice")
    if not task.scorers:
        faults.append("it names no scorer")
    if len(task.scorers) > 1 and task.is_judged:
        faults.append("a scorer that asks a judge is supported only by itself")
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
        return f"the {noun} {step.name!r} is not supported{hint}; supported are {listing(known)}"
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
            faults.append(f"the template of {one.name!r} does not show {{prompt}}: {template!r:.60}")
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
