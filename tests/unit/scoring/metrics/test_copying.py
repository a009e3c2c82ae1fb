from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.metrics.copying import extractiveness, memorised

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=8)


@given(WORDS, st.lists(st.sampled_from("abc"), max_size=8))
def test_fragments_are_the_longest_runs_from_left_to_right(summary: list[str], source: list[str]) -> None:
    places = [
        tuple(source[start:end]) for start in range(len(source)) for end in range(start + 1, len(source) + 1)
    ]
    lengths, at = [], 0
    while at < len(summary):
        fits = [end - at for end in range(at + 1, len(summary) + 1) if tuple(summary[at:end]) in places]
        lengths += [max(fits)] if fits else []
        at += max(fits, default=1)
    result = extractiveness(" ".join(summary), " ".join(source))
    assert result.coverage == pytest.approx(sum(lengths) / len(summary))
    assert result.density == pytest.approx(sum(length**2 for length in lengths) / len(summary))
    assert result.compression == pytest.approx(len(source) / len(summary))


def test_marks_count_as_words() -> None:
    assert extractiveness("Yes.", "Yes. No.") == (1.0, 2.0, 2.0)


def test_an_empty_summary_is_refused() -> None:
    with pytest.raises(ValueError, match="no words"):
        extractiveness(" ", "a text")


def test_what_a_completion_repeats() -> None:
    result = memorised("once upon a day it was", "once upon a time it rained hard")
    assert tuple(result) == pytest.approx((3, 3, 4 / 7))
    assert memorised("", "") == (0, 0, 1.0)
    assert memorised("a b", "") == (0, 2, 0.0)
