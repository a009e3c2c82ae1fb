"""Extractors by name: the ways of finding an answer in a reply that users can choose.

Assay's own rules, a user's regular expression, and every post-processor that configs can name. Extractors do
not see the targets.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

from assay.core.errors import listing, suggest_name
from assay.core.sample import Sample
from assay.scoring.extract import Extraction, extract_number, extract_option, extract_text
from assay.scoring.extract.reply import find_spoken_part
from assay.scoring.normalize import are_numbers
from assay.scoring.originals.opencompass.postprocess import find_postprocessor, postprocessor_name
from assay.scoring.originals.opencompass.postprocess.registry import ALIASES, POSTPROCESSORS

Extractor: TypeAlias = Callable[[str, Sample], Extraction]
"""Takes a reply and its sample."""

REGEX, LAST_REGEX = "regex:", "last-regex:"
AUTO = "auto"


def _auto(text: str, sample: Sample) -> Extraction:
    if sample.choices:
        return _option(text, sample)
    return extract_number(text) if are_numbers(sample.targets) else extract_text(text)


def _option(text: str, sample: Sample) -> Extraction:
    return extract_option(text, sample.labels, sample.choices)


def _extract_whole(text: str, sample: Sample) -> Extraction:
    region = find_spoken_part(text)
    if region is None:
        return Extraction()
    start, end = region
    visible = text[start:end]
    start += len(visible) - len(visible.lstrip())
    visible = visible.strip()
    return Extraction(visible, "whole", (start, start + len(visible))) if visible else Extraction()


OWN_EXTRACTORS: Mapping[str, tuple[Extractor, str]] = {
    AUTO: (_auto, "an option, a number or a text, depending on the target"),
    "option": (_option, "the option the reply names, by label or text"),
    "number": (lambda text, _: extract_number(text), "the final number in the reply"),
    "text": (lambda text, _: extract_text(text), "a short free answer"),
    "whole": (_extract_whole, "the whole reply, without reasoning"),
}
"""Assay's own extractors, with what each finds."""

PATTERNS: Mapping[str, str] = {
    f"{REGEX}PATTERN": "the first match of a regular expression: its first group, or all of it",
    f"{LAST_REGEX}PATTERN": "the last match",
}
"""Extractors written by the user."""


def is_postprocessor(name: str) -> bool:
    """Whether a name is a post-processor that configs can name."""
    return name in POSTPROCESSORS or name in ALIASES


def find_extractor(name: str) -> Extractor:
    """Return the extractor with this name; ValueError if it does not exist."""
    if name in OWN_EXTRACTORS:
        return OWN_EXTRACTORS[name][0]
    for prefix in (REGEX, LAST_REGEX):
        if name.startswith(prefix):
            return _make_pattern_extractor(name.removeprefix(prefix), prefix)
    if is_postprocessor(name):
        return _make_postprocessor_extractor(name)
    known = (*OWN_EXTRACTORS, *PATTERNS, *POSTPROCESSORS)
    raise ValueError(
        f"unknown extractor {name!r}{suggest_name(name, (*known, *ALIASES))}; "
        f"expected one of {listing(known)}"
    )


def _make_pattern_extractor(pattern: str, prefix: str) -> Extractor:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is not a valid regular expression: {error}") from error
    if not pattern:
        raise ValueError(f"{prefix!r} needs a pattern after it")
    is_last = prefix == LAST_REGEX
    rule = prefix + pattern

    def find(text: str, sample: Sample) -> Extraction:
        region = find_spoken_part(text)
        if region is None:
            return Extraction()
        matches = compiled.finditer(text, *region)
        found = next(iter(deque(matches, maxlen=1)), None) if is_last else next(matches, None)
        if found is None:
            return Extraction()
        # The first group that takes part in the match: with `A: (\d)|B: (\d)` only one does.
        group = next((n for n in range(1, compiled.groups + 1) if found[n] is not None), 0)
        answer = found[group].strip()
        return Extraction(answer or None, rule, found.span(group))

    return find


def _make_postprocessor_extractor(name: str) -> Extractor:
    process, rule = find_postprocessor(name), postprocessor_name(name)

    def find(text: str, sample: Sample) -> Extraction:
        region = (0, len(text)) if process.sees_reasoning else find_spoken_part(text)
        if region is None:
            return Extraction()
        answer = process(text[region[0] : region[1]])
        return Extraction(answer, rule, find_span(answer, text))

    return find


def find_span(answer: str | None, text: str) -> tuple[int, int] | None:
    """Return the span of an answer; None if it was rewritten or occurs more than once."""
    if not answer or text.count(answer) != 1:
        return None
    start = text.index(answer)
    return start, start + len(answer)
