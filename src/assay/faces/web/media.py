"""Pictures, sounds and films that a run keeps, by the hash of what is in them: whole, or piece by piece."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from litestar import Request, Response

from assay.faces.web.refusals import not_here
from assay.results.media_store import kept_medium

_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
_MOST_AT_ONCE = 4 << 20
"""Of a film that is asked for piece by piece."""


def media_answer(request: Request[Any, Any, Any], run: Path, sha256: str) -> Response[bytes]:
    """Return a medium of a run, or the piece of it that is asked for."""
    kept = kept_medium(run, sha256)
    if kept is None:
        raise not_here("picture, sound or film in this run")
    headers = {
        # What is in it cannot change, as its name is its hash.
        "cache-control": "private, max-age=31536000, immutable",
        "accept-ranges": "bytes",
        # Shown inside our pages; opened by itself, it is saved.
        "content-disposition": "attachment",
    }
    with open(kept.path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if asked is None:
            return Response(file.read(), media_type=kept.media_type, headers=headers)
        first = int(asked[1])
        last = min(int(asked[2] or size - 1), size - 1, first + _MOST_AT_ONCE - 1)
        if first > last:
            return Response(b"", status_code=416, headers={"content-range": f"bytes */{size}"})
        file.seek(first)
        headers["content-range"] = f"bytes {first}-{last}/{size}"
        content = file.read(last - first + 1)
        return Response(content, status_code=206, media_type=kept.media_type, headers=headers)
