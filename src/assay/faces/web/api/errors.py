"""Errors of the house as answers of the API: `{"code", "what", "fix"}`, and the place where there is one."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.openapi import ResponseSpec

from assay.core.errors import MAX_SHOWN_PROBLEMS, AssayError, AuthorError, PlanError
from assay.faces.web.api.bodies import ErrorBody
from assay.faces.web.error_responses import to_http_error

_CONFLICT = 409
_STATUS = {
    "TEAM-001": 404,
    "TEAM-002": 409,
    "TEAM-003": 409,
    "TEAM-020": 409,
    "TEAM-021": 404,
    "TEAM-030": 409,
    "TEAM-031": 404,
    "TEAM-032": 409,
    "TEAM-033": 409,
    "TEAM-040": 409,
    "TEAM-041": 404,
    "TEAM-042": 409,
    "TEAM-044": 413,
    "TEAM-061": 409,
    "TEAM-062": 422,
    "TEAM-063": 429,
    "TEAM-064": 403,
    "TEAM-065": 429,
}
"""By code. Any other error of a dataset or a model is 409: the request itself is as the document says."""

_WORDS = {
    400: "The request is not as this document describes it.",
    401: "No token that counts was shown.",
    403: "The token's role is not enough, or the thing is somebody else's.",
    404: "There is no such thing.",
    409: (
        "The request is well formed, but cannot be done with what it names: the dataset or the model has a "
        "fault, they do not fit, the name is taken, or something still needs it."
    ),
    413: "It is too large.",
    422: "It could not be found out in time whether this can be done.",
    503: "The database is away, the disk is full, or too many streams are open: ask again later.",
    429: "Too many evaluations wait already, or too many looks at datasets.",
}


def handle_assay_error(_: Request[Any, Any, Any], error: AssayError) -> Response[bytes]:
    """Answer an error of the house."""
    first, *others = map(ErrorBody.of, error.problems[:MAX_SHOWN_PROBLEMS])
    body = msgspec.structs.replace(first, others=tuple(others))
    is_fault = isinstance(error, AuthorError | PlanError)
    status = _STATUS.get(first.code) or (_CONFLICT if is_fault else to_http_error(error).status)
    return Response(msgspec.json.encode(body), status_code=status, media_type=MediaType.JSON)


def build_error_specs(*statuses: int) -> dict[int, ResponseSpec]:
    """Return what the OpenAPI document says of a handler's errors.

    What cannot be read, and who may not read, is refused everywhere.
    """
    every = sorted({400, 401, 403, 503, *statuses})
    return {
        status: ResponseSpec(ErrorBody, description=_WORDS[status], generate_examples=False)
        for status in every
    }
