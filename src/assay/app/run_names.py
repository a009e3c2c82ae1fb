"""Names of runs, and the versions of packages that runs record."""

from __future__ import annotations

from datetime import UTC, datetime

import assay
from assay.backends.package_versions import read_package_versions
from assay.core.names import compose_name

_LONGEST_SLUG = 200
"""In bytes; file names may have 255, and a fingerprint or a time, and a number, are appended."""


def short_name(model: str) -> str:
    """Return the last part of a model's name, without the address of its server."""
    named, _, _ = model.partition("@http")
    return named.rstrip("/").rsplit("/", 1)[-1]


def slug(text: str) -> str:
    """Return a name that is valid on every file system; the length limit counts bytes, not characters."""
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in compose_name(text)).strip(
        "-."
    )
    return plain.encode()[:_LONGEST_SLUG].decode(errors="ignore")


def utc_now() -> str:
    """Return the current UTC time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the installed versions of packages that influence numbers."""
    deciding = ("torch", "transformers", "tokenizers", "vllm")
    return {"assay": assay.__version__, **read_package_versions(deciding)}
