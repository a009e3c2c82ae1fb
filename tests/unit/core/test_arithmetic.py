"""Arithmetic as text: the same as Python's own, and nothing but arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.arithmetic import NotArithmetic, compile_arithmetic

_LEAVES = st.sampled_from(["x", "2", "100", "0.5"])
_TEXTS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda p: f"{p[0]}({p[1]}, {p[2]})"),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"abs({text})"),
    ),
    max_leaves=8,
)


@given(_TEXTS, st.floats(-1e3, 1e3))
def test_it_is_what_python_makes_of_it(text: str, x: float) -> None:
    assert compile_arithmetic(text)(x) == pytest.approx(eval(text, {}, {"x": x}))  # noqa: S307 (the oracle)


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os').getcwd()", "x.real", "[x for x in (1,)]", "y", "'a'", "True", "x if x else 1"),
        *("(lambda: x)()", "min(*[x])", "min(x, key=abs)", "9 ** 9 ** 9", "x +", "", "x" * 600, "min()"),
    ],
)
def test_anything_else_is_rejected(text: str) -> None:
    with pytest.raises(NotArithmetic):
        compile_arithmetic(text)
