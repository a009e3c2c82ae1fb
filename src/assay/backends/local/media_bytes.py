"""The bytes of a medium, read when they are sent and not kept in memory."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from assay.core.media import AnyMedia


class MediaTrouble(Exception):
    """A medium cannot be sent to the model; the message says which one, and why."""


def read_media(part: AnyMedia) -> bytes:
    """Return the bytes of a medium; raise MediaTrouble if it is missing or has changed since the request."""
    if part.path:
        try:
            content = Path(part.path).read_bytes()
        except OSError as trouble:
            raise MediaTrouble(f"{part}: {trouble.strerror or trouble}") from trouble
        if part.sha256 and hashlib.sha256(content).hexdigest() != part.sha256:
            # The answer would be stored under the key of another content.
            raise MediaTrouble(f"{part}: the file has changed since the run began; start the run again")
        return content
    if part.data:
        return b"".join(base64.b64decode(frame) for frame in part.data.split(","))
    raise MediaTrouble(f"{part}: only its URL is known, but this model needs a file")


def encode_base64(part: AnyMedia) -> str:
    """Return a medium as base64; base64 from a dataset is sent unchanged."""
    return part.data if part.data and not part.path else base64.b64encode(read_media(part)).decode("ascii")
