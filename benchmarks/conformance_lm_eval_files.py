"""Which of lm-eval's task files Assay reads: every file of the package loads, or has a reason.

    python -m benchmarks.conformance_lm_eval_files --python PYTHON           # prints the table
    python -m benchmarks.conformance_lm_eval_files --python PYTHON --write   # puts it into RESULTS.md

Loading a task means: its includes, its keys and their types, every `!function` with the author's file that it
is in, its filters and its metrics. No data is read and no model is asked.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.app.lm_eval_tasks import build_lm_eval_tools
from assay.core.errors import AssayError
from assay.dialects.lm_eval.compile import LmEvalTools
from assay.dialects.lm_eval.config import read_task_keys, resolve_functions
from assay.dialects.lm_eval.evaluation import TaskScoring
from assay.dialects.lm_eval.functions import AuthorFunctions, build_package
from assay.dialects.lm_eval.rendering import DocumentReader
from assay.dialects.lm_eval.selection import SelectedTask, select_tasks
from assay.dialects.lm_eval.task_index import EntryKind, IndexEntry, find_task_files
from assay.results.rows import markdown_table
from benchmarks.conformance_lm_eval import find_package_tasks, shorten_reason
from benchmarks.peers import peer_python
from benchmarks.record import add_output_options, hand_over, setting

_PACKAGE = re.compile(
    r"imports '([\w.]+)', which is not installed|pip install ([\w\[\]\"-]+)|(\w+) is not installed"
    r"|No module named '([\w.]+)'|`([\w.-]+)`.*(?:required|are required|packages)"
)


class Loaded(NamedTuple):
    """What happened to the files of a folder."""

    n_files: int
    n_tasks: int
    n_groups: int
    skipped: Counter[str]
    failed: dict[str, str]
    """Why a task did not load, by its name."""


def main() -> None:
    """Load every file, and hand the table over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="a python that has lm-eval [one is made]")
    add_output_options(parser)
    options = parser.parse_args()
    folder = find_package_tasks(peer_python("lm-eval", options.python))
    sys.path.append(str(folder.parents[1]))
    tools = build_lm_eval_tools("lm_eval:", [folder], None)
    hand_over("conformance_lm_eval_files", section(load_files(folder, tools)), options)


def load_files(folder: Path, tools: LmEvalTools) -> Loaded:
    """Load every task and group of a folder."""
    package, filters = build_package(tools.scoring.filters, tools.modules)
    functions = AuthorFunctions(tools.roots, package)
    tools = tools._replace(scoring=tools.scoring._replace(filters=filters))
    failed: dict[str, str] = {}
    entries = [entry for entry in tools.tasks if entry.kind is not EntryKind.TAG]
    for entry in entries:
        try:
            load_entry(entry, tools, functions)
        except AssayError as error:
            failed[entry.name] = error.problems[0].what
        except (Exception, SystemExit) as error:  # noqa: BLE001 (authors' code may raise or exit)
            failed[entry.name] = f"{type(error).__name__}: {error}"
    skipped = Counter(describe_skipped(file.why) for file in tools.tasks.skipped)
    n_groups = sum(entry.kind is EntryKind.GROUP for entry in entries)
    return Loaded(len(find_task_files(folder)), len(entries) - n_groups, n_groups, skipped, failed)


def load_entry(entry: IndexEntry, tools: LmEvalTools, functions: AuthorFunctions) -> None:
    """Load one task, or resolve one group; raise what is wrong with it."""
    selection = select_tasks([entry.name], tools.tasks)
    if entry.kind is EntryKind.GROUP:
        return
    task: SelectedTask = selection.tasks[0]
    if entry.kind is EntryKind.CLASS:
        resolve_functions(task.config, functions.resolve)
        return
    keys = read_task_keys(task, functions.resolve)
    reader = DocumentReader((), keys.where, has_choices=keys.doc_to_choice is not None)
    TaskScoring(keys, reader, tools.scoring, has_several_contexts=False, has_several_targets=False)


def describe_skipped(why: str) -> str:
    """Return why a file is no task, without its path."""
    return "has the name of an earlier file" if "has the same name" in why else why[:70]


def find_package(why: str) -> str | None:
    """Return the package that a task needs and that is not there; None for another reason."""
    found = _PACKAGE.search(why)
    if "Hugging Face Hub" in why or "not installed or not in PATH" in why:
        return "a metric of the hub" if "Hub" in why else "a program"
    return None if found is None else next(filter(None, found.groups()), "").strip("\"'")


def section(loaded: Loaded) -> str:
    """Return the table, and every reason."""
    packages = {name: find_package(why) for name, why in loaded.failed.items()}
    lacking = Counter(package for package in packages.values() if package is not None)
    others = {name: why for name, why in loaded.failed.items() if packages[name] is None}
    n = loaded.n_tasks + loaded.n_groups
    able = n - lacking.total()
    rows = [
        ["files", f"{loaded.n_files:,}"],
        *([f"no task or group: {why}", f"{count:,}"] for why, count in loaded.skipped.most_common()),
        ["tasks", f"{loaded.n_tasks:,}"],
        ["groups", f"{loaded.n_groups:,}"],
        *([f"not loaded: needs {package}", f"{count:,}"] for package, count in lacking.most_common()),
        ["not loaded: another reason", f"{len(others):,}"],
        ["**loaded, of those that need no missing package**", f"**{(able - len(others)) / able:.2%}**"],
    ]
    reasons = [f"- `{name}`: {shorten_reason(why)}" for name, why in sorted(others.items())]
    return "\n".join([setting(), "", markdown_table(["lm-eval 0.4.13", "number"], rows), "", *reasons])


if __name__ == "__main__":
    main()
