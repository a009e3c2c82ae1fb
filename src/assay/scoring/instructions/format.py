"""Instructions about the form of a response: bullets, highlights, sections, JSON, a title, fixed answers."""

from __future__ import annotations

import json
import re
from typing import ClassVar

import msgspec

from assay.scoring.instructions.instruction import Count, Instruction, Text

_STAR_BULLET = re.compile(r"\s*\*[^*]")
_DASH_BULLET = re.compile(r"\s*-")
_HIGHLIGHT = re.compile(r"\*([^*\n]*)\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*([^*\n]*)\*\*")
_FENCE = re.compile(r"\A```(?:json|Json|JSON)?|```\Z")
_FIXED_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


class BulletList(Instruction, frozen=True):
    """Write exactly so many bullet points: lines that begin with one `*` and something after it, or with `-`.

    A line of dashes counts as a point, as in the reference; a line that begins with `**` does not. A star
    alone on its line is none here; in the reference it is one, and takes the next line with it.
    """

    id: ClassVar[str] = "detectable_format:number_bullet_lists"
    num_bullets: Count

    def is_followed(self, response: str) -> bool:
        """Whether the number of bullet points is as wanted."""
        lines = response.split("\n")
        return sum(1 for line in lines if _is_bullet(line)) == self.num_bullets


class ConstrainedResponse(Instruction, frozen=True):
    """Answer with one of three sentences: "My answer is yes.", "... no.", "... maybe."."""

    id: ClassVar[str] = "detectable_format:constrained_response"

    def is_followed(self, response: str) -> bool:
        """Whether one of the sentences stands in the response; more may stand around it."""
        return any(answer in response for answer in _FIXED_ANSWERS)


class HighlightedSections(Instruction, frozen=True):
    """Highlight at least so many parts with markdown, `*part*` or `**part**`."""

    id: ClassVar[str] = "detectable_format:number_highlighted_sections"
    num_highlights: Count

    def is_followed(self, response: str) -> bool:
        """Whether enough highlighted parts hold text.

        The two kinds are counted apart, so `***part***` counts twice, as in the reference.
        """
        parts = _HIGHLIGHT.findall(response) + _DOUBLE_HIGHLIGHT.findall(response)
        return sum(1 for part in parts if part.strip()) >= self.num_highlights


class Sections(Instruction, frozen=True):
    """Write at least so many sections, each begun with a word and a number, such as `Section 1`."""

    id: ClassVar[str] = "detectable_format:multiple_sections"
    section_splitter: Text = msgspec.field(name="section_spliter")
    num_sections: Count

    def is_followed(self, response: str) -> bool:
        """Whether enough sections are begun. Their numbers may be any."""
        heading = re.compile(re.escape(self.section_splitter.strip()) + r"\s?\d")
        return len(heading.findall(response)) >= self.num_sections


class JsonFormat(Instruction, frozen=True):
    """Write the whole response as JSON. A code fence around it is allowed; a bare number is JSON too."""

    id: ClassVar[str] = "detectable_format:json_format"

    def is_followed(self, response: str) -> bool:
        """Whether the response reads as JSON."""
        try:
            json.loads(_FENCE.sub("", response.strip()))
        except (ValueError, RecursionError):  # a runaway of brackets nests deeper than can be read
            return False
        return True


class Title(Instruction, frozen=True):
    """Give a title in double angular brackets, `<<title>>`."""

    id: ClassVar[str] = "detectable_format:title"

    def is_followed(self, response: str) -> bool:
        """Whether such brackets stand on one line and hold more than brackets and white space."""
        return any(_has_title(line) for line in response.split("\n"))


def _is_bullet(line: str) -> bool:
    return bool(_STAR_BULLET.match(line) or _DASH_BULLET.match(line))


def _has_title(line: str) -> bool:
    start, end = line.find("<<"), line.rfind(">>")
    return 0 <= start < end and bool(line[start:end].lstrip("<").rstrip(">").strip())
