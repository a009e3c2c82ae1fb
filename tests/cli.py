"""Running the command line: inside the test process, or in one that is killed."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.faces.cli.main import run_command

_CODE = re.compile(r"[A-Z]+-\d{3}\b")


class Result(NamedTuple):
    status: int
    out: str
    err: str


def assay(*arguments: str) -> Result:
    """Run `assay ARGUMENTS` and return its exit status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["assay", *arguments])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run_command()
    return Result(status, out.getvalue(), err.getvalue())


def error_of(result: Result) -> tuple[str, str, str]:
    """Return the code of the one error that a command printed, what is wrong, and the fix."""
    assert result.status == 2, result.out + result.err
    lines = result.err.strip().splitlines()
    # Downloads are reported before.
    begin = next(at for at, line in enumerate(lines) if _CODE.match(line))
    code, what, fix = (line.strip() for line in lines[begin : begin + 3])
    return code.split()[0], what, fix


def killed(command: Sequence[str], journal: Path, *, after: int) -> bytes:
    """Start a command, kill it once its journal has so many lines, and return the lines that were whole.

    The command must not be able to end before: its model has to wait for something that never comes.
    """
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= after):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes()
    return kept[: kept.rfind(b"\n") + 1]
