"""Error responses of the server: `{"code", "what", "fix"}`, without traces and paths."""

from __future__ import annotations

import msgspec

from assay.core.disk_space import DISK_FULL
from assay.core.errors import AssayError, AuthorError, BackendError, PlanError, Problem, UsageError

_NOT_NOW = ("STORE-023", DISK_FULL)
"""Temporary errors: the database is not available, or the disk is full."""


class ErrorResponseBody(msgspec.Struct, frozen=True):
    """The body of every error response."""

    code: str
    """An error code; see docs/reference/errors.md."""
    what: str
    fix: str


class HttpError(Exception):
    """An error that is sent as the response to a request."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem.code)
        self.status = status
        self.problem = problem

    def body(self) -> bytes:
        """Return the body, without the path of the problem on this machine."""
        return msgspec.json.encode(ErrorResponseBody(self.problem.code, self.problem.what, self.problem.fix))


def to_http_error(error: AssayError) -> HttpError:
    """Convert an AssayError; only its first problem is sent."""
    if isinstance(error, UsageError | AuthorError | PlanError):
        status = 400
    elif isinstance(error, BackendError):
        status = 502
    elif error.problems[0].code in _NOT_NOW:
        status = 503
    else:
        status = 409
    return HttpError(status, error.problems[0])


def unknown_host_error() -> HttpError:
    """Return the error for a request with an unknown Host header."""
    return HttpError(
        421,
        Problem(
            "WEB-010",
            "the Host header of the request is not a name and port of this server",
            "open the address that the server printed, or start it with --allow-host NAME",
        ),
    )


def cross_site_error() -> HttpError:
    """Return the error for a request from a page of another site."""
    return HttpError(
        403,
        Problem(
            "WEB-011",
            "the request comes from a page of another site",
            "use the server's own pages; from a program, send no Origin, or send Authorization: Bearer TOKEN",
        ),
    )


def missing_token_error(role: str = "") -> HttpError:
    """Return the error for a missing or invalid token; `role` is the required role."""
    what = f"this needs a token with the role {role}" if role else "this needs a token"
    return HttpError(
        401,
        Problem(
            "WEB-012",
            f"{what}, and the request has no valid one",
            "open the address with ?token=TOKEN once, or send Authorization: Bearer TOKEN",
        ),
    )


def insufficient_role_error(has: str, needed: str) -> HttpError:
    """Return the error for an insufficient role."""
    what = f"this needs the role {needed}; the token has the role {has}"
    return HttpError(403, Problem("WEB-013", what, "ask the owner for a token"))


def body_too_large_error(at_most: int) -> HttpError:
    """Return the error for a body over the limit."""
    return HttpError(
        413,
        Problem("WEB-014", f"the request has more than {at_most:,} bytes", "send a smaller request"),
    )


def body_timeout_error(seconds: float) -> HttpError:
    """Return the error for a body that does not arrive in time."""
    return HttpError(
        408,
        Problem("WEB-015", f"the request was not complete after {seconds:.3g} s", "send it again"),
    )


def unknown_address_error(status: int = 404) -> HttpError:
    """Return the error for an unknown address, or for a method that an address does not support."""
    if status == 405:
        what, fix = "this address does not support this method", "use a method of the header Allow"
    else:
        what, fix = "this address does not exist", "start at /"
    return HttpError(status, Problem("WEB-016", what, fix))


def not_found_error(noun: str) -> HttpError:
    """Return the error for a run, sample or file that does not exist."""
    return HttpError(
        404,
        Problem("WEB-017", f"there is no such {noun}", "see the list of runs; it may have been deleted"),
    )


def malformed_request_error(what: str) -> HttpError:
    """Return the error for a malformed request."""
    return HttpError(400, Problem("WEB-018", what, "correct the request"))


def stream_limit_error(at_most: int) -> HttpError:
    """Return the error for too many event streams."""
    return HttpError(
        503,
        Problem("WEB-019", f"{at_most} pages are already receiving live updates", "close some and reload"),
    )


def internal_error() -> HttpError:
    """Return the error for a bug in the server, without details."""
    return HttpError(
        500,
        Problem(
            "WEB-020",
            "internal server error",
            "see the output of the server for details",
        ),
    )
