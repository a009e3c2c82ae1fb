"""One image, audio or video of a dataset: a path, a `file://` or web address, or base64 data."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from assay.core.media import MEDIA, AnyMedia, Medium
from assay.sources.media_files import read_media_data, read_media_file
from assay.sources.media_formats import BrokenMedia

_DATA = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.IGNORECASE)
_SHOWN_CHARS = 120
_LONGEST_PATH = 4096
"""The maximum path length on Linux; other systems allow about the same."""


def build_media_part(
    medium: Medium, where: str, *, roots: Sequence[Path] = (), is_faithful: bool = False
) -> AnyMedia:
    """Return the part for a medium; raise BrokenMedia if it cannot be read.

    A relative path is looked up in the current folder, then in the `roots`.
    """
    if where.lower().startswith(("http://", "https://")):
        return MEDIA[medium](url=where)
    if (data := _DATA.match(where)) is not None:
        return read_media_data(data["type"] or "", where[data.end() :], medium, keeps_type=is_faithful)
    if where.startswith("data:"):
        raise BrokenMedia("it is a data address that is not base64")
    return read_media_file(_find_file(where.removeprefix("file://"), roots), medium)


def clip_address(where: str) -> str:
    """Return the address of a medium for a message, shortened if it is long."""
    return where if len(where) <= _SHOWN_CHARS else f"{where[:_SHOWN_CHARS]}... ({len(where):,} characters)"


def _find_file(name: str, roots: Sequence[Path]) -> str:
    """Return the first file of this name; if there is none, the path as written."""
    if not name.strip():
        raise BrokenMedia("it has no path")
    if len(name) > _LONGEST_PATH:
        raise BrokenMedia("it is not a path; base64 data needs the prefix data:TYPE;base64,")
    # An address may write a space as %20, but a file name may also contain %20 literally.
    for spelling in dict.fromkeys((name, unquote(name))):
        for root in ("", *map(str, roots)):
            path = os.path.join(root, spelling)
            if os.path.isfile(path):
                return path
    return name
