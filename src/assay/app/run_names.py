"""How runs are named, and what they note of the machine they ran on."""

from __future__ import annotations

from datetime import UTC, datetime

import assay
from assay.backends.package_versions import read_package_versions
from assay.core.names import compose_name

_LONGEST_SLUG = 200
"""In bytes; file names may have 255, and a fingerprint or a time, and a number, follow."""


def short_name(model: str) -> str:
    """Return the last word of a model's name, and of one at an address the name rather than the address."""
    named, _, _ = model.partition("@http")
    return named.rstrip("/").rsplit("/", 1)[-1]


def slug(text: str) -> str:
    """Return a name that every file system takes; systems count bytes, and a Korean letter has three."""
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in compose_name(text)).strip(
        "-."
    )
    return plain.encode()[:_LONGEST_SLUG].decode(errors="ignore")


def utc_now() -> str:
    """Return the time in UTC, as ISO 8601 writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions of what decides numbers, as far as it is installed."""
    deciding = ("torch", "transformers", "tokenizers", "vllm")
    return {"assay": assay.__version__, **read_package_versions(deciding)}
