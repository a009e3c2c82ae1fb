"""What a server says instead of an answer: one shape, `{"code", "what", "fix"}`, without traces and paths."""

from __future__ import annotations

import msgspec

from assay.core.errors import AssayError, AuthorError, BackendError, PlanError, Problem, UsageError
from assay.results.disk_space import DISK_FULL

_NOT_NOW = ("STORE-023", DISK_FULL)
"""The database cannot be used now, or the disk is full; later it may be otherwise."""


class ErrorResponseBody(msgspec.Struct, frozen=True):
    """The body of every refusal."""

    code: str
    """A name that docs/reference/errors.md explains."""
    what: str
    fix: str


class HttpError(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem.code)
        self.status = status
        self.problem = problem

    def body(self) -> bytes:
        """Return what is sent. Where the problem lies on this machine is left out."""
        return msgspec.json.encode(ErrorResponseBody(self.problem.code, self.problem.what, self.problem.fix))


def to_http_error(error: AssayError) -> HttpError:
    """Return an error of the house as a refusal; of several problems, the first is told."""
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
    """Refuse a request under a name that is not this server's."""
    return HttpError(
        421,
        Problem(
            "WEB-010",
            "the request came under a name or a port that is not this server's",
            "open the address that the server printed, or start it with --allow-host NAME",
        ),
    )


def cross_site_error() -> HttpError:
    """Refuse a request that a page of another site made."""
    return HttpError(
        403,
        Problem(
            "WEB-011",
            "the request comes from a page of another site",
            "open the server's own pages; a program sends no Origin, or a token: Authorization: Bearer TOKEN",
        ),
    )


def missing_token_error(role: str = "") -> HttpError:
    """Refuse who shows no token, or none that counts; `role` is what the token must have."""
    what = f"this needs a token with the role {role}" if role else "this needs a token"
    return HttpError(
        401,
        Problem(
            "WEB-012",
            f"{what}, and none that counts was shown",
            "open the address with ?token=TOKEN once, or send Authorization: Bearer TOKEN",
        ),
    )


def insufficient_role_error(has: str, needed: str) -> HttpError:
    """Refuse what a role may not do."""
    what = f"this needs the role {needed}, the token has {has}"
    return HttpError(403, Problem("WEB-013", what, "ask the owner for a token"))


def body_too_large_error(at_most: int) -> HttpError:
    """Refuse a body beyond the bound."""
    return HttpError(
        413,
        Problem("WEB-014", f"the request has more than {at_most:,} bytes", "send less at once"),
    )


def body_timeout_error(seconds: float) -> HttpError:
    """Refuse a body that does not come."""
    return HttpError(
        408,
        Problem("WEB-015", f"the request was not there after {seconds:.3g} s", "send it again"),
    )


def unknown_address_error(status: int = 404) -> HttpError:
    """Say that there is nothing under an address, or not by the method that was used."""
    return HttpError(
        status,
        Problem("WEB-016", "there is nothing under this address, or not by this method", "begin at /"),
    )


def not_found_error(noun: str) -> HttpError:
    """Say that a run, a sample or a file is not there, or not any more."""
    return HttpError(
        404,
        Problem("WEB-017", f"there is no such {noun}", "see the list of runs; it may have been deleted"),
    )


def malformed_request_error(what: str) -> HttpError:
    """Refuse a request that cannot be read."""
    return HttpError(400, Problem("WEB-018", what, "correct the request"))


def stream_limit_error(at_most: int) -> HttpError:
    """Refuse one more stream of events."""
    return HttpError(
        503,
        Problem("WEB-019", f"{at_most} pages are being kept up to date already", "close some, and reload"),
    )


def internal_error() -> HttpError:
    """Say that the server itself is wrong, and no more than that."""
    return HttpError(
        500,
        Problem(
            "WEB-020",
            "the server could not answer: the fault is its own",
            "what went wrong is printed where the server runs",
        ),
    )
