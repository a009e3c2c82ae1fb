"""Media stored with a run, by content hash: the whole file or a requested range.

Only a piece of a file is in memory at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from litestar import Request, Response
from litestar.response import Stream

from assay.app.viewed_runs import find_run_medium
from assay.faces.web.error_responses import not_found_error

_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
_MOST_AT_ONCE = 4 << 20
"""Maximum bytes of one range response."""


_PIECE = 256 << 10


def build_media_response(request: Request[Any, Any, Any], run: Path, sha256: str) -> Response[bytes] | Stream:
    """Return a medium of a run, or the requested range of it."""
    stored = find_run_medium(run, sha256)
    if stored is None:
        raise not_found_error("image, audio or video in this run")
    headers = {
        # The content cannot change, since its name is its hash.
        "cache-control": "private, max-age=31536000, immutable",
        "accept-ranges": "bytes",
        # Shown inside our pages; opened directly, it is downloaded.
        "content-disposition": "attachment",
    }
    size = stored.path.stat().st_size
    requested = _RANGE.fullmatch(request.headers.get("range", ""))
    first, last, status = 0, size - 1, 200
    if requested is not None:
        first = int(requested[1])
        last = min(int(requested[2] or last), last, first + _MOST_AT_ONCE - 1)
        if first > last:
            return Response(b"", status_code=416, headers={"content-range": f"bytes */{size}"})
        headers["content-range"] = f"bytes {first}-{last}/{size}"
        status = 206
    headers["content-length"] = str(last - first + 1)
    pieces = _pieces(stored.path, first, last + 1)
    return Stream(pieces, status_code=status, media_type=stored.media_type, headers=headers)


def _pieces(path: Path, first: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file between two offsets."""
    with open(path, "rb") as file:
        file.seek(first)
        while first < end and (piece := file.read(min(_PIECE, end - first))):
            first += len(piece)
            yield piece
