"""The sentences of a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from assay.results.comparison import Fourfold, MetricComparison, PairedDifference, RunComparison, Side
from assay.results.comparison_words import (
    build_difference_matrix,
    comparison_rows,
    describe_difference,
    describe_left_out,
    format_p,
    format_side_letter,
    render_comparison,
    select_notable_comparisons,
    summarize_comparison,
)


def compared(
    difference: float | None, low: float | None = None, high: float | None = None, **more: Any
) -> MetricComparison:
    result = PairedDifference(
        n=more.pop("n", 100),
        n_units=100,
        a=None if difference is None else more.pop("a", 0.5),
        b=None if difference is None else 0.5 + difference,
        difference=difference,
        low=low,
        high=high,
        stderr=more.pop("stderr", None),
        p=more.pop("p", 0.003),
        test="student",
        fourfold=more.pop("fourfold", None),
        smallest=more.pop("smallest", None),
        n_for_a_point=more.pop("n_for_a_point", None),
    )
    facts = {"is_headline": True, "is_share": True, "is_factor": False, "higher_is_better": True, **more}
    return MetricComparison(
        "t", "gen", "accuracy", facts.pop("first", 0), facts.pop("second", 1), result, **facts
    )


SENTENCES = [
    (
        compared(0.023, 0.008, 0.038),
        "B scores 2.3 points higher than A (B - A = +2.3, 95 % interval 0.8 to 3.8, p = 0.003)",
    ),
    (
        compared(-0.023, -0.038, -0.008),
        "B scores 2.3 points lower than A (B - A = -2.3, 95 % interval -3.8 to -0.8, p = 0.003)",
    ),
    (
        compared(-0.023, -0.038, 0.008, p=0.14, smallest=0.051, n_for_a_point=2601),
        "no significant difference: B scores 2.3 points lower than A (B - A = -2.3, 95 % interval -3.8 to "
        "0.8, p = 0.14); with 100 pairs, only differences of 5.1 points or more are detectable, and "
        "detecting 1 point would take 2,601 pairs",
    ),
    (
        compared(-1.5, -2.5, -0.5, is_share=False, higher_is_better=False),
        "B scores 1.5 lower (better) than A (B - A = -1.5, 95 % interval -2.5 to -0.5, p = 0.003)",
    ),
    (
        compared(0.8, 0.75, 0.9, is_share=False, is_factor=True, higher_is_better=False),
        "B scores 20.0 % lower (better) than A (change from A to B -20.0 %, 95 % interval -25.0 to -10.0 %, "
        "p = 0.003)",
    ),
    (
        compared(1.25, 1.0 / 0.9, 1 / 0.75, is_share=False, is_factor=True, higher_is_better=False),
        "B scores 25.0 % higher (worse) than A (change from A to B +25.0 %, 95 % interval +11.1 to +33.3 %, "
        "p = 0.003)",
    ),
    (
        compared(0.0, smallest=0.1),
        "A and B score the same; with 100 pairs, only differences of 10.0 points or more are detectable",
    ),
    (compared(0.0, n=2), "A and B score the same; 2 pairs are too few to detect any difference"),
    (
        compared(0.0, stderr=0.0, is_share=False, n=1_000),
        "A and B score the same; the 1,000 pairs show no spread, so the minimum detectable "
        "difference is unknown",
    ),
    (
        compared(0.5, p=None, stderr=0.0, is_share=False),
        "no significant difference: B scores 0.5 higher than A (B - A = +0.5, every pair differs by the same "
        "amount, so there is no interval); the 100 pairs show no spread, so the minimum detectable "
        "difference is unknown",
    ),
    (compared(None), "no sample was scored on both sides"),
    (
        compared(0.5, p=None, n=1),
        "no significant difference: B scores 50.0 points higher than A (B - A = +50.0, too few pairs for an "
        "interval); 1 pairs are too few to detect any difference",
    ),
    (
        compared(0.1, 0.05, 0.15, p=0.02, p_corrected=0.03),
        "B scores 10.0 points higher than A (B - A = +10.0, 95 % interval 5.0 to 15.0, p = 0.03, corrected "
        "for all pairs)",
    ),
]


@pytest.mark.parametrize(("one", "message"), SENTENCES)
def test_sentences(one: MetricComparison, message: str) -> None:
    assert describe_difference(one) == message


def test_a_p_is_not_said_with_more_digits_than_it_is_worth() -> None:
    assert [format_p(p) for p in (1e-9, 0.00012, 0.0421, 1.0, None)] == [
        "< 0.0001",
        "= 0.00012",
        "= 0.042",
        "= 1",
        "is unknown",
    ]


def test_rows_hold_both_values_and_what_flipped() -> None:
    one = compared(0.1, 0.05, 0.15, fourfold=Fourfold(40, 10, 20, 30), smallest=0.08)
    factor = compared(0.8, 0.75, 0.9, is_share=False, is_factor=True, a=20.0, p=None)
    assert comparison_rows([one, factor]) == [
        [
            *("t", "gen", "A B", "50.0", "60.0", "+10.0", "5.0 to 15.0", "0.003", "10", "20", "100"),
            "8.0 points",
        ],
        ["t", "gen", "A B", "20", "1.3", "-20.0 %", "-25.0 to -10.0 %", "-", "-", "-", "100", "-"],
    ]


def side(name: str) -> Side:
    return Side(name, f"run-{name}", f"runs/{name}", name, None)


def test_a_matrix_has_every_pair_both_ways() -> None:
    metrics = (
        compared(0.1, first=0, second=1),
        compared(-0.2, first=0, second=2, p=0.4),
        compared(0.0, first=1, second=2, p=1.0),
    )
    found = RunComparison(tuple(map(side, "xyz")), metrics, ())
    headings, rows = build_difference_matrix(found, metrics)
    assert headings == ["", "A", "B", "C"]
    assert rows == [
        ["A", "", "-10.0 *", "+20.0"],
        ["B", "+10.0 *", "", "+0.0"],
        ["C", "-20.0", "+0.0", ""],
    ]


def test_what_is_left_out_is_reported() -> None:
    assert describe_left_out(compared(0.1)) is None
    one = compared(0.1, n_only_first=1200, n_failed=3, n_ungraded=2)
    assert describe_left_out(one) == (
        "t gen, A B: omitted samples: 1,200 only in A, 3 failed on at least one side, "
        "2 not scored on both sides"
    )


def test_markdown_has_sides_sentences_table_and_notes() -> None:
    found = RunComparison(
        (side("x|y"), side("z")), (compared(0.1, 0.05, 0.15, n_failed=3),), ("shots differ",)
    )
    text = render_comparison(found)
    assert text.startswith("# x|y vs z\n")
    assert "| A | x\\|y | run-x\\|y | x\\|y |" in text
    assert "- **t gen**: B scores 10.0 points higher than A" in text
    assert "- shots differ\n- t gen, A B: omitted samples" in text


def test_letters_continue_as_numbers() -> None:
    assert [format_side_letter(at) for at in (0, 25, 26)] == ["A", "Z", "27"]


def test_of_many_tasks_what_is_real_is_reported_and_the_others_are_counted() -> None:
    few = RunComparison((side("x"), side("z")), (compared(0.1), compared(0.0, p=1.0)), ())
    assert summarize_comparison(few) is None
    assert select_notable_comparisons(few) == list(few.metrics)
    mean = compared(0.01, p=0.4, n_subsets=30)
    real = [compared(0.2), compared(-0.2), compared(0.3)]
    many = RunComparison((side("x"), side("z")), (mean, *real, *([compared(0.1, p=0.5)] * 27)), ())
    assert summarize_comparison(many) == (
        "of 30 comparisons: A is better in 1, B is better in 2, no significant difference in 27; "
        "about 2 would look significant by chance alone"
    )
    assert select_notable_comparisons(many) == [mean, *real]


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("difference", [-0.25, 0.25])
def test_sentence_and_table_show_one_direction(difference: float, higher_is_better: bool) -> None:
    one = compared(difference, difference - 0.3, difference + 0.35, higher_is_better=higher_is_better, p=0.2)
    row = comparison_rows([one])[0]
    assert f"B - A = {row[5]}, 95 % interval {row[6]}" in describe_difference(one)
