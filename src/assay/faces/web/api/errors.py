"""AssayErrors as API responses: `{"code", "what", "fix"}`, with the place if there is one."""

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
"""By code. Any other error of a dataset or a model is 409, since the request itself is valid."""

_WORDS = {
    400: "The request does not match this document.",
    401: "The token is missing or not valid.",
    403: "The role of the token is not sufficient, or the resource belongs to somebody else.",
    404: "The resource does not exist.",
    409: (
        "The request is valid but conflicts with the current state: the dataset or the model has an error, "
        "they do not fit together, the name is taken, or the resource is in use."
    ),
    413: "The request is too large.",
    422: "The check of the request did not finish in time.",
    503: "The database is not available, the disk is full, or too many streams are open: try again later.",
    429: "Too many evaluations are queued, or too many dataset checks are waiting.",
}


def handle_assay_error(_: Request[Any, Any, Any], error: AssayError) -> Response[bytes]:
    """Return the response of an AssayError."""
    first, *others = map(ErrorBody.of, error.problems[:MAX_SHOWN_PROBLEMS])
    body = msgspec.structs.replace(first, others=tuple(others))
    is_fault = isinstance(error, AuthorError | PlanError)
    status = _STATUS.get(first.code) or (_CONFLICT if is_fault else to_http_error(error).status)
    return Response(msgspec.json.encode(body), status_code=status, media_type=MediaType.JSON)


def build_error_specs(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the error responses of a handler for the OpenAPI document.

    Malformed and unauthorized requests are rejected everywhere.
    """
    every = sorted({400, 401, 403, 503, *statuses})
    return {
        status: ResponseSpec(ErrorBody, description=_WORDS[status], generate_examples=False)
        for status in every
    }
