"""Pictures, sounds and films that a run keeps, by the hash of what is in them: whole, or the part asked for.

However large one is, only a piece of it is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from litestar import Request, Response
from litestar.response import Stream

from assay.faces.web.error_responses import not_found_error
from assay.results.media_store import find_medium

_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
_MOST_AT_ONCE = 4 << 20
"""Of a film that is asked for piece by piece."""


_PIECE = 256 << 10


def build_media_response(request: Request[Any, Any, Any], run: Path, sha256: str) -> Response[bytes] | Stream:
    """Return a medium of a run, or the piece of it that is asked for."""
    kept = find_medium(run, sha256)
    if kept is None:
        raise not_found_error("picture, sound or film in this run")
    headers = {
        # What is in it cannot change, as its name is its hash.
        "cache-control": "private, max-age=31536000, immutable",
        "accept-ranges": "bytes",
        # Shown inside our pages; opened by itself, it is saved.
        "content-disposition": "attachment",
    }
    size = kept.path.stat().st_size
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    first, last, status = 0, size - 1, 200
    if asked is not None:
        first = int(asked[1])
        last = min(int(asked[2] or last), last, first + _MOST_AT_ONCE - 1)
        if first > last:
            return Response(b"", status_code=416, headers={"content-range": f"bytes */{size}"})
        headers["content-range"] = f"bytes {first}-{last}/{size}"
        status = 206
    headers["content-length"] = str(last - first + 1)
    pieces = _pieces(kept.path, first, last + 1)
    return Stream(pieces, status_code=status, media_type=kept.media_type, headers=headers)


def _pieces(path: Path, first: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file from one place to another."""
    with open(path, "rb") as file:
        file.seek(first)
        while first < end and (piece := file.read(min(_PIECE, end - first))):
            first += len(piece)
            yield piece
