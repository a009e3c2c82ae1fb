"""Detect lm-eval's tasks by names and keys, without running anything.

`lm_eval:NAME` names a task, a group, a tag or a pattern of an installed lm-eval or of the folders in
`include_path`; several are separated by commas. A task file or a folder of task files is named by its path.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

PREFIX = "lm_eval:"
_SUFFIXES = (".yaml", ".yml")
_NAME_KEY = re.compile(rb"^[\"']?(?:task|group)[\"']?\s*:", re.MULTILINE)
_TASK_KEY = re.compile(
    rb"^[\"']?(?:dataset_path|doc_to_text|doc_to_target|output_type|include|aggregate_metric_list"
    rb"|metric_list|custom_dataset|group|class)[\"']?\s*:",
    re.MULTILINE,
)


def is_task_file(name: str) -> bool:
    """Return whether a name is one of lm-eval's tasks, a task file, or a folder of task files."""
    if name.startswith(PREFIX):
        return True
    path = Path(name)
    if path.is_dir():
        return any(map(_has_task_keys, sorted(path.glob("*.yaml"))))
    return path.suffix in _SUFFIXES and path.is_file() and _has_task_keys(path)


def split_names(name: str) -> list[str]:
    """Return the single names in `lm_eval:A,B`; a path is one name."""
    if not name.startswith(PREFIX):
        return [name]
    return [part.strip() for part in name.removeprefix(PREFIX).split(",") if part.strip()]


def find_installed_tasks() -> Path | None:
    """Return the task files of the installed lm-eval; None without it. Imports nothing of it."""
    spec = find_spec("lm_eval")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / "tasks"
        if folder.is_dir():
            return folder
    return None


def _has_task_keys(path: Path) -> bool:
    try:
        text = path.read_bytes()
    except OSError:
        return False
    return _NAME_KEY.search(text) is not None and _TASK_KEY.search(text) is not None
