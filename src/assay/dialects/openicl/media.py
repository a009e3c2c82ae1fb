"""Media in rows of AISBench: marked segments of one text, in prompt order.

    <AIS_IMAGE_START>images/0.png<AIS_CONTENT_TAG><AIS_TEXT_START>What is this?<AIS_CONTENT_TAG>

A medium is a path, a `file://` address, a web address, or `data:TYPE;base64,...`.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.core.media import Medium
from assay.dialects.shared.differences import Difference, touches_every_task

CONTENT = "content"
"""The column with the marked text."""
CONTENT_TAG = "<AIS_CONTENT_TAG>"
TEXT_START = "<AIS_TEXT_START>"
START_MARKS: dict[str, Medium | None] = {
    TEXT_START: None,
    "<AIS_IMAGE_START>": Medium.IMAGE,
    "<AIS_VIDEO_START>": Medium.VIDEO,
    "<AIS_AUDIO_START>": Medium.AUDIO,
}
"""The mark at the start of a segment, and its medium; None for text."""

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
"""The differences between the original and Assay in media."""


class ContentPart(NamedTuple):
    """One part of a row's content."""

    medium: Medium | None
    """None for text."""
    value: str
    """The text, or the address of the medium."""


def split_content(content: str, *, is_faithful: bool = False) -> list[ContentPart]:
    """Return the parts of a marked text in order. The last part need not be closed."""
    found: list[ContentPart] = []
    for piece in content.split(CONTENT_TAG):
        mark = next((start for start in START_MARKS if piece.startswith(start)), None)
        if mark is not None:
            # The original removes every repetition of the mark, not only the first.
            value = piece.replace(mark, "") if is_faithful else piece[len(mark) :]
            found.append(ContentPart(START_MARKS[mark], value))
        elif piece.strip() and not is_faithful:
            found.append(ContentPart(None, piece))
    return found
