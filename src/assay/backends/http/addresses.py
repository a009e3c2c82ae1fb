"""Addresses of servers as people write them. Every run writes them down, so they may hold no secret."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from assay.backends.problems import unknown_model_error
from assay.core.secrets import mask_user_info

_SENDABLE = re.compile(r"[!-~]+")


def check_address(url: str, example: str) -> str:
    """Return an address that can be called, or raise MODEL-001."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # Raises where no name of a host can be such.
    except ValueError:
        is_whole = False
    shown = mask_user_info(url)
    if not is_whole:
        raise unknown_model_error(f"{shown!r} is not the address of a server", example)
    if not _SENDABLE.fullmatch(url):
        raise unknown_model_error(
            f"the address {shown!r} holds a character that none can have: a space or a letter beyond ASCII",
            "write it as browsers send it: %20 for a space, xn--... for the name of a host",
        )
    if parts.username is not None or parts.password is not None:
        raise unknown_model_error(
            f"the address of {parts.hostname!r} holds a name or a password, which every run would write down",
            "leave them out of the address",
        )
    return url
