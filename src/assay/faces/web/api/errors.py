"""Errors of the house as answers of the API: `{"code", "what", "fix"}`, and the place where there is one."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.openapi import ResponseSpec

from assay.core.errors import SHOWN_AT_MOST, AssayError
from assay.faces.web.api.bodies import ErrorBody
from assay.faces.web.refusals import refusal_of

_STATUS = {
    "TEAM-001": 404,
    "TEAM-002": 409,
    "TEAM-003": 409,
    "TEAM-020": 409,
    "TEAM-021": 404,
    "TEAM-030": 409,
    "TEAM-031": 404,
    "TEAM-040": 409,
    "TEAM-041": 404,
    "TEAM-042": 409,
    "TEAM-044": 413,
    "TEAM-062": 422,
    "TEAM-063": 429,
    "TEAM-064": 403,
    "TEAM-065": 429,
}
"""By code; any other error is what `refusal_of` makes of its kind."""

_WORDS = {
    400: "What was asked for is wrong: the body, a setting, or the dataset.",
    401: "No token that counts was shown.",
    403: "The token's role is not enough, or the thing is somebody else's.",
    404: "There is no such thing.",
    409: "It is in a state in which this cannot be done, something needs it, or the name is taken.",
    413: "It is too large.",
    422: "It could not be found out in time whether this can be done.",
    503: "The database is away, the disk is full, or too many streams are open: ask again later.",
    429: "Too many evaluations wait already, or too many looks at datasets.",
}


def mistaken(_: Request[Any, Any, Any], error: AssayError) -> Response[bytes]:
    """Answer an error of the house."""
    first, *others = map(ErrorBody.of, error.problems[:SHOWN_AT_MOST])
    body = msgspec.structs.replace(first, others=tuple(others))
    status = _STATUS.get(first.code) or refusal_of(error).status
    return Response(msgspec.json.encode(body), status_code=status, media_type=MediaType.JSON)


def refusals(*statuses: int) -> dict[int, ResponseSpec]:
    """Return what the OpenAPI document says of a handler's errors.

    What cannot be read, and who may not read, is refused everywhere.
    """
    every = sorted({400, 401, 403, 503, *statuses})
    return {
        status: ResponseSpec(ErrorBody, description=_WORDS[status], generate_examples=False)
        for status in every
    }
