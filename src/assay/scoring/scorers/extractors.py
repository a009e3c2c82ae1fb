"""Ways of finding an answer in what a model wrote, by name: what a person may choose when answers are scored.

Assay's own rules, a pattern of the person's, and every post-processor that configs name. Knows nothing of
right answers.
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
"""Takes a reply and the sample it is about."""

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
    said = text[start:end]
    start += len(said) - len(said.lstrip())
    said = said.strip()
    return Extraction(said, "whole", (start, start + len(said))) if said else Extraction()


OWN_EXTRACTORS: Mapping[str, tuple[Extractor, str]] = {
    AUTO: (_auto, "an option, a number or a text, as the right answer is one"),
    "option": (_option, "the option that the reply names, by its label or its text"),
    "number": (lambda text, _: extract_number(text), "the number that the reply comes to"),
    "text": (lambda text, _: extract_text(text), "a short free answer"),
    "whole": (_extract_whole, "all that the model said, without its reasoning"),
}
"""Assay's own, each with what it finds."""

PATTERNS: Mapping[str, str] = {
    f"{REGEX}PATTERN": "the first match of a regular expression: its first group, or all of it",
    f"{LAST_REGEX}PATTERN": "the last match",
}
"""Those that a person writes."""


def is_postprocessor(name: str) -> bool:
    """Whether a name is one that configs know."""
    return name in POSTPROCESSORS or name in ALIASES


def find_extractor(name: str) -> Extractor:
    """Return a way of finding answers by its name; ValueError when there is none of it."""
    if name in OWN_EXTRACTORS:
        return OWN_EXTRACTORS[name][0]
    for prefix in (REGEX, LAST_REGEX):
        if name.startswith(prefix):
            return _make_pattern_extractor(name.removeprefix(prefix), prefix)
    if is_postprocessor(name):
        return _make_postprocessor_extractor(name)
    known = (*OWN_EXTRACTORS, *PATTERNS, *POSTPROCESSORS)
    raise ValueError(
        f"there is no extractor {name!r}{suggest_name(name, (*known, *ALIASES))}; expected one of {listing(known)}"
    )


def _make_pattern_extractor(pattern: str, prefix: str) -> Extractor:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is no regular expression: {error}") from error
    if not pattern:
        raise ValueError(f"no pattern follows {prefix!r}")
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
        # The first group that takes part in the match: of `A: (\d)|B: (\d)` one does.
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
    """Return where an answer stands; None when it was rewritten, or stands more than once."""
    if not answer or text.count(answer) != 1:
        return None
    start = text.index(answer)
    return start, start + len(answer)
