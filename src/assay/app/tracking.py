"""Log finished runs to experiment trackers: after a run with `track`, and later by `assay track`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

import msgspec

from assay.app.offline.watch import offline_switches
from assay.app.run_names import utc_now
from assay.core.errors import Problem, StoreError
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.run import RunStatus
from assay.results.read import StoredRun
from assay.results.trackers.registry import (
    TrackerChoice,
    TrackerError,
    log_to_tracker,
    parse_trackers,
    require_trackers,
)
from assay.results.trackers.tracked_run import build_tracked_run

RECORD = "tracking.json"
"""The file of a run folder that lists where its results were logged."""


class TrackingEntry(msgspec.Struct, frozen=True):
    """One successful logging of a run."""

    tracker: str
    """As in `--track`."""
    where: str
    made: str
    """UTC, ISO 8601."""
    digest: str
    """Hash of the results that were logged."""


class TrackingResult(msgspec.Struct, frozen=True):
    """The outcome of logging a run to one tracker."""

    tracker: str
    where: str | None = None
    """Where the run is in the tracker; None if the tracker did not accept it."""
    is_new: bool = True
    """False if the same results were logged there before."""
    problem: Problem | None = None


def track_run(
    run: StoredRun, choices: Iterable[TrackerChoice], *, is_offline: bool = False, is_repeated: bool = False
) -> tuple[TrackingResult, ...]:
    """Log a finished run to trackers; a tracker that fails does not prevent the others.

    `is_repeated`: log again even if the same results were logged there before.
    """
    _require_results(run)
    entries = list(_read_entries(run.path))
    current = digest((run.manifest.id, run.metrics()))
    tracked = None
    results = []
    for choice in choices:
        name = str(choice)
        earlier = [one for one in entries if (one.tracker, one.digest) == (name, current)]
        if earlier and not is_repeated:
            results.append(TrackingResult(name, earlier[-1].where, is_new=False))
            continue
        tracked = tracked or build_tracked_run(run)
        try:
            with offline_switches() if is_offline else nullcontext():
                where = log_to_tracker(choice, tracked, run.path, is_offline=is_offline)
        except TrackerError as error:
            results.append(TrackingResult(name, problem=error.problems[0]))
            continue
        entries.append(TrackingEntry(name, where, utc_now(), current))
        (run.path / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(entries), indent=1) + b"\n")
        results.append(TrackingResult(name, where))
    return tuple(results)


def track_stored_run(
    run: StoredRun, written: Iterable[str], *, is_offline: bool = False
) -> tuple[TrackingResult, ...]:
    """Log a stored run to the named trackers, even if it was logged there before."""
    choices = parse_trackers(written)
    require_trackers(choices, is_offline=is_offline)
    return track_run(run, choices, is_offline=is_offline, is_repeated=True)


def _require_results(run: StoredRun) -> None:
    if not run.manifest.status.is_finished:
        is_answered = run.manifest.status is RunStatus.ANSWERED
        what = "the run is not scored yet" if is_answered else "the run is not complete"
        again = "run the same `assay run` again"
        fix = f"{again} with --stage score" if is_answered else again
        raise StoreError(Problem("TRACK-005", what, f"{fix}, then log it", Origin(str(run.path))))


def _read_entries(folder: Path) -> tuple[TrackingEntry, ...]:
    """Return earlier loggings; a damaged list only means that a run may be logged twice."""
    try:
        return msgspec.json.decode((folder / RECORD).read_bytes(), type=tuple[TrackingEntry, ...])
    except (FileNotFoundError, msgspec.DecodeError):
        return ()
