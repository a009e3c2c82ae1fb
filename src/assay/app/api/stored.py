"""Work with stored runs from Python: open, score again, import and export them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.app.allowed_failures import SETTING as ALLOW_FAILURES
from assay.app.allowed_failures import AllowedFailures
from assay.app.api.event_loop import run_off_loop
from assay.app.api.result import RunResult, build_rescored_result, open_result
from assay.app.export_run import export_run as write_run
from assay.app.import_log import import_log as read_log
from assay.app.rescore import RescoreResult
from assay.app.rescore import rescore as rescore_run
from assay.app.scorer_selection import ScoringChoices
from assay.app.settings import resolve_settings
from assay.app.stored_runs import find_run
from assay.core.errors import Problem, UsageError, explain_type_error, listing, suggest_name
from assay.results.read import StoredRun


def score(run: str | Path, **choices: Any) -> RunResult:
    """Score the answers of a run folder again, without its model, and return the result.

    Choices have the names of the command line's flags: `assay.score("runs/mine", extract="number")`.
    `judge_prompt` is the text itself. Assay keeps the run's own score and all other scorings.
    """
    return build_rescored_result(rescore_folder(Path(run), choices))


def import_log(
    path: str | Path,
    *,
    format_name: str | None = None,
    out: str | Path | None = None,
    runs_dir: str | Path = "runs",
) -> RunResult:
    """Read the log of another evaluation program as a run, and return the result.

    `format_name`: None: by the content. `out`: the run folder; None: one under `runs_dir`.
    """
    done = read_log(
        Path(path), format_name=format_name, out=None if out is None else Path(out), runs_dir=Path(runs_dir)
    )
    return open_result(done.run)


def load(run: str | Path = "last", *, runs_dir: str | Path | None = None) -> RunResult:
    """Return the result of an earlier run: by its folder, by its id or the beginning of it, or the latest.

    `runs_dir`: the folder of runs; None: as the environment or `assay.toml` says, else `runs`.
    """
    given = {"runs_dir": None if runs_dir is None else str(runs_dir)}
    folder = resolve_settings(given, os.environ, Path.cwd()).values.runs_dir
    return open_result(find_run(str(run), Path(folder)))


def export_run(run: str | Path, format_name: str, out: str | Path | None = None) -> list[Path]:
    """Write a run folder in the format of another program; return the files."""
    return list(write_run(StoredRun(Path(run)), format_name, None if out is None else Path(out))[1])


def rescore_folder(run: Path, choices: Mapping[str, Any]) -> RescoreResult:
    """Score the answers of a run folder again."""
    given = {_CHOICES.get(name, name): value for name, value in choices.items() if value is not None}
    label, offline = given.pop("name", None), given.pop("offline", False)
    allow_failures = given.pop(ALLOW_FAILURES, None)
    allowed = None if allow_failures is None else AllowedFailures.parse(allow_failures)
    if unknown := [name for name in given if name not in ScoringChoices.__struct_fields__]:
        known = [
            *_CHOICES,
            "name",
            "offline",
            ALLOW_FAILURES,
            *(set(ScoringChoices.__struct_fields__) - set(_CHOICES.values())),
        ]
        what = f"unknown choice {unknown[0]!r}{suggest_name(unknown[0], known)}"
        raise UsageError(Problem("USAGE-001", what, f"use one of {listing(sorted(known))}"))
    for name in _CHOICES.values():
        if isinstance(given.get(name), str):
            given[name] = given[name].split(",")
    for name in ("metric_args", "judge_args"):
        if isinstance(given.get(name), Mapping):
            given[name] = {key: str(value) for key, value in given[name].items()}
    try:
        chosen = msgspec.convert(given, ScoringChoices)
    except msgspec.ValidationError as error:
        raise UsageError(Problem("USAGE-001", explain_type_error(error), "correct the value")) from error
    # An offline run is also scored offline, which seals the thread.
    return run_off_loop(
        lambda: rescore_run(run, chosen, label=label, offline=offline, allowed=allowed), must_leave=True
    )


_CHOICES = {"metric": "metrics", "method": "methods", "task": "tasks"}
"""Choices that may have several values: flag name -> field name."""
