"""Submit evaluations; stop, resume and delete them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from assay.app.run_names import short_name, slug
from assay.app.team.messages import Check, CheckedTask, CheckPassed
from assay.app.team.plan import EvaluationSettings, make_plan, require_no_secrets
from assay.app.team.team import Team
from assay.app.team.texts import BoundedText
from assay.app.team.worker import get_log_path
from assay.backends.registry import BACKENDS
from assay.core.errors import Problem, UsageError
from assay.core.roles import Bearer, Role
from assay.core.score import Metric
from assay.core.team import Job, JobState, RegisteredModel
from assay.ledger.jobs import JobRequest
from assay.results.read import StoredRun
from assay.results.store import RunFolder, read_manifest

_LONGEST_LABEL = 100


class EvaluationRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to evaluate a model on some datasets."""

    model: BoundedText
    """The name of a registered model. The owner may also use any value of `--model`."""
    datasets: Annotated[tuple[BoundedText, ...], msgspec.Meta(min_length=1, max_length=200)]
    """Names of registered datasets; they become one run."""
    settings: EvaluationSettings = EvaluationSettings()
    judge: BoundedText | None = None
    """A registered model that grades answers, if the datasets need one."""
    priority: Annotated[int, msgspec.Meta(ge=-10, le=10)] = 0
    """Higher priorities run first."""
    model_args: dict[str, str] = {}
    """Arguments of an unregistered model."""


class SubmittedEvaluation(msgspec.Struct, frozen=True):
    """A queued evaluation, and how its datasets were read."""

    job: Job
    tasks: tuple[CheckedTask, ...]


def submit(team: Team, request: EvaluationRequest, by: Bearer) -> SubmittedEvaluation:
    """Check everything that can be checked without the model, and queue an evaluation."""
    model = _model(team, request, by)
    judge = None if request.judge is None else team.models.get(request.judge)
    datasets = [team.datasets.get(name) for name in dict.fromkeys(request.datasets)]
    of_server = {"runs_dir": team.settings.runs_dir, "offline": team.settings.offline}
    if team.settings.data_root is not None:
        of_server["data_root"] = team.settings.data_root
    plan = make_plan(model, datasets, request.settings, judge=judge, of_server=of_server)
    _require_queue_space(team)
    checked = team.asker.ask(Check(plan, team.settings.allow_python))
    assert isinstance(checked, CheckPassed)
    names = [dataset.name for dataset in datasets]
    label = names[0] if len(names) == 1 else f"{names[0]}+{len(names) - 1}"
    job_request = JobRequest(
        model=model.name,
        datasets=tuple(names),
        settings=plan.to_public_dict(),
        plan=msgspec.json.encode(plan),
        label=slug(f"{label}-{short_name(model.name)}"[:_LONGEST_LABEL]),
        submitted_by=by.name,
        priority=request.priority,
    )
    # Check again when queueing: the first check took a while.
    job = team.queue.submit(job_request, lambda connection: team.datasets.require(connection, datasets))
    return SubmittedEvaluation(job, checked.tasks)


class EvaluationResults(NamedTuple):
    """The results of an evaluation so far."""

    job: Job
    metrics: tuple[Metric, ...] = ()
    """Empty while the evaluation is not complete."""
    notes: tuple[str, ...] = ()


def read_results(team: Team, number: int) -> EvaluationResults:
    """Return the results of an evaluation; empty before its run has begun."""
    job = team.queue.get(number)
    folder = run_folder(team, job).path
    if read_manifest(folder) is None:
        return EvaluationResults(job)
    run = StoredRun(folder)
    return EvaluationResults(job, tuple(run.metrics()), run.manifest.notes)


def stop(team: Team, number: int, by: Bearer) -> Job:
    """Stop an evaluation; its answers are kept."""
    _require_own(team.queue.get(number), by, "stop")
    return team.queue.stop(number)


def resume(team: Team, number: int, by: Bearer) -> Job:
    """Put a stopped or failed evaluation back into the queue."""
    _require_own(team.queue.get(number), by, "resume")
    return team.queue.resume(number)


def delete(team: Team, number: int, by: Bearer) -> None:
    """Delete an evaluation that is not running, with its run."""
    _require_own(team.queue.get(number), by, "delete")
    folder = run_folder(team, team.queue.get(number))
    # Lock first: the evaluation stays while the process of a lost attempt still writes to the folder.
    folder.delete(lambda: team.queue.delete(number))
    get_log_path(team.settings, number).unlink(missing_ok=True)


def run_folder(team: Team, job: Job) -> RunFolder:
    """Return the folder of an evaluation's run."""
    return RunFolder(Path(team.settings.runs_dir) / job.run)


def _model(team: Team, request: EvaluationRequest, by: Bearer) -> RegisteredModel:
    is_registered = any(model.name == request.model for model in team.models.every())
    # A text without colon and slash that is not a backend can only be a mistyped name.
    is_name = request.model not in BACKENDS and ":" not in request.model and "/" not in request.model
    if is_registered or is_name or by.role is not Role.OWNER:
        if request.model_args and is_registered:
            what = f"the model {request.model!r} is registered with its own arguments, but model_args is set"
            raise UsageError(Problem("TEAM-033", what, "remove model_args, or register another model"))
        return team.models.get(request.model)
    require_no_secrets(request.model_args)
    return RegisteredModel(request.model, request.model, request.model_args)


def _require_queue_space(team: Team) -> None:
    waiting = team.queue.count([JobState.QUEUED])
    if waiting >= team.settings.max_waiting:
        what = f"the queue is full: {waiting:,} evaluations are waiting"
        raise UsageError(Problem("TEAM-063", what, "wait until some have finished, or stop some"))


def _require_own(job: Job, by: Bearer, verb: str) -> None:
    if by.role is not Role.OWNER and job.submitted_by != by.name:
        what = f"evaluation {job.id} belongs to {job.submitted_by}; {by.name} may not {verb} it"
        raise UsageError(Problem("TEAM-064", what, f"ask {job.submitted_by} or the owner"))
