"""Comparison of a client's numbers with a server's; both are invented here."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.aisbench_client import aisbench_said
from benchmarks.serving_truth import Compared, Row, arrived_after, compare, noticed_after, rate_of, read_rows
from benchmarks.token_log import Sent

WAY_S = 0.004
"""How long every token travels here."""


def make_load(n_requests: int, n_tokens: int) -> tuple[list[Sent], list[Row]]:
    draw = random.Random("0:serving_truth")
    sent, rows = [], []
    for number in range(1, n_requests + 1):
        arrived = draw.uniform(0, 10)
        gaps = [draw.uniform(0.01, 0.03) for _ in range(n_tokens)]
        moments = tuple(arrived + float(at) for at in np.cumsum(gaps))
        sent.append(Sent(number, "", arrived, arrived, moments, moments))
        rows.append(Row(number, arrived, tuple(at + WAY_S for at in moments), None, is_failed=False))
    draw.shuffle(rows)
    return sent, rows


def said_of(rows: list[Row]) -> dict[str, dict[str, float]]:
    values = {
        "ttft": [row.text_at[0] - row.began for row in rows],
        "itl": [float(gap) for row in rows for gap in np.diff(row.text_at)],
        "tpot": [(row.text_at[-1] - row.text_at[0]) / (len(row.text_at) - 1) for row in rows],
    }
    return {
        name: {
            "mean": float(np.mean(some)),
            "p50": float(np.quantile(some, 0.5)),
            "p99": float(np.quantile(some, 0.99)),
        }
        for name, some in values.items()
    }


def test_tokens_that_all_come_late_are_late_in_ttft_alone() -> None:
    sent, rows = make_load(50, 20)
    found = compare(rows, sent, said_of(rows))
    assert [(one.metric, one.stat) for one in found[:3]] == [
        ("ttft", "mean"),
        ("ttft", "p50"),
        ("ttft", "p99"),
    ]
    for one in found:
        late = 4.0 if one.metric == "ttft" else 0.0
        assert one.difference == pytest.approx(late, abs=1e-6)
        assert one.is_met == (one.metric != "ttft")
    assert noticed_after(rows, sent) == pytest.approx([4.0] * 1000)
    early = [row._replace(began=row.began - 0.003) for row in rows]
    assert arrived_after(early, sent) == pytest.approx([3.0] * 50)


def test_calls_that_failed_or_warmed_up_are_not_compared() -> None:
    sent, rows = make_load(50, 20)
    few = [*rows[:10], Row(0, 1.0, (), None, is_failed=True)]
    found = compare(few, sent, said_of(rows[:10]))
    assert max(abs(one.difference) for one in found if one.metric == "itl") < 1e-6


def test_a_token_that_a_client_did_not_see_is_an_error() -> None:
    sent, rows = make_load(3, 5)
    rows[1] = rows[1]._replace(text_at=rows[1].text_at[:-1])
    with pytest.raises(ValueError, match="shorter"):
        noticed_after(rows, sent)


@pytest.mark.parametrize(
    ("truth", "message", "is_met"),
    [(20, 22, True), (20, 22.1, False), (20, 17.9, False), (1000, 1020, True), (1000, 979, False)],
)
def test_two_milliseconds_or_two_percent_are_allowed(truth: float, message: float, is_met: bool) -> None:
    assert Compared("ttft", "p99", truth, message).is_met is is_met


def test_rows_are_read_as_the_run_wrote_them(tmp_path: Path) -> None:
    times = {"began": 1.0, "ended": 2.0}
    rows = [
        {"item": "a", "number": 0, "times": {**times, "text_at": [1.5, 2.0]}, "due": 0.5, "n_input": 7},
        {"item": "b", "number": 1, "times": times, "failure": {"kind": "http", "message": "no"}},
    ]
    file = tmp_path / "requests.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert read_rows(file) == [
        Row(7, 1.0, (1.5, 2.0), 0.5, is_failed=False),
        Row(0, 1.0, (), None, is_failed=True),
    ]


def test_a_rate_is_counted_between_the_first_and_the_last() -> None:
    assert rate_of([3.0, 1.0, 2.0, 1.5, 2.5]) == 2.0


def test_what_aisbench_wrote_is_read_in_seconds(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "20261116_124841" / "performances" / "aisbench"
    folder.mkdir(parents=True)
    (folder / "synthetic.csv").write_text(
        "Performance Parameters,Stage,Average,Min,Max,Median,P75,P90,P99,N\n"
        "E2EL,total,1119.2 ms,1024.6 ms,2162.9 ms,1109.2 ms,1138.7 ms,1158.3 ms,1198.4 ms,128\n"
        "TTFT,total,15.6 ms,1.3 ms,1062.5 ms,3.3 ms,6.9 ms,15.6 ms,53.0 ms,128\n"
        "TPOT,total,22.5 ms,20.9 ms,24.4 ms,22.4 ms,23.0 ms,23.5 ms,24.2 ms,128\n"
        "ITL,total,21.6 ms,0.0 ms,1111.5 ms,19.5 ms,23.5 ms,27.2 ms,120.5 ms,128\n",
        encoding="utf-8",
    )
    message = aisbench_said(tmp_path)
    assert message["ttft"] == pytest.approx({"mean": 0.0156, "p50": 0.0033, "p99": 0.053})
    assert message["itl"]["p99"] == pytest.approx(0.1205)
    assert message["tpot"]["p50"] == pytest.approx(0.0224)
