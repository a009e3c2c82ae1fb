"""Checks the addresses of servers. Every run stores them, so they must not contain secrets."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from assay.backends.problems import unknown_model_error
from assay.core.secrets import mask_user_info

_SENDABLE = re.compile(r"[!-~]+")


def check_address(url: str, example: str) -> str:
    """Return an address that can be used, or raise MODEL-001."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # Raises ValueError if this cannot be a host name.
    except ValueError:
        is_whole = False
    masked = mask_user_info(url)
    if not is_whole:
        raise unknown_model_error(f"{masked!r} is not the address of a server", example)
    if not _SENDABLE.fullmatch(url):
        raise unknown_model_error(
            f"the address {masked!r} contains a character that is not allowed: a space or a non-ASCII letter",
            "encode it as browsers do: %20 for a space, xn--... for a host name",
        )
    if parts.username is not None or parts.password is not None:
        raise unknown_model_error(
            f"the address of {parts.hostname!r} contains a user name or password, and every run stores it",
            "remove them from the address",
        )
    return url
