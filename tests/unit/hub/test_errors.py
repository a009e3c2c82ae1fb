"""Errors of the hub's libraries map to one error, however they are wrapped."""

from __future__ import annotations

import errno

import pytest

from assay.core.errors import AuthorError, Problem
from assay.hub.errors import HubTrouble, TroubleKind, find_trouble, hub_calls

pytest.importorskip("huggingface_hub")


def _caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def _kind(error: BaseException) -> TroubleKind | None:
    found = find_trouble(error)
    return None if found is None else found.kind


def test_an_entry_that_the_cache_lacks_says_nothing_by_itself() -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled

    absent = LocalEntryNotFoundError("not in the cache")
    assert _kind(absent) is None
    assert _kind(_caused(absent, OfflineModeIsEnabled("offline"))) is TroubleKind.OFFLINE


def test_a_bare_connection_error_is_about_what_is_inside_it() -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    assert _kind(_caused(ConnectionError("no hub"), OfflineModeIsEnabled("offline"))) is TroubleKind.OFFLINE
    inner = _caused(ConnectionError("no hub"), ConnectionRefusedError("refused"))
    found = find_trouble(inner)
    assert found is not None
    assert (found.kind, found.detail) == (TroubleKind.UNREACHABLE, "refused")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), TroubleKind.DISK_FULL),
        (OSError("Not enough disk space. Needed: 3 GB"), TroubleKind.DISK_FULL),
        (OSError("Consistency check failed: file should be of size 3"), TroubleKind.DAMAGED),
        (OSError(errno.EACCES, "Permission denied"), None),
        (ValueError("a row"), None),
    ],
)
def test_files(error: OSError, kind: TroubleKind | None) -> None:
    assert _kind(error) is kind


def test_connections_that_broke_and_that_were_not_made() -> None:
    from huggingface_hub.errors import HTTPError

    class NetworkError(HTTPError):  # type: ignore[misc]
        """The base of both in the HTTP library."""

    class ConnectError(NetworkError):
        """No connection."""

    assert _kind(NetworkError("reset")) is TroubleKind.INTERRUPTED
    assert _kind(ConnectError("refused")) is TroubleKind.UNREACHABLE


def test_worded_errors_and_missing_packages_pass() -> None:
    worded = AuthorError(Problem("HUB-002", "no dataset", "check the name"))
    worded.__cause__ = HubTrouble(TroubleKind.SERVER, "x")
    worded.__cause__.__cause__ = OSError(errno.ENOSPC, "full")
    with pytest.raises(AuthorError, match="HUB-002"), hub_calls():
        raise worded
    with pytest.raises(ModuleNotFoundError), hub_calls():
        raise ModuleNotFoundError("librosa")
