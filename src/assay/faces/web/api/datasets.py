"""/api/v1/datasets: the registered datasets."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, Router, delete, get, post
from litestar.datastructures import UploadFile
from litestar.enums import RequestEncodingType
from litestar.params import Body, FromPath

from assay.app.team.registering import preview_dataset
from assay.app.team.team import Team
from assay.app.team.texts import BoundedText
from assay.app.team.uploads import Upload, delete_upload, store_upload
from assay.core.roles import Role
from assay.faces.web.api.bodies import DatasetBody, DatasetPreview
from assay.faces.web.api.errors import build_error_specs
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.app import build_error_response, handle_unexpected_error
from assay.faces.web.error_responses import malformed_request_error
from assay.faces.web.security.access import get_bearer, require_role

_AnyRequest = Request[Any, Any, Any]


class UploadForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table to upload, as a multipart form."""

    file: UploadFile
    """The table: .csv, .tsv, .json, .jsonl or .parquet."""
    name: BoundedText
    """The name that evaluations use."""
    meta: UploadFile | None = None
    """A description of its columns, like `<file>.meta.json`."""
    explanation: BoundedText = ""
    """What it tests, in one sentence."""
    abilities: BoundedText = ""
    """The abilities that it tests, separated by commas."""
    headline: BoundedText = ""
    """The metric that the leaderboard shows; empty: the default of its method."""


_MOST_PREVIEWS = 256
"""Maximum number of cached previews, each of which took a process."""
_Form = Annotated[UploadForm, Body(media_type=RequestEncodingType.MULTI_PART)]


def datasets_router(team: Team, slow: SlowWork) -> Router:
    """Return the handlers under /datasets."""

    @get("/", sync_to_thread=True, responses=build_error_specs())
    def list_datasets() -> list[DatasetBody]:
        """List the registered datasets, by name."""
        return [DatasetBody.of(dataset) for dataset in team.datasets.every()]

    previews: OrderedDict[tuple[str, float], DatasetPreview] = OrderedDict()

    @get("/{name:str}", responses=build_error_specs(404, 409, 422, 429))
    async def get_dataset(name: FromPath[str]) -> DatasetPreview:
        """Show a dataset: its columns, first rows and warnings."""
        dataset = await asyncio.to_thread(team.datasets.get, name)
        key = (dataset.name, dataset.added_at)
        if key not in previews:
            tasks = await slow.run(lambda: preview_dataset(team, dataset))
            previews[key] = DatasetPreview(DatasetBody.of(dataset), tasks)
        found = previews[key]
        previews.move_to_end(key)
        if len(previews) > _MOST_PREVIEWS:
            previews.popitem(last=False)
        return found

    @post(
        "/",
        guards=[require_role(Role.OWNER)],
        responses=build_error_specs(409, 413, 422, 429),
        exception_handlers={UnicodeDecodeError: _handle_bad_form_text, LookupError: _handle_bad_form_text},
    )
    async def upload_dataset(request: _AnyRequest, data: _Form) -> DatasetBody:
        """Upload a table. It is checked like `assay check` before it is stored; Python files are rejected."""
        stored = await slow.run(lambda: store_upload(team, _upload(data), get_bearer(request)))
        return DatasetBody.of(stored)

    @delete(
        "/{name:str}",
        sync_to_thread=True,
        guards=[require_role(Role.OWNER)],
        responses=build_error_specs(404, 409),
    )
    def delete_dataset(name: FromPath[str]) -> None:
        """Delete an uploaded dataset that no queued or running evaluation needs. Its runs are kept."""
        delete_upload(team, name)

    handlers = [list_datasets, get_dataset, upload_dataset, delete_dataset]
    return Router("/datasets", route_handlers=handlers, tags=["datasets"])


def _handle_bad_form_text(request: _AnyRequest, error: UnicodeDecodeError | LookupError) -> Response[bytes]:
    """Reject a form with a part that is not text or has an unknown encoding.

    Litestar reads the form before the handler runs, and does not catch these errors.
    """
    if isinstance(error, KeyError | IndexError):
        # An error of our own code, not about encodings.
        return handle_unexpected_error(request, error)
    return build_error_response(malformed_request_error("a part of the form is not valid UTF-8 text"))


def _upload(form: UploadForm) -> Upload:
    return Upload(
        form.name,
        form.file.filename,
        form.file.file.read(),
        None if form.meta is None else form.meta.file.read(),
        form.explanation,
        tuple(part.strip() for part in form.abilities.split(",") if part.strip()),
        form.headline or None,
    )
