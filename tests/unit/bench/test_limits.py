"""Parsing of limits."""

from __future__ import annotations

import pytest

from assay.bench.goodput import RequestLimit
from assay.bench.limits import LoadLimit, LoadLimits
from assay.core.errors import UsageError
from fakes.attempts import attempted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p99 ttft < 500ms", LoadLimit("ttft", "p99", "<", 0.5)),
        ("P95 TPOT<=0.05s", LoadLimit("tpot", "p95", "<=", 0.05)),
        ("mean itl < 800 us", LoadLimit("itl", "mean", "<", 0.0008)),
        ("max e2el < 2.s", LoadLimit("e2el", "max", "<", 2.0)),
        ("failed < 1%", LoadLimit("failed", None, "<", 0.01)),
        ("failed <= 0%", LoadLimit("failed", None, "<=", 0.0)),
        ("ttft < 500ms", RequestLimit("ttft", 0.5)),
    ],
)
def test_a_limit_is_read(text: str, expected: LoadLimit | RequestLimit) -> None:
    limits = LoadLimits.parse([text])
    found: list[LoadLimit | RequestLimit] = [*limits.of_all, *limits.of_each]
    assert [(type(one), str(one)) for one in found] == [(type(expected), str(expected))]
    numbers = [one.value if isinstance(one, LoadLimit) else one.at_most_s for one in (*found, expected)]
    assert numbers[0] == pytest.approx(numbers[1])


def test_several_stand_in_one_text_and_are_written_as_they_are_read() -> None:
    texts = ["p99 ttft < 500ms, goodput >= 95%", "tpot <= 50ms"]
    limits = LoadLimits.parse(texts)
    assert [str(one) for one in limits.of_all] == ["p99 ttft < 500ms", "goodput >= 95%"]
    assert LoadLimits.parse([str(one) for one in limits.of_all] + ["tpot < 50ms"]) == limits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a limit"),
        ("fast", "'fast' is not a limit"),
        ("p99 ttft = 5ms", "is not a limit"),
        ("p99 ttft < -5ms", "is not a limit"),
        ("p99 tttf < 5ms", "unknown metric 'tttf' (did you mean 'ttft'?)"),
        ("p98 ttft < 5ms", "unknown statistic 'p98' (did you mean"),
        ("p99 ttft < 500", "the unit is missing"),
        ("p99 ttft < 5%", "the unit is %"),
        ("p99 ttft < 5min", "the unit is min"),
        ("p99 ttft > 5ms", "a limit on ttft is a maximum"),
        ("goodput < 95%, ttft < 1s", "a limit on goodput is a minimum"),
        ("failed < 1", "expected a percentage from 0% to 100%"),
        ("failed < 101%", "expected a percentage from 0% to 100%"),
        ("p99 failed < 1%", "expected a percentage from 0% to 100%, without a statistic"),
        ("goodput > 95%", "'goodput' needs a limit on each request"),
    ],
)
def test_what_is_no_limit_is_reported(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        LoadLimits.parse([text])
    assert error.value.problems[0].code == "LOAD-005"
    assert message in str(error.value)


def test_all_wrong_limits_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as error:
        LoadLimits.parse(["p99 tttf < 5ms, failed < 1%", "fast"])
    assert len(error.value.problems) == 2


def test_what_is_broken_says_what_was_seen() -> None:
    limits = LoadLimits.parse(["p99 ttft < 100ms", "mean ttft <= 200ms", "failed < 4%", "failed <= 4%"])
    seen = attempted(ttft_s=0.2, failed=0.04).summary
    assert limits.list_broken_limits(seen) == (
        "p99 ttft < 100ms: measured 200ms",
        "failed < 4%: measured 4%",
    )


def test_when_nothing_was_answered_no_limit_on_times_is_kept() -> None:
    limits = LoadLimits.parse(["p99 ttft < 1s"])
    nothing = attempted(failed=1.0).summary
    limits.require_values(nothing)
    assert limits.list_broken_limits(nothing) == ("p99 ttft < 1000ms: no request succeeded",)


def test_a_limit_on_what_is_not_seen_is_an_error_and_neither_kept_nor_broken() -> None:
    whole = attempted(is_streamed=False).summary
    with pytest.raises(UsageError, match="LOAD-006 the limit 'p99 ttft < 1000ms' cannot be checked"):
        LoadLimits.parse(["p99 ttft < 1s", "p99 e2el < 1s"]).require_values(whole)
    LoadLimits.parse(["p99 e2el < 1s", "failed < 1%"]).require_values(whole)
