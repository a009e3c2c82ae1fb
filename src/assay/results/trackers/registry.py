"""The trackers by name, and what a person writes to choose one: `mlflow`, `wandb:ENTITY/PROJECT`."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from assay.core.errors import AssayError, Problem, UsageError, listing, suggest_name
from assay.core.text_preview import shorten_text
from assay.results.trackers.tracked_run import TrackedRun

_PACKAGES = {"mlflow": "mlflow", "wandb": "wandb", "trackio": "trackio"}
"""The package that each tracker needs."""
_REASON_CHARS = 400
_USER_INFO = re.compile(r"//[^/@\s]+@")
T = TypeVar("T")


class TrackerError(AssayError):
    """A tracker did not accept a run. The run itself is complete and stored."""


class TrackerChoice(NamedTuple):
    """A tracker, and the experiment or project to log to."""

    tracker: str
    project: str | None
    """None: the one in the tracker's own variables, else `assay`."""

    def __str__(self) -> str:
        return self.tracker if self.project is None else f"{self.tracker}:{self.project}"


def parse_trackers(written: Iterable[str]) -> tuple[TrackerChoice, ...]:
    """Return the trackers that a person named, each once."""
    choices = []
    for one in written:
        name, colon, project = one.strip().partition(":")
        if name not in _PACKAGES or (colon and not project):
            what = f"{one!r} is not a tracker{suggest_name(name, _PACKAGES) if name not in _PACKAGES else ''}"
            fix = f"use one of {listing(_PACKAGES)}, or with an experiment or project, such as mlflow:nightly"
            raise UsageError(Problem("TRACK-001", what, fix))
        choices.append(TrackerChoice(name, project or None))
    return tuple(dict.fromkeys(choices))


def require_trackers(choices: Iterable[TrackerChoice], *, is_offline: bool = False) -> None:
    """Raise unless each tracker is installed and set up."""
    for choice in choices:
        package = _PACKAGES[choice.tracker]
        if find_spec(package) is None:
            what = f"logging to {choice.tracker} needs the package {package}, which is not installed"
            fix = f"pip install 'assay-eval[trackers]', or only this one: pip install {package}"
            raise UsageError(Problem("TRACK-002", what, fix))
        problem = _call_quietly(
            partial(_load(choice.tracker, "find_problem"), is_offline=is_offline),
            f"{choice.tracker} is not usable",
            f"correct the cause, or run without it and log the run later: assay track last --to {choice}",
        )
        if problem is not None:
            raise UsageError(Problem("TRACK-003", *problem))


def log_to_tracker(choice: TrackerChoice, run: TrackedRun, folder: Path, *, is_offline: bool = False) -> str:
    """Log a run to a tracker and return where it is there; raise a TrackerError if it fails."""
    where: str = _call_quietly(
        partial(_load(choice.tracker, "log_run"), run, choice.project, is_offline=is_offline),
        f"{choice.tracker} did not accept the run",
        f"correct the cause, then log the stored run: assay track {folder} --to {choice}",
    )
    return where


def _load(tracker: str, function: str) -> Callable[..., Any]:
    loaded: Callable[..., Any] = getattr(import_module(f"assay.results.trackers.{tracker}_tracker"), function)
    return loaded


def _call_quietly(call: Callable[[], T], what: str, fix: str) -> T:
    """Call a tracker and discard what it prints; turn whatever it raises into a TrackerError."""
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return call()
    except Exception as error:
        text = _USER_INFO.sub("//", " ".join(str(error).split()))
        reason = shorten_text(text, _REASON_CHARS) or type(error).__name__
        raise TrackerError(Problem("TRACK-004", f"{what}: {reason}", fix)) from error
