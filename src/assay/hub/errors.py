"""Errors of the hub: one exception with a kind, whatever the client raises."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from assay.core.errors import AssayError
from assay.core.secrets import mask_user_info
from assay.hub.client import hub_client

_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
_DISK_FULL_WORDS = ("not enough disk space", "not enough free disk space")
"""Messages of the hub's libraries for a full disk, which have no error number."""
_BROKEN = {"NetworkError", "TimeoutException", "RemoteProtocolError"}
_CONNECT_ERRORS = {"ConnectError", "ConnectTimeout", "ProxyError"}
"""Exception names of the HTTP library, which differs between versions of the client."""


class TroubleKind(StrEnum):
    """Kinds of errors that need different fixes."""

    NO_REPOSITORY = "no repository"
    """There is no repository with that name, or it is private."""
    NO_ACCESS = "no access"
    """It is gated, and the user has no access."""
    DISABLED = "disabled"
    """The hub has disabled it for everybody."""
    TOKEN = "token"
    """The hub rejects the token, or the token lacks a permission."""
    NO_REVISION = "no revision"
    NO_FILE = "no file"
    RATE_LIMIT = "rate limit"
    SERVER = "server"
    """The server answers with an error, or not as a hub does."""
    UNREACHABLE = "unreachable"
    INTERRUPTED = "interrupted"
    """The connection broke or stalled."""
    OFFLINE = "offline"
    """Requests are forbidden, and the cache does not have the required files."""
    DISK_FULL = "no room"
    DAMAGED = "damaged"
    """A file arrived with other bytes than the hub lists."""


class HubTrouble(Exception):
    """The hub, the network or the disk failed."""

    def __init__(
        self,
        kind: TroubleKind,
        detail: str,
        *,
        status: int | None = None,
        wait_s: int | None = None,
        may_pass: bool = False,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.may_pass = may_pass
        """Whether the same request may succeed a little later."""
        self.detail = detail
        """What happened, as part of a sentence."""
        self.status = status
        """HTTP status of the answer, if there was one."""
        self.wait_s = wait_s
        """Seconds until the hub answers again, if it said so."""


@contextmanager
def hub_calls() -> Iterator[None]:
    """Turn the client's exceptions into HubTrouble; other exceptions pass."""
    try:
        yield
    except (HubTrouble, AssayError, ModuleNotFoundError):
        raise
    except Exception as error:
        trouble = find_trouble(error)
        if trouble is None:
            raise
        raise trouble from error


def find_trouble(error: BaseException) -> HubTrouble | None:
    """Return the hub error behind an exception or one of its causes; None if the hub is not involved."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    for link in chain:
        if (trouble := _classify_error(link)) is not None:
            return trouble
    # Libraries raise a bare ConnectionError for any failure: the innermost one says most.
    for link in reversed(chain):
        if isinstance(link, ConnectionError):
            return HubTrouble(TroubleKind.UNREACHABLE, first_line(link), may_pass=True)
    return None


def _classify_error(error: BaseException) -> HubTrouble | None:
    errors = hub_client().errors
    if isinstance(error, errors.OfflineModeIsEnabled):
        return HubTrouble(TroubleKind.OFFLINE, "HF_HUB_OFFLINE is set")
    if isinstance(error, errors.HfHubHTTPError):
        return _classify_http_error(error, errors)
    if isinstance(error, errors.HFValidationError):
        return HubTrouble(TroubleKind.NO_REPOSITORY, first_line(error))
    if isinstance(error, errors.HTTPError) or type(error).__name__ == "InvalidURL":
        return _classify_connection_error(error)
    return _classify_file_error(error) if isinstance(error, OSError) else None


def _classify_connection_error(error: BaseException) -> HubTrouble:
    """Return the error of a request without a complete answer."""
    names = {kind.__name__ for kind in type(error).__mro__}
    is_broken = names & _BROKEN and not names & _CONNECT_ERRORS
    kind = TroubleKind.INTERRUPTED if is_broken else TroubleKind.UNREACHABLE
    return HubTrouble(kind, first_line(error), may_pass=True)


def _classify_file_error(error: OSError) -> HubTrouble | None:
    message = first_line(error)
    if error.errno in _DISK_FULL_ERRNOS or message.lower().startswith(_DISK_FULL_WORDS):
        return HubTrouble(TroubleKind.DISK_FULL, f"the disk is full: {error.strerror or message}")
    if message.startswith("Consistency check failed"):
        return HubTrouble(TroubleKind.DAMAGED, message)
    return None


def _classify_http_error(error: BaseException, errors: object) -> HubTrouble | None:
    answer = getattr(error, "response", None)
    if answer is None:  # Raised by the cache: its cause says why the hub did not answer.
        return None
    status = int(answer.status_code)
    for name, kind in (
        ("GatedRepoError", TroubleKind.NO_ACCESS),
        ("DisabledRepoError", TroubleKind.DISABLED),
        ("RepositoryNotFoundError", TroubleKind.NO_REPOSITORY),
        ("RevisionNotFoundError", TroubleKind.NO_REVISION),
        ("EntryNotFoundError", TroubleKind.NO_FILE),
    ):
        if isinstance(error, getattr(errors, name)):
            return HubTrouble(kind, _reason(error, status), status=status)
    wait_s, kind = None, TroubleKind.TOKEN if status in (401, 403) else TroubleKind.SERVER
    if status == 429:
        wait_s, kind = _wait_s(error), TroubleKind.RATE_LIMIT
    may_pass = status >= 500 or status in (408, 429)
    return HubTrouble(kind, _reason(error, status), status=status, wait_s=wait_s, may_pass=may_pass)


def _reason(error: BaseException, status: int) -> str:
    """Return the status and the server's message."""
    message = str(getattr(error, "server_message", None) or "").strip().partition("\n")[0].rstrip(".")
    return f"HTTP status {status}" + (f": {mask_user_info(message)}" if message else "")


def _wait_s(error: BaseException) -> int | None:
    headers = error.response.headers  # type: ignore[attr-defined]
    parse = getattr(hub_client().utils, "parse_ratelimit_headers", None)
    info = parse(headers) if parse is not None else None
    if info is not None:
        return int(info.reset_in_seconds)
    after = headers.get("Retry-After", "")
    return int(after) if after.isdecimal() else None


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, without passwords in URLs."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return mask_user_info(text)
