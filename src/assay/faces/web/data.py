"""The data of pages: the list of runs, a run, its samples, and change events."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, Response, Router, get
from litestar.params import FromPath, QueryParameter
from litestar.response import Stream

from assay.app.viewed_runs import stamp_run
from assay.faces.web.answers import build_response
from assay.faces.web.events import Streams
from assay.faces.web.media import build_media_response
from assay.faces.web.open_runs import RunCache

_AnyRequest = Request[Any, Any, Any]
_Number = Annotated[int, QueryParameter(ge=0, le=1 << 40)]
_Revision = Annotated[str | None, QueryParameter(max_length=64)]


def data_router(cache: RunCache, streams: Streams) -> Router:
    """Return the handlers under /data."""

    @get("/runs", sync_to_thread=True)
    def runs(request: _AnyRequest) -> Response[bytes]:
        """List the runs."""
        return build_response(request, cache.list_runs())

    @get("/events")
    async def list_events() -> Stream:
        """Send an event when the list of runs changes."""
        return streams.open(lambda: cache.runs.list_runs().revision)

    @get("/runs/{name:str}", sync_to_thread=True)
    def run(request: _AnyRequest, name: FromPath[str]) -> Response[bytes]:
        """Show a run without its samples."""
        return build_response(request, cache.page(name))

    @get("/runs/{name:str}/samples", sync_to_thread=True)
    def samples(
        request: _AnyRequest,
        name: FromPath[str],
        first: _Number = 0,
        revision: _Revision = None,
        changes: _Number = 0,
    ) -> Response[bytes]:
        """List samples as columns from a place on; with a revision, only new and changed samples."""
        had = None if revision is None else (revision, changes)
        return build_response(request, cache.table(name, first, had))

    @get("/runs/{name:str}/samples/{place:int}", sync_to_thread=True)
    def sample(request: _AnyRequest, name: FromPath[str], place: FromPath[int]) -> Response[bytes]:
        """Show a complete sample."""
        return build_response(request, cache.detail(name, place))

    @get("/runs/{name:str}/media/{sha256:str}", sync_to_thread=True)
    def media(request: _AnyRequest, name: FromPath[str], sha256: FromPath[str]) -> Response[bytes] | Stream:
        """Send an image, audio or video stored with the run."""
        return build_media_response(request, cache.folder(name), sha256)

    @get("/runs/{name:str}/events", sync_to_thread=True)
    def run_events(name: FromPath[str]) -> Stream:
        """Send an event when a run grows."""
        cache.folder(name)
        return streams.open(lambda: stamp_run(cache.folder(name), with_responses=True))

    return Router("/data", route_handlers=[runs, list_events, run, samples, sample, media, run_events])
