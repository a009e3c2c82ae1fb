"""Weights & Biases: one run per Assay run, in the project and mode that its own variables name."""

from __future__ import annotations

import os
import re

from assay.results.trackers.tracked_run import TrackedRun

_LOCAL_MODES = ("offline", "dryrun", "disabled")
_TAG_CHARS = 64
_NAME_CHARS = 128


def find_problem(*, is_offline: bool) -> tuple[str, str] | None:
    """Return what is missing before a run can be logged, and the fix."""
    if is_offline or os.environ.get("WANDB_MODE") in _LOCAL_MODES:
        return None
    import wandb

    if wandb.login(prompt=False):
        return None
    return (
        "wandb has no API key",
        "run `wandb login`, set WANDB_API_KEY, or log into files only with WANDB_MODE=offline",
    )


def log_run(run: TrackedRun, project: str | None, *, is_offline: bool) -> str:
    """Log a run; return where it is."""
    import wandb

    entity, _, name = (project or "").rpartition("/")
    started = wandb.init(
        project=name or os.environ.get("WANDB_PROJECT") or "assay",
        entity=entity or None,
        name=run.name,
        job_type="evaluation",
        config={**run.parameters, **run.tags},
        tags=[one.name[:_TAG_CHARS] for one in run.datasets],
        mode="offline" if is_offline else None,
        reinit="create_new",
        settings=wandb.Settings(console="off", silent=True, disable_git=True, save_code=False),
    )
    code = 1
    try:
        table = wandb.Table(columns=list(run.columns), data=run.rows)
        started.log({**run.metrics, "samples": table})
        artifact = wandb.Artifact(_clean_name(run.name), type="evaluation", metadata=dict(run.tags))
        for path in run.files:
            artifact.add_file(str(path))
        started.log_artifact(artifact)
        code = 0
    finally:
        started.finish(exit_code=code)
    return started.url or f"{os.path.dirname(started.dir)} (send it with `wandb sync`)"


def _clean_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:_NAME_CHARS]
