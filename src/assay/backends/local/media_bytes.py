"""The bytes of a medium, read when they are sent and held no longer."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from assay.core.media import AnyMedia


class MediaTrouble(Exception):
    """A medium cannot be shown to the model; the message says which, and why."""


def read_media(part: AnyMedia) -> bytes:
    """Return what a medium holds; raise MediaTrouble when it is gone, or no longer what the request names."""
    if part.path:
        try:
            content = Path(part.path).read_bytes()
        except OSError as trouble:
            raise MediaTrouble(f"{part}: {trouble.strerror or trouble}") from trouble
        if part.sha256 and hashlib.sha256(content).hexdigest() != part.sha256:
            # The answer would be kept under the key of another content.
            raise MediaTrouble(f"{part}: the file has changed since the run began; start it again")
        return content
    if part.data:
        return b"".join(base64.b64decode(frame) for frame in part.data.split(","))
    raise MediaTrouble(f"{part}: it is known by its address alone, and this model reads files")


def encode_base64(part: AnyMedia) -> str:
    """Return what a medium holds in base64; what a dataset wrote so is sent as it was written."""
    return part.data if part.data and not part.path else base64.b64encode(read_media(part)).decode("ascii")
