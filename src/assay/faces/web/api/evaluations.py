"""/api/v1/evaluations: start, watch, stop, resume, delete, and read results."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, delete, get, post
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter
from litestar.response import Stream

from assay.app.team import evaluations
from assay.app.team.evaluations import EvaluationRequest
from assay.app.team.team import Team
from assay.core.roles import Role
from assay.core.team import LARGEST_NUMBER, JobState
from assay.faces.web.api.bodies import EvaluationBody, ResultsBody, StartedBody
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.events import GONE, Streams, StreamUpdate
from assay.faces.web.security.access import get_bearer, require_role

_AnyRequest = Request[Any, Any, Any]
_Limit = Annotated[int, QueryParameter(ge=1, le=500, description="Maximum number of results.")]
_States = Annotated[
    list[JobState] | None, QueryParameter(name="state", description="Only evaluations in these states.")
]
_Before = Annotated[
    int | None,
    QueryParameter(
        ge=1, le=LARGEST_NUMBER, description="Only evaluations with a lower number, for the next page."
    ),
]
_VERSION = re.compile(r"[0-9]{1,10}")
_LastId = Annotated[
    str | None,
    HeaderParameter(
        name="last-event-id", description="The id of the last received event, to continue from it."
    ),
]


def evaluations_router(team: Team, streams: Streams, slow: SlowWork) -> Router:
    """Return the handlers under /evaluations."""

    @get("/", sync_to_thread=True, responses=build_error_specs())
    def list_evaluations(
        states: _States = None, limit: _Limit = 100, before: _Before = None
    ) -> list[EvaluationBody]:
        """List evaluations, newest first."""
        return [EvaluationBody.of(job) for job in team.queue.jobs(states or (), at_most=limit, before=before)]

    @post("/", guards=[require_role(Role.RUNNER)], responses=build_error_specs(404, 409, 422, 429))
    async def start_evaluation(request: _AnyRequest, data: JSONBody[EvaluationRequest]) -> StartedBody:
        """Start an evaluation: check everything that needs no model, then queue it."""
        submitted = await slow.run(lambda: evaluations.submit(team, data, get_bearer(request)))
        return StartedBody(EvaluationBody.of(submitted.job), submitted.tasks)

    @get("/events", responses=build_error_specs(), media_type="text/event-stream")
    async def watch_evaluations() -> Stream:
        """Watch the list with server-sent events: `changed`, at most twice a second, means to reload it."""
        return streams.open(team.queue.revision)

    @get("/{number:int}", sync_to_thread=True, responses=build_error_specs(404))
    def get_evaluation(number: FromPath[int]) -> EvaluationBody:
        """Show an evaluation."""
        return EvaluationBody.of(team.queue.get(number))

    @get(
        "/{number:int}/events",
        sync_to_thread=True,
        responses=build_error_specs(404),
        media_type="text/event-stream",
    )
    def watch_evaluation(number: FromPath[int], last_id: _LastId = None) -> Stream | Response[bytes]:
        """Watch an evaluation with server-sent events, each of which contains the whole evaluation.

        The events are `progress`, then `end`, or `gone` if it was deleted; then the stream ends. To
        reconnect, send the header Last-Event-ID; the response is 204 if no more events will follow.
        """
        seen = int(last_id) if last_id is not None and _VERSION.fullmatch(last_id) else 0
        job = team.queue.get(number)
        if job.has_ended and job.version <= seen:
            return Response(b"", status_code=204)
        return streams.follow(_Watch(team, number, seen).look)

    @post(
        "/{number:int}/stop",
        sync_to_thread=True,
        guards=[require_role(Role.RUNNER)],
        responses=build_error_specs(404),
        status_code=200,
    )
    def stop_evaluation(request: _AnyRequest, number: FromPath[int]) -> EvaluationBody:
        """Stop an evaluation and keep its answers. A running one is `stopping` until its worker ends."""
        return EvaluationBody.of(evaluations.stop(team, number, get_bearer(request)))

    @post(
        "/{number:int}/resume",
        sync_to_thread=True,
        guards=[require_role(Role.RUNNER)],
        responses=build_error_specs(404, 409),
        status_code=200,
    )
    def resume_evaluation(request: _AnyRequest, number: FromPath[int]) -> EvaluationBody:
        """Put a stopped or failed evaluation back into the queue; it resumes from the stored answers."""
        return EvaluationBody.of(evaluations.resume(team, number, get_bearer(request)))

    @delete(
        "/{number:int}",
        sync_to_thread=True,
        guards=[require_role(Role.RUNNER)],
        responses=build_error_specs(404, 409),
    )
    def delete_evaluation(request: _AnyRequest, number: FromPath[int]) -> None:
        """Delete an evaluation that is not running, with its run."""
        evaluations.delete(team, number, get_bearer(request))

    @get("/{number:int}/results", sync_to_thread=True, responses=build_error_specs(404))
    def get_results(number: FromPath[int]) -> ResultsBody:
        """Return the results: every metric with counts and interval."""
        job, metrics, notes = evaluations.read_results(team, number)
        return ResultsBody(job.id, job.state, job.run, metrics, notes)

    handlers = [
        list_evaluations,
        start_evaluation,
        watch_evaluations,
        get_evaluation,
        watch_evaluation,
        stop_evaluation,
        resume_evaluation,
        delete_evaluation,
        get_results,
    ]
    return Router("/evaluations", route_handlers=handlers, tags=["evaluations"])


class _Watch:
    """A watcher of an evaluation, and the last version sent to it."""

    def __init__(self, team: Team, number: int, seen: int) -> None:
        self._team = team
        self._number = number
        self._seen = seen

    def look(self) -> StreamUpdate:
        """Return the evaluation, if it has changed."""
        job = self._team.queue.find(self._number)
        if job is None:
            return StreamUpdate(GONE, is_last=True)
        if job.version <= self._seen:
            return StreamUpdate(None, job.has_ended)
        self._seen = job.version
        body = msgspec.json.encode(EvaluationBody.of(job))
        name = b"end" if job.has_ended else b"progress"
        return StreamUpdate(b"id: %d\nevent: %s\ndata: %s\n\n" % (job.version, name, body), job.has_ended)
