"""The scored part of a text: how long it is in characters, bytes and words, and where its tokens begin.

Knows windows, not models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.backends.local.rolling_windows import Window

Offset = tuple[int, int]
"""Where a token's characters begin and end."""

_WORD_BEGINS = re.compile(r"(?<!\S)\S")


class TextLength(NamedTuple):
    """What perplexities are divided by."""

    n_chars: int
    n_bytes: int
    n_words: int


def measure_scored_text(
    text: str, windows: Sequence[Window], offsets: Sequence[Offset], *, n_leading: int
) -> TextLength:
    """Measure what the windows score; `n_leading` tokens of the sequence stand before the text's own."""
    n_chars = n_bytes = n_words = 0
    for begin, end in _stretches(windows, offsets, n_leading):
        n_chars += end - begin
        n_bytes += len(text[begin:end].encode("utf-8", "surrogatepass"))
        # A word that began in an unscored part is not counted: its beginning was not scored.
        n_words += sum(1 for _ in _WORD_BEGINS.finditer(text, begin, end))
    return TextLength(n_chars, n_bytes, n_words)


def find_token_starts(offsets: Sequence[Offset], join: int) -> tuple[int, ...]:
    """Return where tokens begin, counted from the join; empty where they do not follow each other.

    A normaliser may turn characters around; what would be shown under such tokens is not theirs.
    """
    starts = [begin - join for begin, _ in offsets]
    return tuple(starts) if starts == sorted(starts) else ()


def _stretches(windows: Sequence[Window], offsets: Sequence[Offset], n_leading: int) -> Iterator[Offset]:
    """Yield where scored characters begin and end; windows that score on where the last ended are one."""
    done = 0
    for first, after in _scored_runs(windows):
        # Tokens can share a character, as when its bytes are tokens of their own: it is counted once.
        begin = max(done, offsets[first - n_leading][0])
        done = max(done, offsets[after - 1 - n_leading][1])
        if begin < done:
            yield begin, done


def _scored_runs(windows: Sequence[Window]) -> Iterator[tuple[int, int]]:
    first, after = windows[0].first_scored, windows[0].end
    for window in windows[1:]:
        if window.first_scored != after:
            yield first, after
            first = window.first_scored
        after = window.end
    yield first, after
