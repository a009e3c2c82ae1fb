"""What can go wrong with the hub, as one exception with a kind, whatever the client raises for it."""

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
"""How the hub's libraries say it without a number."""
_BROKEN = {"NetworkError", "TimeoutException", "RemoteProtocolError"}
_CONNECT_ERRORS = {"ConnectError", "ConnectTimeout", "ProxyError"}
"""Names of exceptions of the HTTP library, which is another one in other versions of the client."""


class TroubleKind(StrEnum):
    """Kinds of trouble, as far as they need different fixes."""

    NO_REPOSITORY = "no repository"
    """There is none of that name, or it is private."""
    NO_ACCESS = "no access"
    """It is gated, and access was not granted to whoever asks."""
    DISABLED = "disabled"
    """The hub gives it to nobody."""
    TOKEN = "token"
    """The hub rejects the token, or the token may not do this."""
    NO_REVISION = "no revision"
    NO_FILE = "no file"
    RATE_LIMIT = "rate limit"
    SERVER = "server"
    """Something answers, with an error or not as a hub does."""
    UNREACHABLE = "unreachable"
    INTERRUPTED = "interrupted"
    """The connection broke, or nothing more came."""
    OFFLINE = "offline"
    """Requests are forbidden, and the cache does not have what is needed."""
    DISK_FULL = "no room"
    DAMAGED = "damaged"
    """A file arrived with other bytes than the hub lists."""


class HubTrouble(Exception):
    """The hub, the network or the disk did not give what was asked for."""

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
        """What happened, as a part of a sentence."""
        self.status = status
        """Of the answer, where one came."""
        self.wait_s = wait_s
        """Seconds after which the hub answers again, where it said so."""


@contextmanager
def hub_calls() -> Iterator[None]:
    """Turn what the client raises into HubTrouble; other exceptions pass."""
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
    """Return the trouble that an exception, or one that caused it, is about; None: none of the hub's."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain:
        chain.append(seen)
        seen = seen.__cause__ or seen.__context__
    for one in chain:
        if (found := _classify_error(one)) is not None:
            return found
    # Libraries raise a bare ConnectionError for whatever went wrong: the one inside says more.
    for one in reversed(chain):
        if isinstance(one, ConnectionError):
            return HubTrouble(TroubleKind.UNREACHABLE, first_line(one), may_pass=True)
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
    """Return the trouble where no answer came, or not all of it."""
    names = {kind.__name__ for kind in type(error).__mro__}
    is_broken = names & _BROKEN and not names & _CONNECT_ERRORS
    kind = TroubleKind.INTERRUPTED if is_broken else TroubleKind.UNREACHABLE
    return HubTrouble(kind, first_line(error), may_pass=True)


def _classify_file_error(error: OSError) -> HubTrouble | None:
    said = first_line(error)
    if error.errno in _DISK_FULL_ERRNOS or said.lower().startswith(_DISK_FULL_WORDS):
        return HubTrouble(TroubleKind.DISK_FULL, f"the disk is full: {error.strerror or said}")
    if said.startswith("Consistency check failed"):
        return HubTrouble(TroubleKind.DAMAGED, said)
    return None


def _classify_http_error(error: BaseException, errors: object) -> HubTrouble | None:
    answer = getattr(error, "response", None)
    if answer is None:  # Of the cache: what caused it says why the hub did not answer.
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
    """Return the status and what the server said about it."""
    said = str(getattr(error, "server_message", None) or "").strip().partition("\n")[0].rstrip(".")
    return f"HTTP status {status}" + (f": {mask_user_info(said)}" if said else "")


def _wait_s(error: BaseException) -> int | None:
    headers = error.response.headers  # type: ignore[attr-defined]
    parse = getattr(hub_client().utils, "parse_ratelimit_headers", None)
    info = parse(headers) if parse is not None else None
    if info is not None:
        return int(info.reset_in_seconds)
    after = headers.get("Retry-After", "")
    return int(after) if after.isdecimal() else None


def first_line(error: BaseException) -> str:
    """Return the first line of what an exception says, without passwords of addresses."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return mask_user_info(text)
