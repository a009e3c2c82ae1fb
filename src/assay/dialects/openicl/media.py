"""Media as rows of AISBench name them: marked stretches of one text, in the order of the prompt.

    <AIS_IMAGE_START>images/0.png<AIS_CONTENT_TAG><AIS_TEXT_START>What is this?<AIS_CONTENT_TAG>

A medium is a path, a `file://` address, an address of the web, or `data:TYPE;base64,...`.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.core.media import Medium
from assay.dialects.shared.differences import Difference, touches_every_task

CONTENT = "content"
"""The column that holds the marked text."""
CONTENT_TAG = "<AIS_CONTENT_TAG>"
TEXT_START = "<AIS_TEXT_START>"
START_MARKS: dict[str, Medium | None] = {
    TEXT_START: None,
    "<AIS_IMAGE_START>": Medium.IMAGE,
    "<AIS_VIDEO_START>": Medium.VIDEO,
    "<AIS_AUDIO_START>": Medium.AUDIO,
}
"""What a stretch begins with, and the medium it then names; None: it is text."""

MEDIA_DIFFERENCES: tuple[Difference[object], ...] = (
    Difference(
        "unmarked_text",
        touches_every_task,
        "a stretch of `content` without a mark is left out; a row of unmarked text asks nothing",
        "it is text",
    ),
    Difference(
        "media_types",
        touches_every_task,
        "base64 is sent under the type that the config writes, whatever the data are",
        "it is sent under the type that its content says",
    ),
    Difference(
        "media_files",
        touches_every_task,
        "`file://` addresses go to the server, which must be able to read the same paths",
        "files are read here and sent as base64, WAV and MP3 as `input_audio`; the model sees the same",
        is_reproduced=False,
    ),
)
"""Where the original and Assay differ about media."""


class ContentPart(NamedTuple):
    """One part of a row's content."""

    medium: Medium | None
    """None: it is text."""
    value: str
    """The text, or where the medium is."""


def split_content(content: str, *, is_faithful: bool = False) -> list[ContentPart]:
    """Return the parts of a marked text, in their order. The last need not be closed."""
    found: list[ContentPart] = []
    for piece in content.split(CONTENT_TAG):
        mark = next((start for start in START_MARKS if piece.startswith(start)), None)
        if mark is not None:
            # The original takes every repetition of the mark out, not the first alone.
            value = piece.replace(mark, "") if is_faithful else piece[len(mark) :]
            found.append(ContentPart(START_MARKS[mark], value))
        elif piece.strip() and not is_faithful:
            found.append(ContentPart(None, piece))
    return found
