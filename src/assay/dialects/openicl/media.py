"""Media as rows of AISBench name them: marked stretches of one text, in the order of the prompt.

    <AIS_IMAGE_START>images/0.png<AIS_CONTENT_TAG><AIS_TEXT_START>What is this?<AIS_CONTENT_TAG>

A medium is a path, a `file://` address, an address of the web, or `data:TYPE;base64,...`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from assay.core.media import MEDIA, AnyMedia, Medium
from assay.dialects.parts.differences import Difference, always
from assay.sources.media_files import media_data, media_file
from assay.sources.media_formats import Broken

CONTENT = "content"
"""The column that holds the marked text."""
CONTENT_TAG = "<AIS_CONTENT_TAG>"
TEXT_START = "<AIS_TEXT_START>"
STARTS: dict[str, Medium | None] = {
    TEXT_START: None,
    "<AIS_IMAGE_START>": Medium.IMAGE,
    "<AIS_VIDEO_START>": Medium.VIDEO,
    "<AIS_AUDIO_START>": Medium.AUDIO,
}
"""What a stretch begins with, and the medium it then names; None: it is text."""

_DATA = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.IGNORECASE)
_SHOWN_CHARS = 120
_LONGEST_PATH = 4096
"""What Linux takes, and no other system more than a little beyond."""

MEDIA_DIFFERENCES: tuple[Difference[object], ...] = (
    Difference(
        "unmarked_text",
        always,
        "a stretch of `content` without a mark is left out; a row of unmarked text asks nothing",
        "it is text",
    ),
    Difference(
        "media_types",
        always,
        "base64 is sent under the type that the config writes, whatever the data are",
        "it is sent under the type that its content says",
    ),
    Difference(
        "media_files",
        always,
        "`file://` addresses go to the server, which must be able to read the same paths",
        "files are read here and sent as base64, WAV and MP3 as `input_audio`; the model sees the same",
        is_reproduced=False,
    ),
)
"""Where the original and Assay differ about media."""


class Stretch(NamedTuple):
    """One part of a row's content."""

    medium: Medium | None
    """None: it is text."""
    value: str
    """The text, or where the medium is."""


def stretches(content: str, *, is_faithful: bool = False) -> list[Stretch]:
    """Return the parts of a marked text, in their order. The last need not be closed."""
    found: list[Stretch] = []
    for piece in content.split(CONTENT_TAG):
        mark = next((start for start in STARTS if piece.startswith(start)), None)
        if mark is not None:
            # The original takes every repetition of the mark out, not the first alone.
            value = piece.replace(mark, "") if is_faithful else piece[len(mark) :]
            found.append(Stretch(STARTS[mark], value))
        elif piece.strip() and not is_faithful:
            found.append(Stretch(None, piece))
    return found


def media_part(
    medium: Medium, where: str, *, roots: Sequence[Path] = (), is_faithful: bool = False
) -> AnyMedia:
    """Return the part for a medium; raise Broken when there is none to be had.

    A relative path is looked for from where the person stands, then in the `roots`.
    """
    if where.lower().startswith(("http://", "https://")):
        return MEDIA[medium](url=where)
    if (data := _DATA.match(where)) is not None:
        return media_data(data["type"] or "", where[data.end() :], medium, keeps_type=is_faithful)
    if where.startswith("data:"):
        raise Broken("it is a data address that is not in base64")
    return media_file(_found(where.removeprefix("file://"), roots), medium)


def clipped(where: str) -> str:
    """Return where a medium is, for an error: its beginning, when it is long or data."""
    return where if len(where) <= _SHOWN_CHARS else f"{where[:_SHOWN_CHARS]}... ({len(where):,} characters)"


def _found(name: str, roots: Sequence[Path]) -> str:
    """Return the first file of a name; where there is none, the path as it is written."""
    if not name.strip():
        raise Broken("it has no path")
    if len(name) > _LONGEST_PATH:
        raise Broken("it is no path; base64 needs data:TYPE;base64, before it")
    # An address may spell a space as %20; a file may as well be called so.
    for spelling in dict.fromkeys((name, unquote(name))):
        for root in ("", *map(str, roots)):
            path = os.path.join(root, spelling)
            if os.path.isfile(path):
                return path
    return name
