"""Windows by their counts: every token once, never more than the model reads, only the first left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.backends.local.rolling_windows import (
    TextLength,
    Window,
    WindowTrouble,
    cut_classic_windows,
    cut_gptq_windows,
    cut_stride_windows,
    cut_windows,
    measure_scored_text,
)
from assay.core.request import Windows

COUNTS = st.integers(2, 300)
LENGTHS = st.integers(2, 60)


def scored(windows: list[Window]) -> list[int]:
    return [at for window in windows for at in range(window.first_scored, window.end)]


@given(COUNTS, LENGTHS)
def test_classic_scores_every_token_once(n: int, length: int) -> None:
    windows = cut_classic_windows(n, 1, length)
    assert scored(windows) == list(range(1, n))
    for window in windows:
        assert 0 <= window.begin < window.first_scored < window.end
        assert window.end - 1 - window.begin <= length  # What is fed.
    if len(windows) > 1:
        # The last is full; all between have one token of context.
        assert {window.end - 1 - window.begin for window in windows} == {length}
        assert all(window.first_scored - window.begin == 1 for window in windows[:-1])


@given(COUNTS, LENGTHS, st.data())
def test_hf_stride_scores_every_token_but_the_first_once(n: int, length: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, length - 1))
    windows = cut_stride_windows(n, 1, length, stride)
    assert scored(windows) == list(range(1, n))
    assert [window.begin for window in windows] == [stride * k for k in range(len(windows))]
    assert all(window.end - window.begin == length for window in windows[:-1])
    assert windows[-1].end == n


@given(st.integers(2, 300), LENGTHS)
def test_hf_stride_without_overlap_leaves_out_the_first_of_each_window(n: int, length: int) -> None:
    found = cut_windows(Windows("hf-stride", length, length), n, 1, None)
    assert scored(found) == [at for at in range(n) if at % length]


@given(COUNTS, LENGTHS)
def test_gptq_drops_the_remainder_and_each_blocks_first(n: int, length: int) -> None:
    if n < length:
        with pytest.raises(WindowTrouble, match=f"{n} tokens, fewer than one block of {length}"):
            cut_gptq_windows(n, 1, length)
        return
    found = scored(cut_gptq_windows(n, 1, length))
    assert found == [at for at in range(n // length * length) if at % length]


@pytest.mark.parametrize(
    ("n_text", "expected"),
    [
        (1, [(0, 2, 1)]),
        (3, [(0, 4, 1)]),
        (4, [(0, 5, 1)]),
        (5, [(0, 5, 1), (1, 6, 5)]),
        (8, [(0, 5, 1), (4, 9, 5)]),
        (9, [(0, 5, 1), (4, 9, 5), (5, 10, 9)]),
    ],
)
def test_classic_at_the_edges(n_text: int, expected: list[tuple[int, int, int]]) -> None:
    """Windows of four tokens; a token leads, so a text of n tokens is a sequence of n + 1."""
    assert cut_classic_windows(n_text + 1, 1, 4) == expected


@pytest.mark.parametrize(
    ("asked", "context", "longest"),
    [
        (Windows("classic"), 100, 101),
        (Windows("classic", 30), 100, 31),
        (Windows("classic"), None, 5000),
        (Windows("hf-stride"), 100, 100),
        (Windows("gptq"), 4096, 2048),
        (Windows("gptq"), 100, 100),
        (Windows("gptq"), None, 2048),
    ],
)
def test_default_lengths(asked: Windows, context: int | None, longest: int) -> None:
    windows = cut_windows(asked, 5000, 1, context)
    assert max(window.end - window.begin for window in windows) == longest


def test_the_default_stride_is_512_or_the_length() -> None:
    assert [window.begin for window in cut_windows(Windows("hf-stride"), 2500, 1, 2000)] == [0, 512]
    assert [window.begin for window in cut_windows(Windows("hf-stride"), 250, 1, 100)] == [0, 100, 200]


@pytest.mark.parametrize(
    ("asked", "context", "says"),
    [
        (
            Windows("classic", 200),
            100,
            "windows of 200 tokens exceed the model's context length of 100 tokens",
        ),
        (Windows("hf-stride", 50, 51), 100, "a stride of 51 tokens skips tokens between windows of 50"),
        (Windows("gptq", 64), 100, "30 tokens, fewer than one block of 64"),
        (Windows("gptq", 1), 100, "leave no token of 30 to score"),
    ],
)
def test_what_cannot_be_cut(asked: Windows, context: int, says: str) -> None:
    with pytest.raises(WindowTrouble, match=says):
        cut_windows(asked, 30, 1, context)


def test_tokens_that_lead_are_never_scored() -> None:
    assert scored(cut_windows(Windows("classic", 4), 12, 2, None)) == list(range(2, 12))
    assert scored(cut_windows(Windows("hf-stride", 4, 2), 12, 2, None)) == list(range(2, 12))
    assert scored(cut_windows(Windows("gptq", 4), 12, 2, None)) == [2, 3, 5, 6, 7, 9, 10, 11]


OFFSETS = [(0, 3), (3, 4), (4, 8), (8, 9), (9, 9), (9, 10)]
TEXT = "ab dé f 🙂x"


def test_lengths_of_the_scored_text() -> None:
    whole = measure_scored_text(TEXT, [Window(0, 7, 1)], OFFSETS, n_leading=1)
    assert whole == TextLength(len(TEXT), len(TEXT.encode()), 4)
    # From the second token on: its word began there, the first word did not.
    assert measure_scored_text(TEXT, [Window(0, 6, 1)], OFFSETS, n_leading=0) == TextLength(7, 11, 3)
    # Two windows that score on are one stretch; a gap leaves its characters out.
    assert measure_scored_text(TEXT, [Window(0, 3, 1), Window(2, 6, 3)], OFFSETS, n_leading=0).n_chars == 7
    assert measure_scored_text(TEXT, [Window(0, 2, 1), Window(2, 6, 3)], OFFSETS, n_leading=0).n_chars == 3


def test_a_character_of_several_tokens_is_counted_once() -> None:
    offsets = [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    windows = [Window(0, 2, 1), Window(2, 5, 3)]
    assert measure_scored_text("a🙂b", windows, offsets, n_leading=0) == TextLength(2, 5, 0)


@given(st.text(st.sampled_from("ab \n\té🙂"), min_size=1), st.data())
def test_words_are_counted_where_they_begin(text: str, data: st.DataObject) -> None:
    """Cut anywhere, the parts' counts add up to the whole's."""
    n = len(text)
    offsets = [(at, at + 1) for at in range(n)]
    at = data.draw(st.integers(0, n))
    parts = [
        measure_scored_text(text, [Window(0, end, begin)], offsets, n_leading=0)
        for begin, end in ((0, at), (at, n))
        if begin < end
    ]
    assert sum(part.n_words for part in parts) == len(text.split())
    assert sum(part.n_bytes for part in parts) == len(text.encode())
