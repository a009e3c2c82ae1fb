"""Answers marked as a config defines: by a pattern, a tag, or the tokens around the reasoning."""

from __future__ import annotations

import re
from functools import lru_cache

from assay.core.difference import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor, make_unchanged

_TAG = re.compile(r"<[\w.-]+>")
_NOTHING_IN_TAG = "NO ANSWER FOUND"
_START, _END = "<think>", "</think>"


@lru_cache(maxsize=64)
def _pattern(text: str, argument: str) -> re.Pattern[str]:
    """Return a user's pattern; ValueError if it is invalid or has no group."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{argument!r} is not a valid regular expression: {error}") from None
    if not pattern.groups:
        raise ValueError(f"{argument!r} has no group; put the answer in parentheses: '(...)'")
    return pattern


def _find_by_pattern(text: str, *, answer_pattern: str) -> str | None:
    found = _pattern(answer_pattern, "answer_pattern").search(text)
    return found[1] if found else ""


def _find_after_thinking(text: str, *, re_pattern: str) -> str | None:
    found = _pattern(re_pattern, "re_pattern").search(text)
    if found is None:
        return text
    return None if found[1] is None else found[1].strip()


def _find_in_tag_original(text: str, *, tag: str) -> str:
    found = _find_in_tag(text, tag=tag)
    return _NOTHING_IN_TAG if found is None else found


def _find_in_tag(text: str, *, tag: str) -> str | None:
    if not _TAG.fullmatch(tag):
        raise ValueError(f"'tag' is {tag!r}; write it with its brackets, as in '<answer>'")
    found = re.findall(f"{re.escape(tag)}(.*?)</{re.escape(tag[1:-1])}>", text, re.DOTALL)
    return str(found[-1]).strip() if found else None


def _strip_reasoning_raw_original(
    text: str, *, think_start_token: str = _START, think_end_token: str = _END
) -> str:
    if think_start_token not in text and think_end_token in text:
        return text.split(think_end_token)[-1]
    # The original treats the tokens as patterns.
    try:
        return re.sub(f"{think_start_token}(.*?){think_end_token}", "", text, flags=re.DOTALL)
    except re.error as error:
        raise ValueError(f"the tokens {think_start_token!r} and {think_end_token!r}: {error}") from None


def _strip_reasoning_original(
    text: str, *, think_start_token: str = _START, think_end_token: str = _END
) -> str:
    raw = _strip_reasoning_raw_original(
        text, think_start_token=think_start_token, think_end_token=think_end_token
    )
    return raw.strip()


def _strip_reasoning_raw(
    text: str, *, think_start_token: str = _START, think_end_token: str = _END
) -> str | None:
    if not (think_start_token and think_end_token):
        raise ValueError("a token is empty; write the tokens before and after the reasoning")
    thought = f"{re.escape(think_start_token)}.*?{re.escape(think_end_token)}"
    reply = re.sub(thought, "", text, flags=re.DOTALL).rpartition(think_end_token)[2]
    return None if think_start_token in reply else reply


def _strip_reasoning(
    text: str, *, think_start_token: str = _START, think_end_token: str = _END
) -> str | None:
    reply = _strip_reasoning_raw(text, think_start_token=think_start_token, think_end_token=think_end_token)
    return None if reply is None else reply.strip()


def _keep_text(text: str) -> str:
    return text


_UNFINISHED = Difference[object](
    "truncated reasoning is an answer, and the tokens are regular expressions",
    "unfinished reasoning is no answer, and the tokens are plain text",
)

THINK_PRED = make_unchanged(_find_after_thinking)
MATCH_ANSWER_PATTERN = make_unchanged(_find_by_pattern)
SPECIFIC_XML_TAG = PostProcessor(
    _find_in_tag_original,
    _find_in_tag,
    Difference(
        f"without such a tag the answer is `{_NOTHING_IN_TAG}`", "without such a tag there is no answer"
    ),
)
NON_REASONING = PostProcessor(_strip_reasoning_original, _strip_reasoning, _UNFINISHED, sees_reasoning=True)
NON_REASONING_RAW = PostProcessor(
    _strip_reasoning_raw_original, _strip_reasoning_raw, _UNFINISHED, sees_reasoning=True
)
KEEP_REASONING = PostProcessor(_keep_text, _keep_text, sees_reasoning=True)
