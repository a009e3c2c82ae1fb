"""Trackio: one run per Assay run, in the local database or the Space that its own variables name."""

from __future__ import annotations

import os
import re

from assay.results.trackers.tracked_run import TrackedRun

_REMOTE = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")


def find_problem(*, is_offline: bool) -> tuple[str, str] | None:
    """Return what is missing before a run can be logged, and the fix."""
    remote = next((name for name in _REMOTE if os.environ.get(name)), None)
    if is_offline and remote is not None:
        return f"--offline allows no connection to the server in {remote}", f"unset {remote}"
    return None


def log_run(run: TrackedRun, project: str | None, *, is_offline: bool) -> str:
    """Log a run; return where it is."""
    import trackio

    name = project or os.environ.get("TRACKIO_PROJECT") or "assay"
    started = trackio.init(
        project=name,
        name=run.name,
        space_id=os.environ.get("TRACKIO_SPACE_ID"),
        config={**run.parameters, **run.tags},
        embed=False,
        auto_log_gpu=False,
        auto_log_cpu=False,
    )
    try:
        rows = [dict(zip(run.columns, row, strict=True)) for row in run.rows]
        started.log({**run.metrics, "samples": trackio.Table(data=rows)})
        artifact = trackio.Artifact(re.sub(r"[^A-Za-z0-9_.-]", "_", run.name), type="evaluation")
        for path in run.files:
            artifact.add_file(str(path))
        started.log_artifact(artifact)
    finally:
        # Not `started.finish()`: Trackio would finish it once more when the process ends.
        trackio.finish()
    place = next((os.environ[one] for one in _REMOTE if os.environ.get(one)), str(trackio.TRACKIO_DIR))
    return f'run {started.name} in {place}; to see it: trackio show --project "{name}"'
