"""The panel at any size, with any names and counts: nothing is wider than the screen, nothing is obeyed."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from assay.app.progress import JudgeProgress, RunProgress, TrackProgress, WorkersProgress
from assay.app.progress_words import flatten_line, format_duration, format_progress_line
from assay.core.score import Metric
from assay.faces.cli.console import Screen
from assay.faces.cli.panel import ProgressPanel, choose_rows, render_bar, shorten_name

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Mn", "Me", "Cf")), min_size=1)


def metric(task: str, method: str, n: int, value: float | None = 0.5) -> Metric:
    return Metric(task, method, "accuracy", None, value, 0.25, 0.75, n, n, 3, 2, 1, is_headline=True)


@st.composite
def tracks(draw: st.DrawFn) -> tuple[TrackProgress, ...]:
    made = []
    for task in draw(st.lists(NAMES, min_size=0, max_size=12)):
        n_samples = draw(st.integers(1, 10**7))
        n_done = draw(st.sampled_from([0, n_samples // 2, n_samples]))
        for method in ("ppl", "gen")[: draw(st.integers(1, 2))]:
            score = metric(task, method, n_done) if n_done and draw(st.booleans()) else None
            made.append(TrackProgress(task, method, n_samples, n_done, score, draw(st.booleans())))
    return tuple(made)


@st.composite
def judges(draw: st.DrawFn) -> JudgeProgress:
    n_prompts = draw(st.integers(1, 10**7))
    n_replied = draw(st.integers(0, n_prompts))
    rate = st.none() | st.floats(0.001, 1e7)
    return JudgeProgress(n_prompts, n_replied, draw(st.integers(0, n_replied)), draw(rate), draw(rate))


@st.composite
def workers(draw: st.DrawFn) -> WorkersProgress:
    count = st.integers(0, 10**4)
    return WorkersProgress(draw(count), draw(count), draw(st.none() | count), draw(count))


@st.composite
def progresses(draw: st.DrawFn) -> RunProgress:
    n_samples = draw(st.integers(1, 10**8))
    n_done = draw(st.integers(0, n_samples))
    rate = st.none() | st.floats(0.001, 1e7)
    n_failed = draw(st.integers(0, n_done))
    return RunProgress(
        phase=draw(st.sampled_from(["loading", "beforehand", "samples", "scoring"])),
        seconds=draw(st.floats(0, 1e6)),
        seconds_silent=draw(st.floats(0, 1e6)),
        n_samples=n_samples,
        n_done=n_done,
        share_done=n_done / n_samples,
        n_requests=n_done,
        n_answered=n_done,
        n_journaled=draw(st.integers(0, n_done)),
        n_cached=draw(st.integers(0, n_done)),
        samples_per_s=draw(rate),
        requests_per_s=draw(rate),
        tokens_per_s=draw(rate),
        seconds_left=draw(st.none() | st.floats(0, 1e8)),
        is_left_at_least=draw(st.booleans()),
        n_failed=n_failed,
        failures={"timeout": n_failed} if n_failed else {},
        last_failure=draw(st.text()) if n_failed else None,
        concurrency=draw(st.none() | st.integers(1, 1024)),
        n_retries=draw(st.none() | st.integers(0, 10**6)),
        tracks=draw(tracks()),
        judge=draw(st.none() | judges()),
        workers=draw(st.none() | workers()),
    )


def drawn(progress: RunProgress, width: int, height: int) -> str:
    written = io.StringIO()
    console = Screen(file=written, width=width, height=height, force_terminal=True, color_system=None)
    console.print(ProgressPanel(progress))
    return written.getvalue()


@given(progresses(), st.integers(20, 220), st.integers(10, 60))
def test_nothing_is_wider_or_taller_than_the_screen(progress: RunProgress, width: int, height: int) -> None:
    lines = drawn(progress, width, height).splitlines()
    assert len(lines) < height
    assert all(cell_len(line) <= width for line in lines)
    assert width < 60 or f"{progress.n_done:,}/{progress.n_samples:,}" in lines[0]


@given(progresses(), st.integers(100, 220))
def test_all_that_is_known_is_said_where_there_is_room(progress: RunProgress, width: int) -> None:
    text = drawn(progress, width, 200)
    shown, n_hidden = choose_rows(progress.tracks, 30)
    assert len(shown) + n_hidden == len(progress.tracks)
    for track in shown:
        assert f"{track.n_done:,}/{track.n_samples:,}" in text
        assert ("25.0–75.0" in text) or track.score is None
    assert ("at the end" in text) == any(one.score is None and one.is_scored_late for one in shown)
    assert (f"{progress.n_failed:,} failed (" in text) == bool(progress.n_failed)
    message = format_progress_line(progress)
    assert "\n" not in message
    if progress.phase in ("samples", "beforehand"):
        is_least = progress.is_left_at_least and progress.seconds_left is not None
        assert ("at least " in text, "at least " in message) == (is_least, is_least)
    if (judge := progress.judge) is not None:
        for way in (text, message):
            assert f"judged {judge.n_replied:,} of {judge.n_prompts:,}" in way
            assert (f"the judge failed on {judge.n_failed:,}" in way) == bool(judge.n_failed)
            assert ("left to judge" in way) == (judge.n_replied < judge.n_prompts)
    assert f"{progress.n_done:,} of {progress.n_samples:,}" in message


@given(tracks(), st.integers(1, 30))
def test_of_many_methods_those_under_way_are_shown(every: tuple[TrackProgress, ...], most: int) -> None:
    shown, n_hidden = choose_rows(every, most)
    assert len(shown) == min(most, len(every))
    assert n_hidden == len(every) - len(shown)
    places = [next(at for at, one in enumerate(every) if one is track) for track in shown]
    assert places == sorted(set(places))
    active = [track for track in every if 0 < track.n_done < track.n_samples]
    assert len([track for track in shown if track in active]) >= min(len(active), most)


def test_what_a_model_said_is_shown_and_not_obeyed() -> None:
    message = "s1: \x1b[2J\x1b]0;owned\x07 [red]markup[/]\r\nsecond line \u202e\x9b31m"
    progress = _progress(last_failure=message, n_failed=1, failures={"bad": 1})
    text = drawn(progress, 200, 30)
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert not {"\x9b", "\u202e"} & set(text)
    assert "[red]markup[/]" in text
    assert "\n" not in flatten_line(message)


def test_names_of_wide_characters_keep_the_columns_in_line() -> None:
    every = tuple(
        TrackProgress(task, "gen", 100, 50, metric(task, "gen", 50), False)
        for task in ("한국어_자연어_이해_평가_데이터셋_전체", "中文", "mmlu:abstract_algebra", "العربية")
    )
    lines = drawn(_progress(tracks=every), 70, 30).splitlines()
    rows = [row for row in lines if " gen " in row]
    assert len(rows) == 4
    assert len({cell_len(row[: row.index("50/100")]) for row in rows}) == 1


@given(NAMES, st.integers(5, 40))
def test_a_long_name_keeps_its_beginning_and_its_end(name: str, width: int) -> None:
    cut = shorten_name(name, width)
    assert cell_len(cut) <= width
    if cell_len(name) > width:
        head, _, tail = cut.partition("…")
        assert name.startswith(head)
        assert name.endswith(tail)
    else:
        assert cut == name


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "?"), (0, "0:00"), (59.6, "1:00"), (123, "2:03"), (3723.4, "1:02:03")]
)
def test_times(seconds: float | None, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(-1, 2), st.integers(0, 80))
def test_a_bar_has_its_width(share: float, width: int) -> None:
    made = render_bar(share, width)
    assert len(made) == width
    assert re.fullmatch("━*─*", made)
    assert made.count("━") == int(min(max(share, 0), 1) * width)


def test_silence_is_reported() -> None:
    assert "no answer for 0:40" in drawn(_progress(seconds_silent=40.0), 100, 30)
    assert "no answer" not in drawn(_progress(seconds_silent=3.0), 100, 30)


def test_ascii_alone_where_nothing_else_is_understood() -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    console = Console(file=written, width=100, height=30, force_terminal=True, color_system=None)
    every = (TrackProgress("t" * 200, "gen", 100, 50, metric("t", "gen", 50), False),)
    console.print(ProgressPanel(_progress(tracks=every)))
    written.flush()
    text = written.buffer.getvalue().decode("ascii")
    assert "####" in text
    assert "25.0-75.0" in text


def _progress(**changed: object) -> RunProgress:
    values = {
        "phase": "samples",
        "seconds": 10.0,
        "seconds_silent": 0.0,
        "n_samples": 100,
        "n_done": 50,
        "share_done": 0.5,
        "n_requests": 50,
        "n_answered": 50,
        "n_journaled": 0,
        "n_cached": 0,
        "samples_per_s": None,
        "requests_per_s": None,
        "tokens_per_s": None,
        "seconds_left": None,
        "is_left_at_least": False,
        "n_failed": 0,
        "failures": {},
        "last_failure": None,
        "concurrency": None,
        "n_retries": None,
        "tracks": (),
    }
    return RunProgress(**{**values, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (WorkersProgress(2, 0, None, 0), "2 workers"),
        (WorkersProgress(1, 0, 1, 0), "1 worker on 1 node"),
        (WorkersProgress(3, 1, 2, 2), "3 workers on 2 nodes, 1 more awaited, 2 lost"),
        (WorkersProgress(0, 3, 0, 0), "0 workers, 3 awaited"),
    ],
)
def test_who_answers_is_reported_beside_the_pace(workers: WorkersProgress, words: str) -> None:
    progress = _progress(tokens_per_s=1234.0, workers=workers)
    assert f"1,234 tokens/s, {words}" in format_progress_line(progress)
    assert words in drawn(progress, 160, 40)
