"""/api/v1/datasets: what models may be evaluated on."""

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
    """A table that is uploaded, as a form of several parts."""

    file: UploadFile
    """The table: .csv, .tsv, .json, .jsonl or .parquet."""
    name: BoundedText
    """How evaluations name it."""
    meta: UploadFile | None = None
    """What describes its columns, as `<file>.meta.json` does."""
    explanation: BoundedText = ""
    """What it tests, in a sentence."""
    abilities: BoundedText = ""
    """The abilities that it tests, with commas between."""
    headline: BoundedText = ""
    """The one metric that the leaderboard shows; empty: the one that its method is judged by."""


_MOST_PREVIEWS = 256
"""Looks at datasets that are kept: each took a process."""
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
        """Show a dataset: its columns, its first rows, and what is odd about it."""
        dataset = await asyncio.to_thread(team.datasets.get, name)
        key = (dataset.name, dataset.added_at)
        if key not in previews:
            tasks = await slow.done(lambda: preview_dataset(team, dataset))
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
        """Upload a table. It is checked as `assay check` does before it is kept; Python is never taken."""
        kept = await slow.done(lambda: store_upload(team, _upload(data), get_bearer(request)))
        return DatasetBody.of(kept)

    @delete(
        "/{name:str}",
        sync_to_thread=True,
        guards=[require_role(Role.OWNER)],
        responses=build_error_specs(404, 409),
    )
    def delete_dataset(name: FromPath[str]) -> None:
        """Delete an uploaded dataset that no waiting or running evaluation needs. Runs on it stay."""
        delete_upload(team, name)

    handlers = [list_datasets, get_dataset, upload_dataset, delete_dataset]
    return Router("/datasets", route_handlers=handlers, tags=["datasets"])


def _handle_bad_form_text(request: _AnyRequest, error: UnicodeDecodeError | LookupError) -> Response[bytes]:
    """Refuse a form with a part that is no text, or is in an encoding that nobody knows.

    Litestar reads the form before the handler runs, and lets these errors of Python out.
    """
    if isinstance(error, KeyError | IndexError):
        # Our own, and no word on encodings.
        return handle_unexpected_error(request, error)
    return build_error_response(
        malformed_request_error("a part of the form is not the text in UTF-8 that it is to be")
    )


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
