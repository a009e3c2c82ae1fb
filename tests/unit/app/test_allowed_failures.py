from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.allowed_failures import AllowedFailures, has_too_many_failures, read_allowed_failures
from assay.core.errors import UsageError
from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.run import RunManifest, Setting, run_fingerprint
from assay.core.task import TaskSpec


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_number_of_samples(allowed: int, n_failed: int) -> None:
    assert AllowedFailures.parse(str(allowed)).are_exceeded(n_failed, 10**6) == (n_failed > allowed)
    assert AllowedFailures.parse(allowed) == AllowedFailures.parse(f" {allowed} ")


@given(st.decimals(0, 100, places=2), st.integers(1, 10**5), st.integers(0, 10**5))
def test_a_share_of_them_is_exact(percent: object, n_samples: int, n_failed: int) -> None:
    """0.57 % of 10,000 samples are 57, whatever floating point makes of it."""
    allowed = AllowedFailures.parse(f"{percent}%")
    assert allowed.are_exceeded(n_failed, n_samples) == (n_failed * 100 > Fraction(str(percent)) * n_samples)
    assert not AllowedFailures.parse("0.57 %").are_exceeded(57, 10_000)
    assert AllowedFailures.parse("0.57 %").are_exceeded(58, 10_000)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "101%", "%", "many", "5%%", "nan%", "1e3"])
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"USAGE-020.*--allow-failures"):
        AllowedFailures.parse(text)


def test_it_is_read_as_it_was_written() -> None:
    assert [str(AllowedFailures.parse(text)) for text in ("5", "0.5%", "10 %")] == ["5", "0.5%", "10%"]


def test_a_run_knows_what_was_allowed_and_that_is_no_part_of_what_it_is() -> None:
    spec = TaskSpec("t", "table", "t.csv", "hash", (Method.GEN,), n_samples=10, n_rows=10)
    model = ModelIdentity("mock", "mock")
    settings = {"allow_failures": Setting("20%", "flag")}
    run = RunManifest("id", (spec,), model, settings, {}, "now", failures={"timeout": 2})
    assert not has_too_many_failures(run)
    strict = RunManifest("id", (spec,), model, {}, {}, "now", failures={"timeout": 2})
    assert has_too_many_failures(strict)
    assert read_allowed_failures(strict) == AllowedFailures()
    assert run.fingerprint == strict.fingerprint == run_fingerprint((spec,), model)
