from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.latex import is_equiv, latex_form


@pytest.mark.parametrize(
    ("answer", "normal"),
    [
        (r"\frac12", r"\frac{1}{2}"),
        (r"\frac1{72}", r"\frac{1}{72}"),
        (r"\frac 1 2", r"\frac{1}{2}"),
        (r"\frac{7}2", r"\frac{7}{2}"),
        (r"\dfrac{3}{4}", r"\frac{3}{4}"),
        (r"\tfrac34", r"\frac{3}{4}"),
        (r"\frac\pi2", r"\frac{\pi}{2}"),
        ("1/2", r"\frac{1}{2}"),
        ("-3/4", r"\frac{-3}{4}"),
        ("01/2", "01/2"),
        ("1/2/3", "1/2/3"),
        ("x/2", "x/2"),
        ("0.5", r"\frac{1}{2}"),
        (".5", r"\frac{1}{2}"),
        (".25", "0.25"),
        (r"\{.3, .4\}", r"\{0.3,0.4\}"),
        (r"\left( 1, 2 \right)", "(1,2)"),
        (r"90^\circ", "90"),
        (r"90^{\circ}", "90"),
        (r"12\%", "12"),
        (r"\$15", "15"),
        (r"5\text{ cm}", "5"),
        (r"5\text{ cm}^2\text{ or so}", "5"),
        (r"\text{red}", r"\text{red}"),
        (r"\sqrt3", r"\sqrt{3}"),
        (r"2\sqrt 3", r"2\sqrt{3}"),
        (r"\sqrt\pi", r"\sqrt{\pi}"),
        (r"\sqrt[3]{2}", r"\sqrt[3]{2}"),
        (r"\sqrt\frac12", r"\sqrt\frac{1}{2}"),
        ("x = 7", "7"),
        ("x=y=7", "x=y=7"),
        ("area = 7", "area=7"),
        ("1\n2", "12"),
        (r"10\!000", "10000"),
        (r"\\frac{1}{2}", r"\frac{1}{2}"),
        (r"\frac", r"\frac"),
        (r"\sqrt", r"\sqrt"),
        ("", ""),
    ],
)
def test_normal_forms(answer: str, normal: str) -> None:
    assert latex_form(answer) == normal


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (r"\frac{1}{2}", "1/2", True),
        ("k = 3", "3", True),
        ("2+1", "3", False),
        ("0.50", "0.5", False),
        (None, None, True),
        (None, "1", False),
        ("1", None, False),
    ],
)
def test_equivalence(one: str | None, other: str | None, equal: bool) -> None:
    assert is_equiv(one, other) is equal


# Answers of the kind the benchmark holds: numbers, fractions, roots, degrees, with and without a name.
numbers = st.integers(-999, 999).map(str) | st.decimals(-9, 9, places=2).map(str)
atoms = numbers | st.sampled_from(["x", r"\pi", "a"])
terms = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda top, below: rf"\frac{{{top}}}{{{below}}}", inner, inner),
        st.builds(lambda inside: rf"\sqrt{{{inside}}}", inner),
        st.builds(lambda left, right: f"({left},{right})", inner, inner),
    ),
    max_leaves=5,
)


@given(terms)
def test_a_normal_form_stays_as_it_is(answer: str) -> None:
    once = latex_form(answer)
    assert latex_form(once) == once


@given(terms)
def test_how_an_answer_is_set_makes_no_difference(answer: str) -> None:
    for other in (
        answer.replace("frac", "dfrac"),
        answer.replace("(", r"\left( ").replace(")", r" \right)"),
        answer.replace(",", ",\\! "),
        f"x = {answer}",
        rf"{answer}^\circ",
        rf"{answer}\text{{ cm}}",
        rf"{answer}\%",
    ):
        assert is_equiv(answer, other)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))
def test_other_numbers_differ(top: int, below: int, other: int) -> None:
    assert is_equiv(rf"\frac{top}{below}", rf"\frac{{{top}}}{{{other}}}") is (below == other)


@given(st.text(alphabet="\\{}[]frac sqrt=.05/12^%$!\n", max_size=20))
def test_broken_latex_never_raises(answer: str) -> None:
    assert is_equiv(answer, answer)
