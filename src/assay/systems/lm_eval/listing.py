"""`ls` and `validate`: the names that --tasks accepts, and whether they work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from assay.app.lm_eval_tasks import find_task_folders, load_task_index
from assay.core.errors import AssayError, Problem
from assay.dialects.lm_eval.config import read_task_keys
from assay.dialects.lm_eval.selection import select_tasks
from assay.dialects.lm_eval.task_index import EntryKind, TaskIndex
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.lm_eval.names import split_tasks

_KINDS: dict[str, tuple[EntryKind, ...]] = {
    "tasks": tuple(EntryKind),
    "groups": (EntryKind.GROUP,),
    "subtasks": (EntryKind.TASK, EntryKind.CLASS),
    "tags": (EntryKind.TAG,),
}
_HEADINGS = {EntryKind.GROUP: "Group", EntryKind.TASK: "Task", EntryKind.CLASS: "Task", EntryKind.TAG: "Tag"}
_COLUMNS = ("Name", "Kind", "Output type", "Config file")


def list_tasks(line: CommandLine) -> int:
    """List the tasks, groups and tags of lm-eval and of --include_path."""
    what = line.flags.what or "tasks"
    if what not in _KINDS:
        raise usage_error(f"ls: found {what!r}, expected tasks, groups, subtasks or tags", "write ls tasks")
    index = open_index(line.flags.include_path)
    rows = [
        (entry.name, _HEADINGS[entry.kind], entry.output_type, entry.path)
        for entry in sorted(index, key=lambda entry: (list(_HEADINGS).index(entry.kind), entry.name))
        if entry.kind in _KINDS[what]
    ]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    for row in (_COLUMNS, tuple("-" * width for width in widths), *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(f"|{'|'.join(cells)}|")
    return 0


def validate_tasks(line: CommandLine) -> int:
    """Check that tasks exist and that their files can be read, without loading data or a model."""
    names = split_tasks(line.flags.tasks)
    click.echo(f"Validating tasks: {names}")
    index = open_index(line.flags.include_path, names)
    problems: list[Problem] = []
    for task in (task for name in names for task in select_tasks([name], index).tasks):
        try:
            if "class" not in task.config:
                read_task_keys(task, lambda reference: lambda *_: reference)
        except AssayError as error:
            problems += error.problems
    if problems:
        raise AssayError(problems)
    click.echo("All tasks found and valid")
    return 0


def open_index(include_path: list[str] | None, names: Sequence[str] | None = None) -> TaskIndex:
    """Return the index of all task files; raise if there are none, unless all names are files."""
    folders = find_task_folders(include_path or (), {})
    needs_folders = names is None or not all(Path(name).exists() for name in names)
    if needs_folders and not folders:
        what = "the task files of lm-eval are not installed"
        raise usage_error(what, "pip install 'assay-eval[lm-eval]', or name a folder: --include_path DIR")
    return load_task_index(folders)
