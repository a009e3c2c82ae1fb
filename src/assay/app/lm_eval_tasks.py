"""lm-eval's tasks: where their files come from, and the groups that combine their scores."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.backends.cache_dir import cache_dir
from assay.core.errors import Problem, UsageError
from assay.core.summary_group import SummaryGroup
from assay.core.task import Task
from assay.dialects.lm_eval.detect import PREFIX, find_installed_tasks, split_names
from assay.dialects.lm_eval.selection import select_tasks
from assay.dialects.lm_eval.task_index import TaskIndex, load_folder_index

if TYPE_CHECKING:
    from assay.dialects.lm_eval.compile import LmEvalTools
    from assay.sources.hub import LocalHub

INCLUDE_PATH = "include_path"


def find_task_folders(include_path: Iterable[str], dataset_args: Mapping[str, str]) -> list[Path]:
    """Return the folders of task files: the installed lm-eval's, then the included ones.

    The argument `include_path` of task files names folders too, separated by commas.
    """
    installed = find_installed_tasks()
    folders = [] if installed is None else [installed]
    for name in (*include_path, *dataset_args.get(INCLUDE_PATH, "").split(",")):
        if not name.strip():
            continue
        folder = Path(name.strip()).expanduser()
        if not folder.is_dir():
            what = f"--include-path names {name.strip()!r}, which is not a folder"
            raise UsageError(Problem("USAGE-004", what, "name a folder of task files"))
        folders.append(folder)
    return list({folder.resolve(): folder for folder in folders}.values())


def load_task_index(folders: Sequence[Path]) -> TaskIndex:
    """Return the tasks, groups and tags of some folders."""
    return TaskIndex([load_folder_index(folder, cache_dir()) for folder in folders])


def build_lm_eval_tools(name: str, folders: Sequence[Path], hub: LocalHub | None) -> LmEvalTools:
    """Return what the dialect needs of other packages; `folders`: those of task files."""
    from assay.dialects.lm_eval.compile import LmEvalTools
    from assay.dialects.lm_eval.documents import DataPlaces
    from assay.dialects.lm_eval.evaluation import ScoringTools
    from assay.scoring.originals.leap.aggregations import AGGREGATIONS as LEGACY_AGGREGATIONS
    from assay.scoring.originals.lm_eval.filters import FILTERS
    from assay.scoring.originals.lm_eval.library_metrics import load_metric
    from assay.scoring.originals.lm_eval.metrics import AGGREGATIONS, METRICS, TEXT_METRICS
    from assay.scoring.originals.lm_eval.utilities import UTILITIES

    _require_folders(name, folders)
    modules: dict[str, dict[str, Any]] = {
        "lm_eval.api.metrics": {**LEGACY_AGGREGATIONS, **AGGREGATIONS},
        "lm_eval.utils": {**UTILITIES, "logging": logging, "eval_logger": logging.getLogger("lm-eval")},
        "evaluate": {"load": load_metric},
    }
    return LmEvalTools(
        load_task_index(folders),
        folders,
        DataPlaces(hub, cache_dir() / "datasets"),
        ScoringTools(FILTERS, AGGREGATIONS, TEXT_METRICS, METRICS, load_metric),
        modules,
    )


def read_group_scores(
    names: Sequence[str], folders: Sequence[Path], tasks: Sequence[Task]
) -> tuple[SummaryGroup, ...]:
    """Return the scores of the groups among some names, combined from these tasks."""
    from assay.dialects.lm_eval.compile import build_summary_groups

    specs = [task.spec for task in tasks]
    index = load_task_index(folders)
    selections = [select_tasks(split_names(name), index) for name in names]
    return tuple(group for one in selections for group in build_summary_groups(one, specs))


def _require_folders(name: str, folders: Sequence[Path]) -> None:
    if not folders and name.startswith(PREFIX):
        what = f"{name!r} names a task of lm-eval, whose task files are not installed"
        fix = "pip install 'assay-eval[lm-eval]', or name their folder: --include-path FOLDER"
        raise UsageError(Problem("USAGE-004", what, fix))
