"""Solved examples that a template has in its own words, which no retriever counts.

Many shipped configs retrieve nothing and write their examples into the template: as turns that are answered
before the question, or as a text in which the words before the question stand several times.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from assay.dialects.openicl.templates.layouts import TemplateItem
from assay.dialects.openicl.templates.template_parsing import TemplateLayout, list_items

_ANSWER_ROLE = "BOT"
_MIN_RULE_LENGTH = 3
"""So many marks, such as dashes, are a line between examples."""


def count_inline_examples(read: TemplateLayout | None, columns: Collection[str]) -> int:
    """Return how many solved examples stand before the question, which has the first hole of a column."""
    layout = next(iter(read.values()), None) if isinstance(read, dict) else read
    before: list[TemplateItem] = []
    for item in list_items(layout):
        # Words between braces in an example are no holes.
        hole = next((column for column in item.text.columns if column in columns), None)
        if hole is not None:
            answered = [one for one in before if one.role == _ANSWER_ROLE and one.text.raw.strip()]
            return len(answered) + _count_repeats(item.text.raw[: item.text.find_hole(hole)])
        before.append(item)
    return 0


def _count_repeats(before: str) -> int:
    """Return how often the words before the question, from the beginning of their line, stood before."""
    start = before.rstrip().rfind("\n") + 1
    words = before[start:].strip()
    is_rule = not any(letter.isalnum() for letter in words)
    if is_rule and len(words) < _MIN_RULE_LENGTH:
        return 0
    end = r"[ \t]*$" if is_rule else ""
    return len(re.findall(rf"^[ \t]*{re.escape(words)}{end}", before[:start], re.MULTILINE))
