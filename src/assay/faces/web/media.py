"""Pictures, sounds and films that a run keeps, by the hash of what is in them.

A hash is no path: it is looked up in the run's own folder of media, where links are not followed. The type
that the browser is told comes from a short list by which nothing can be run.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple

from litestar import Request, Response

from assay.faces.web.refusals import not_here

FOLDER = "media"
_HASH = re.compile(r"[0-9a-f]{64}")
_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".m4a": "audio/mp4",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
_MOST_AT_ONCE = 4 << 20
"""Of a film that is asked for piece by piece."""


class _Kept(NamedTuple):
    file: int
    size: int
    media_type: str


def media_answer(request: Request[Any, Any, Any], run: Path, sha256: str) -> Response[bytes]:
    """Return a medium of a run, or the piece of it that is asked for."""
    kept = _opened(run / FOLDER, sha256)
    if kept is None:
        raise not_here("picture, sound or film in this run")
    headers = {
        # What is in it cannot change, as its name is its hash.
        "cache-control": "private, max-age=31536000, immutable",
        "accept-ranges": "bytes",
        # Shown inside our pages; opened by itself, it is saved.
        "content-disposition": "attachment",
    }
    try:
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        if asked is None:
            return Response(os.pread(kept.file, kept.size, 0), media_type=kept.media_type, headers=headers)
        first = int(asked[1])
        last = min(int(asked[2] or kept.size - 1), kept.size - 1, first + _MOST_AT_ONCE - 1)
        if first > last:
            return Response(b"", status_code=416, headers={"content-range": f"bytes */{kept.size}"})
        headers["content-range"] = f"bytes {first}-{last}/{kept.size}"
        content = os.pread(kept.file, last - first + 1, first)
        return Response(content, status_code=206, media_type=kept.media_type, headers=headers)
    finally:
        os.close(kept.file)


def _opened(folder: Path, sha256: str) -> _Kept | None:
    if _HASH.fullmatch(sha256) is None:
        return None
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        for suffix, media_type in _TYPES.items():
            try:
                file = os.open(sha256 + suffix, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
            except OSError:
                continue
            found = os.fstat(file)
            if stat.S_ISREG(found.st_mode):
                return _Kept(file, found.st_size, media_type)
            os.close(file)
    finally:
        os.close(place)
    return None
