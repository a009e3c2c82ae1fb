"""Images, audio and video on disk or in base64: read their facts and identify them by content.

Each file is examined once, even if many rows refer to it. Its bytes are not kept in memory.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib.util
import io
import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from assay.core.media import MEDIA, AnyMedia, Medium
from assay.sources.media_formats import BrokenMedia, MediaFacts, detect_media_type, examine_media

_REMEMBERED = 100_000
"""Number of files whose facts are cached, a few hundred bytes each."""


def read_media_file(path: str | Path, medium: Medium) -> AnyMedia:
    """Return the part for a file; raise BrokenMedia if it is missing, empty, truncated or another type."""
    try:
        facts = os.stat(path)
        return _read_media_file(str(path), medium, facts.st_size, facts.st_mtime_ns)
    except FileNotFoundError:
        raise BrokenMedia("the file does not exist") from None
    except IsADirectoryError:
        raise BrokenMedia("it is a folder") from None
    except ValueError:  # A path that no system has, such as one with a zero byte.
        raise BrokenMedia("it is not a valid path") from None
    except OSError as trouble:
        raise BrokenMedia(f"the file cannot be read: {trouble.strerror or trouble}") from trouble


@lru_cache(_REMEMBERED)
def _read_media_file(path: str, medium: Medium, size: int, _written_ns: int) -> AnyMedia:
    """Examine a file. A file that changed since then is examined again."""
    with open(path, "rb") as stream:
        found = _examine_media(stream, medium)
        stream.seek(0)
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    return MEDIA[medium](found.media_type, path, sha256=content, n_bytes=size, extent=found.extent)


def read_media_data(media_type: str, payload: str, medium: Medium, *, keeps_type: bool = False) -> AnyMedia:
    """Return the part for base64 data; commas separate the frames of a video.

    The media type comes from the content, or with `keeps_type` from the dataset.
    """
    frames = payload.split(",")
    if len(frames) > 1 and medium is not Medium.VIDEO:
        raise BrokenMedia("there is a comma in its base64")
    is_frames = medium is Medium.VIDEO and media_type == "video/jpeg"
    found = MediaFacts("")
    content = hashlib.sha256()
    n_bytes = 0
    for frame in frames:
        try:
            decoded = base64.b64decode(frame, validate=True)
        except (binascii.Error, ValueError) as trouble:
            raise BrokenMedia(f"it is not valid base64: {trouble}") from None
        found = _examine_media(io.BytesIO(decoded), Medium.IMAGE if is_frames else medium)
        content.update(decoded)
        n_bytes += len(decoded)
    if is_frames:
        found = MediaFacts(media_type, f"{len(frames)} frames of {found.extent}")
    return MEDIA[medium](
        media_type if keeps_type else found.media_type,
        sha256=content.hexdigest(),
        n_bytes=n_bytes,
        extent=found.extent,
        data=payload,
    )


def format_media_address(value: Any, medium: Medium) -> Any:
    """Return a value of a media column as authors write media: a path, or base64 prefixed with `data:`.

    `datasets` stores the bytes of a file, its path, or both. Any other value is returned unchanged.
    """
    if not isinstance(value, dict):
        return value
    data = value.get("bytes")
    if not isinstance(data, bytes):
        return value.get("path")
    kind = detect_media_type(io.BytesIO(data), medium) or f"{medium}/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _examine_media(stream: BinaryIO, medium: Medium) -> MediaFacts:
    found = examine_media(stream, medium)
    if medium is Medium.IMAGE and _has_pillow():
        _verify_image(stream)
    return found


@lru_cache(1)
def _has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


def _verify_image(stream: BinaryIO) -> None:
    """Let Pillow look for damage that the header does not show, without decoding the image."""
    from PIL import Image, UnidentifiedImageError

    stream.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # For example about very large images, which are not opened here.
            with Image.open(stream) as image:
                image.verify()
    except UnidentifiedImageError:
        return  # A format that this Pillow does not support; its header was valid.
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as trouble:
        raise BrokenMedia(f"it is damaged: {trouble}") from None
