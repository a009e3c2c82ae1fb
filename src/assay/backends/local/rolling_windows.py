"""Splits a long text into windows by token counts. Knows no texts, tokenizers or models.

Positions count the tokens of the whole sequence, including leading ones. `first` is the first token that can
be scored: all before it are special tokens, or the beginning of the text without context.
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
    """A text cannot be split as requested; the message says why."""


class Window(NamedTuple):
    """Tokens `begin` to `end` of a sequence; those from `first_scored` on are scored.

    The last token is only predicted, so the model reads one token fewer.
    """

    begin: int
    end: int
    first_scored: int


def cut_windows(windows_setting: Windows, n_tokens: int, first: int, context: int | None) -> list[Window]:
    """Return the windows of a sequence; without a known context length, the whole text is one window."""
    length = windows_setting.length or _default_length(windows_setting, context) or n_tokens
    if context is not None and length > context:
        raise WindowTrouble(
            f"windows of {length:,} tokens exceed the model's context length of {context:,} tokens"
        )
    windows = [
        window
        for window in _cut_by_scheme(windows_setting, n_tokens, first, length)
        if window.first_scored < window.end
    ]
    if not windows:
        raise WindowTrouble(f"windows of {length:,} tokens leave no token of {n_tokens:,} to score")
    return windows


def _cut_by_scheme(windows_setting: Windows, n_tokens: int, first: int, length: int) -> list[Window]:
    if windows_setting.scheme == "classic":
        return cut_classic_windows(n_tokens, first, length)
    if windows_setting.scheme == "gptq":
        return cut_gptq_windows(n_tokens, first, length)
    stride = windows_setting.stride or min(STRIDE, length)
    if stride > length:
        raise WindowTrouble(f"a stride of {stride:,} tokens skips tokens between windows of {length:,}")
    return cut_stride_windows(n_tokens, first, length, stride)


def _default_length(windows_setting: Windows, context: int | None) -> int | None:
    if windows_setting.scheme == "gptq":
        return GPTQ_LENGTH if context is None else min(GPTQ_LENGTH, context)
    return context


def cut_classic_windows(n_tokens: int, first: int, length: int) -> list[Window]:
    """Return disjoint windows that read `length` tokens: one token of context, then the scored ones.

    The last window is extended to the left to full length, which gives its tokens more context.
    """
    windows = [Window(0, min(n_tokens, length + 1), first)]
    while (done := windows[-1].end) < n_tokens:
        end = min(done + length, n_tokens)
        windows.append(Window(end - length - 1, end, done))
    return windows


def cut_stride_windows(n_tokens: int, first: int, length: int, stride: int) -> list[Window]:
    """Return windows of `length` tokens at every `stride` tokens; each scores the tokens not yet scored.

    A window's first token has no context; if windows do not overlap, it is not scored.
    """
    windows: list[Window] = []
    done, begin = first, 0
    while done < n_tokens:
        end = min(begin + length, n_tokens)
        windows.append(Window(begin, end, max(done, begin + 1)))
        done, begin = max(done, end), begin + stride
    return windows


def cut_gptq_windows(n_tokens: int, first: int, length: int) -> list[Window]:
    """Return independent blocks of `length` tokens; the first token of each is not scored.

    The remainder at the end is dropped.
    """
    if n_tokens < length:
        raise WindowTrouble(
            f"the text has {n_tokens:,} tokens, fewer than one block of {length:,}; "
            "set a smaller block with --window-tokens"
        )
    starts = range(0, n_tokens - length + 1, length)
    return [Window(begin, begin + length, max(begin + 1, first)) for begin in starts]


Offset = tuple[int, int]
"""Start and end of a token's characters."""

_WORD_BEGINS = re.compile(r"(?<!\S)\S")


class TextLength(NamedTuple):
    """The counts by which perplexities are divided."""

    n_chars: int
    n_bytes: int
    n_words: int


def measure_scored_text(
    text: str, windows: Sequence[Window], offsets: Sequence[Offset], *, n_leading: int
) -> TextLength:
    """Measure the scored text; the sequence begins with `n_leading` tokens that are not in the text."""
    n_chars = n_bytes = n_words = 0
    for begin, end in _stretches(windows, offsets, n_leading):
        n_chars += end - begin
        n_bytes += len(text[begin:end].encode("utf-8", "surrogatepass"))
        # A word that began in an unscored part is not counted, because its beginning was not scored.
        n_words += sum(1 for _ in _WORD_BEGINS.finditer(text, begin, end))
    return TextLength(n_chars, n_bytes, n_words)


def find_token_starts(offsets: Sequence[Offset], boundary: int) -> tuple[int, ...]:
    """Return the starts of tokens, counted from the prompt/answer boundary; empty if they are not in order.

    A normaliser may reorder characters; the text under such tokens would be wrong.
    """
    starts = [begin - boundary for begin, _ in offsets]
    return tuple(starts) if starts == sorted(starts) else ()


def _stretches(windows: Sequence[Window], offsets: Sequence[Offset], n_leading: int) -> Iterator[Offset]:
    """Yield start and end of scored characters; windows that continue each other form one stretch."""
    done = 0
    for first, after in _find_scored_runs(windows):
        # Tokens can share a character, if its bytes are separate tokens: it is counted once.
        begin = max(done, offsets[first - n_leading][0])
        done = max(done, offsets[after - 1 - n_leading][1])
        if begin < done:
            yield begin, done


def _find_scored_runs(windows: Sequence[Window]) -> Iterator[tuple[int, int]]:
    first, after = windows[0].first_scored, windows[0].end
    for window in windows[1:]:
        if window.first_scored != after:
            yield first, after
            first = window.first_scored
        after = window.end
    yield first, after
