"""Media in rows of AISBench: marked segments of one text, in prompt order.

    <AIS_IMAGE_START>images/0.png<AIS_CONTENT_TAG><AIS_TEXT_START>What is this?<AIS_CONTENT_TAG>

A medium is a path, a `file://` address, a web address, or `data:TYPE;base64,...`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from assay.core.difference import Difference
from assay.core.media import Medium

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

MEDIA_DIFFERENCES: Mapping[str, Difference[object]] = {
    "unmarked_text": Difference(
        "a part of `content` without a marker is omitted; a row without any marker has an empty prompt",
        "it is text",
    ),
    "media_types": Difference(
        "base64 data are sent with the type in the config, whatever they contain",
        "they are sent with the type of their content",
    ),
    "media_files": Difference(
        "`file://` addresses are sent to the server, which must be able to read the same paths",
        "Assay reads the files and sends them as base64, WAV and MP3 as `input_audio`; the model receives "
        "the same content",
        is_reproduced=False,
    ),
}
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
