"""Tags and notes of runs and samples, as JSON."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, get, put
from litestar.params import FromPath, JSONBody

from assay.app.annotations import RunAnnotations
from assay.core.annotation import MOST_NOTE_CHARS, MOST_TAGS, Annotation
from assay.core.roles import Role
from assay.faces.web.answers import build_json_response
from assay.faces.web.open_runs import RunCache
from assay.faces.web.security.access import get_bearer, require_role
from assay.faces.web.security.gate import NOBODY

_AnyRequest = Request[Any, Any, Any]


class AnnotationBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tags and the note of a run, or of a sample."""

    task: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    sample: Annotated[str, msgspec.Meta(max_length=4000)] = ""
    """Empty with an empty task: the run itself."""
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_TAGS)] = ()
    note: Annotated[str, msgspec.Meta(max_length=MOST_NOTE_CHARS)] = ""


def annotations_router(cache: RunCache, store: RunAnnotations) -> Router:
    """Return the handlers of tags and notes under /data."""

    @get("/annotations", sync_to_thread=True)
    def of_runs(request: _AnyRequest) -> Response[bytes]:
        """Show the tags and notes of all runs, without those of samples."""
        return build_json_response(request, store.of_runs(cache.runs.list_runs().folders))

    @get("/runs/{name:str}/annotations", sync_to_thread=True)
    def of_run(request: _AnyRequest, name: FromPath[str]) -> Response[bytes]:
        """Show the tags and notes of a run and its samples."""
        return build_json_response(request, store.of_run(cache.folder(name)))

    @put("/runs/{name:str}/annotations", sync_to_thread=True, guards=[require_role(Role.RUNNER)])
    def change(request: _AnyRequest, name: FromPath[str], data: JSONBody[AnnotationBody]) -> Response[bytes]:
        """Replace the tags and the note of a run or a sample; without both, remove them."""
        author = get_bearer(request).name
        annotation = Annotation(
            name, data.task, data.sample, data.tags, data.note, "" if author == NOBODY else author
        )
        return build_json_response(request, store.put(cache.folder(name), annotation))

    return Router("/data", route_handlers=[of_runs, of_run, change])
