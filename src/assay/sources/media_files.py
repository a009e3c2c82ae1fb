"""Images, sounds and films on disk or in base64: found, looked at, named by their content.

A file is looked at once, however many rows show it, and its bytes are not kept.
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
"""Files whose facts are kept: a few hundred bytes each."""


def read_media_file(path: str | Path, medium: Medium) -> AnyMedia:
    """Return the part for a file; raise Broken when it is missing, empty, cut off or something else."""
    try:
        facts = os.stat(path)
        return _read_media_file(str(path), medium, facts.st_size, facts.st_mtime_ns)
    except FileNotFoundError:
        raise BrokenMedia("there is no such file") from None
    except IsADirectoryError:
        raise BrokenMedia("it is a folder") from None
    except ValueError:  # A path that no system has, such as one with a zero byte.
        raise BrokenMedia("it is no path") from None
    except OSError as trouble:
        raise BrokenMedia(f"it cannot be read: {trouble.strerror or trouble}") from trouble


@lru_cache(_REMEMBERED)
def _read_media_file(path: str, medium: Medium, size: int, _written_ns: int) -> AnyMedia:
    """Look at a file; one that was written since is looked at again."""
    with open(path, "rb") as stream:
        found = _examine_media(stream, medium)
        stream.seek(0)
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    return MEDIA[medium](found.media_type, path, sha256=content, n_bytes=size, extent=found.extent)


def read_media_data(media_type: str, payload: str, medium: Medium, *, keeps_type: bool = False) -> AnyMedia:
    """Return the part for base64 of a dataset's own; the frames of a film have commas between them.

    The type is what the content says, or with `keeps_type` what was written.
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
            held = base64.b64decode(frame, validate=True)
        except (binascii.Error, ValueError) as trouble:
            raise BrokenMedia(f"it is no base64: {trouble}") from None
        found = _examine_media(io.BytesIO(held), Medium.IMAGE if is_frames else medium)
        content.update(held)
        n_bytes += len(held)
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
    """Return a value of a media column as authors write media: a path, or base64 with `data:` before it.

    `datasets` keeps the bytes of a file, its path, or both. What is neither is returned as it is.
    """
    if not isinstance(value, dict):
        return value
    held = value.get("bytes")
    if not isinstance(held, bytes):
        return value.get("path")
    kind = detect_media_type(io.BytesIO(held), medium) or f"{medium}/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(held).decode()}"


def _examine_media(stream: BinaryIO, medium: Medium) -> MediaFacts:
    found = examine_media(stream, medium)
    if medium is Medium.IMAGE and _has_pillow():
        _verify_image(stream)
    return found


@lru_cache(1)
def _has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


def _verify_image(stream: BinaryIO) -> None:
    """Let Pillow look for damage that the header does not show; it decodes nothing."""
    from PIL import Image, UnidentifiedImageError

    stream.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # About very large pictures, for instance; they are not opened here.
            with Image.open(stream) as picture:
                picture.verify()
    except UnidentifiedImageError:
        return  # A format that this Pillow does not know; its header was in order.
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as trouble:
        raise BrokenMedia(f"it is damaged: {trouble}") from None
