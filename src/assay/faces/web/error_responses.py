"""What a server says instead of an answer: one shape, `{"code", "what", "fix"}`, without traces and paths."""

from __future__ import annotations

import msgspec

from assay.core.errors import AssayError, AuthorError, BackendError, PlanError, Problem, UsageError
from assay.results.disk_space import NO_ROOM

_NOT_NOW = ("STORE-023", NO_ROOM)
"""The database cannot be used now, or the disk is full; later it may be otherwise."""


class Said(msgspec.Struct, frozen=True):
    """The body of every refusal."""

    code: str
    """A name that docs/reference/errors.md explains."""
    what: str
    fix: str


class Refusal(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem.code)
        self.status = status
        self.problem = problem

    def body(self) -> bytes:
        """Return what is sent. Where the problem lies on this machine is left out."""
        return msgspec.json.encode(Said(self.problem.code, self.problem.what, self.problem.fix))


def refusal_of(error: AssayError) -> Refusal:
    """Return an error of the house as a refusal; of several problems, the first is told."""
    if isinstance(error, UsageError | AuthorError | PlanError):
        status = 400
    elif isinstance(error, BackendError):
        status = 502
    elif error.problems[0].code in _NOT_NOW:
        status = 503
    else:
        status = 409
    return Refusal(status, error.problems[0])


def strange_host() -> Refusal:
    """Refuse a request under a name that is not this server's."""
    return Refusal(
        421,
        Problem(
            "WEB-010",
            "the request came under a name or a port that is not this server's",
            "open the address that the server printed, or start it with --allow-host NAME",
        ),
    )


def other_site() -> Refusal:
    """Refuse a request that a page of another site made."""
    return Refusal(
        403,
        Problem(
            "WEB-011",
            "the request comes from a page of another site",
            "open the server's own pages; a program sends no Origin, or a token: Authorization: Bearer TOKEN",
        ),
    )


def no_token(role: str = "") -> Refusal:
    """Refuse who shows no token, or none that counts; `role` is what the token must have."""
    what = f"this needs a token with the role {role}" if role else "this needs a token"
    return Refusal(
        401,
        Problem(
            "WEB-012",
            f"{what}, and none that counts was shown",
            "open the address with ?token=TOKEN once, or send Authorization: Bearer TOKEN",
        ),
    )


def small_role(has: str, needed: str) -> Refusal:
    """Refuse what a role may not do."""
    what = f"this needs the role {needed}, the token has {has}"
    return Refusal(403, Problem("WEB-013", what, "ask the owner for a token"))


def too_large(at_most: int) -> Refusal:
    """Refuse a body beyond the bound."""
    return Refusal(
        413,
        Problem("WEB-014", f"the request has more than {at_most:,} bytes", "send less at once"),
    )


def too_slow(seconds: float) -> Refusal:
    """Refuse a body that does not come."""
    return Refusal(
        408,
        Problem("WEB-015", f"the request was not there after {seconds:.3g} s", "send it again"),
    )


def no_address(status: int = 404) -> Refusal:
    """Say that there is nothing under an address, or not by the method that was used."""
    return Refusal(
        status,
        Problem("WEB-016", "there is nothing under this address, or not by this method", "begin at /"),
    )


def not_here(noun: str) -> Refusal:
    """Say that a run, a sample or a file is not there, or not any more."""
    return Refusal(
        404,
        Problem("WEB-017", f"there is no such {noun}", "see the list of runs; it may have been deleted"),
    )


def malformed(what: str) -> Refusal:
    """Refuse a request that cannot be read."""
    return Refusal(400, Problem("WEB-018", what, "correct the request"))


def too_many_streams(at_most: int) -> Refusal:
    """Refuse one more stream of events."""
    return Refusal(
        503,
        Problem("WEB-019", f"{at_most} pages are being kept up to date already", "close some, and reload"),
    )


def own_fault() -> Refusal:
    """Say that the server itself is wrong, and no more than that."""
    return Refusal(
        500,
        Problem(
            "WEB-020",
            "the server could not answer: the fault is its own",
            "what went wrong is printed where the server runs",
        ),
    )
