"""Cutting a long text into windows: token counts in, windows out. Knows no texts, tokenizers or models.

Positions count the tokens of the whole sequence, with what leads it. `first` is the first token that can be
scored at all: all before it are special tokens, or the beginning that has nothing to be conditioned on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.core.request import Windows

GPTQ_LENGTH = 2048
STRIDE = 512
"""The defaults of the published recipes."""


class WindowTrouble(Exception):
    """A text cannot be cut as asked; the message says why."""


class Window(NamedTuple):
    """Tokens `begin` to `end` of a sequence, of which those from `first_scored` on are scored here.

    The last one is only predicted, so the model is fed one token fewer.
    """

    begin: int
    end: int
    first_scored: int


def cut_windows(asked: Windows, n_tokens: int, first: int, context: int | None) -> list[Window]:
    """Return the windows of a sequence; a model without a known context reads the whole text as one."""
    length = asked.length or _default_length(asked, context) or n_tokens
    if context is not None and length > context:
        raise WindowTrouble(
            f"windows of {length:,} tokens were asked for; the model reads at most {context:,}"
        )
    windows = [one for one in _cut_by_scheme(asked, n_tokens, first, length) if one.first_scored < one.end]
    if not windows:
        raise WindowTrouble(f"windows of {length:,} tokens leave nothing of {n_tokens:,} to score")
    return windows


def _cut_by_scheme(asked: Windows, n_tokens: int, first: int, length: int) -> list[Window]:
    if asked.scheme == "classic":
        return cut_classic_windows(n_tokens, first, length)
    if asked.scheme == "gptq":
        return cut_gptq_windows(n_tokens, first, length)
    stride = asked.stride or min(STRIDE, length)
    if stride > length:
        raise WindowTrouble(f"a stride of {stride:,} tokens leaves out tokens between windows of {length:,}")
    return cut_stride_windows(n_tokens, first, length, stride)


def _default_length(asked: Windows, context: int | None) -> int | None:
    if asked.scheme == "gptq":
        return GPTQ_LENGTH if context is None else min(GPTQ_LENGTH, context)
    return context


def cut_classic_windows(n_tokens: int, first: int, length: int) -> list[Window]:
    """Disjoint windows that feed `length` tokens: one token of context, then those scored.

    The last is moved to the left until it is full, which gives its tokens more context.
    """
    windows = [Window(0, min(n_tokens, length + 1), first)]
    while (done := windows[-1].end) < n_tokens:
        end = min(done + length, n_tokens)
        windows.append(Window(end - length - 1, end, done))
    return windows


def cut_stride_windows(n_tokens: int, first: int, length: int, stride: int) -> list[Window]:
    """Windows of `length` tokens begin every `stride` tokens; each scores what none before it did.

    A window's own first token has no context there; where windows do not overlap it stays unscored.
    """
    windows: list[Window] = []
    done, begin = first, 0
    while done < n_tokens:
        end = min(begin + length, n_tokens)
        windows.append(Window(begin, end, max(done, begin + 1)))
        done, begin = max(done, end), begin + stride
    return windows


def cut_gptq_windows(n_tokens: int, first: int, length: int) -> list[Window]:
    """Blocks of `length` tokens that know nothing of each other; the first token of each is not scored.

    What is left over at the end is dropped.
    """
    if n_tokens < length:
        raise WindowTrouble(
            f"the text has {n_tokens:,} tokens, fewer than one block of {length:,}; "
            "choose a smaller one with --window-tokens"
        )
    starts = range(0, n_tokens - length + 1, length)
    return [Window(begin, begin + length, max(begin + 1, first)) for begin in starts]


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
