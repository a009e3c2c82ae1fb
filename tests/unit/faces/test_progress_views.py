"""Progress lines and events of a run, including while no answer arrives."""

from __future__ import annotations

import io
import json
import time

import pytest

from assay.app.progress import ProgressGauge
from assay.core.tally import Tally
from assay.faces.cli import progress_views
from assay.faces.cli.console import Screen


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    text = io.StringIO()
    monkeypatch.setattr(progress_views, "err", Screen(file=text, width=200))
    return text


def wait_for_lines(written: io.StringIO, n: int) -> list[str]:
    until = time.monotonic() + 30
    while len(lines := written.getvalue().splitlines()) < n:
        assert time.monotonic() < until, "nothing more is written"
        time.sleep(0.005)
    return lines


def test_events_continue_while_no_answer_comes(written: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_views._EventView, "every_s", 0.01)
    stats = {"workers": 0.0, "workers_awaited": 2.0, "workers_lost": 0.0}
    view = progress_views._EventView("r1", "runs/r1")
    try:
        view.show(ProgressGauge(stats=lambda: stats), Tally(n_samples=5))
        wait_for_lines(written, 3)
        stats.update(workers=1.0, workers_awaited=1.0)
        n = len(written.getvalue().splitlines())
        events = [json.loads(line)["progress"] for line in wait_for_lines(written, n + 2)]
    finally:
        view.close()
    assert events[0]["workers"] == {"n_up": 0, "n_awaited": 2, "n_nodes": None, "n_lost": 0}
    assert events[-1]["workers"] == {"n_up": 1, "n_awaited": 1, "n_nodes": None, "n_lost": 0}
    n = len(written.getvalue())
    time.sleep(0.05)
    assert len(written.getvalue()) == n, "something is written after the end"


def test_lines_say_who_is_awaited(written: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_views._LineView, "every_s", 0.01)
    stats = {"workers": 0.0, "workers_awaited": 2.0, "workers_lost": 0.0, "nodes": 0.0}
    view = progress_views._LineView()
    try:
        view.show(ProgressGauge(stats=lambda: stats), Tally(n_samples=5))
        lines = wait_for_lines(written, 2)
    finally:
        view.close()
    assert lines[-1] == "0 of 5 samples, waiting for the model, 0 workers, 2 awaited"


def test_nothing_is_written_before_there_is_a_run(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_views._EventView, "every_s", 0.001)
    view = progress_views._EventView("r1", "runs/r1")
    time.sleep(0.02)
    view.close()
    assert written.getvalue() == ""
