"""Instructions about parts that a response must contain: placeholders, a postscript."""

from __future__ import annotations

import re
from typing import ClassVar

from assay.scoring.instructions.instruction import Count, Instruction, Text

# The innermost pair: of `[[name]` it is the same one, and a runaway of opening brackets is read only once.
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
# Writers put spaces between the letters of these two; any other marker is looked for as it is.
_SPACED_MARKERS = {
    "P.S.": re.compile(r"p\.\s?s\.", re.IGNORECASE),
    "P.P.S": re.compile(r"p\.\s?p\.\s?s", re.IGNORECASE),
}


class Placeholders(Instruction, frozen=True):
    """Use at least so many placeholders in square brackets, such as `[address]`."""

    id: ClassVar[str] = "detectable_content:number_placeholders"
    num_placeholders: Count

    def is_followed(self, response: str) -> bool:
        """Whether there are enough pairs of brackets, each on one line."""
        return len(_PLACEHOLDER.findall(response)) >= self.num_placeholders


class Postscript(Instruction, frozen=True):
    """Add a postscript that begins with a marker, in any case. It is not asked to stand at the end."""

    id: ClassVar[str] = "detectable_content:postscript"
    postscript_marker: Text

    def is_followed(self, response: str) -> bool:
        """Whether the marker is there."""
        marker = self.postscript_marker.strip()
        if spaced := _SPACED_MARKERS.get(marker):
            return spaced.search(response) is not None
        return marker.lower() in response.lower()
