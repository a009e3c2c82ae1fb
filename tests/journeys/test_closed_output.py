"""Output that nobody reads, or that cannot be written, and Ctrl-C: the work done and the exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli import assay

ASSAY = (sys.executable, "-m", "assay")
ROWS = "question,A,B,answer\n" + "".join(f"q{n},x,y,{'AB'[n % 2]}\n" for n in range(4))
RUN = ("run", "rows.csv", "-m", "mock", "--out", "new")
COMMANDS = [
    ("check", "rows.csv"),
    ("report", "one"),
    ("report", "one", "--markdown"),
    ("report", "one", "--json"),
    ("explain", "one", "row:1"),
    ("compare", "one", "two"),
    ("leaderboard", "one", "two"),
    ("ls", "--runs-dir", "."),
    ("score", "one"),
    ("run", "--help"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    for out in ("one", "two"):
        assert assay("run", str(folder / "rows.csv"), "-m", "mock", "--out", str(folder / out)).status == 0
    return folder


@pytest.fixture(autouse=True)
def without_new_run(folder: Path) -> Iterator[None]:
    yield
    if (folder / "new").exists():
        (folder / "new").rename(folder / f"new-{len(list(folder.iterdir()))}")


@contextmanager
def closed_pipe() -> Iterator[int]:
    """Yield the writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_no_finding(folder: Path, command: tuple[str, ...]) -> None:
    with closed_pipe() as nowhere:
        ended = subprocess.run([*ASSAY, *command], cwd=folder, stdout=nowhere, stderr=subprocess.PIPE)
    assert ended.returncode == 0
    assert b"Error" not in ended.stderr


def test_a_finding_keeps_its_exit_status_when_the_pipe_is_closed(folder: Path) -> None:
    (folder / "wrong.csv").write_text("question,A,B,answer\nq,x,y,Z\n", encoding="utf-8")
    status = assay("check", str(folder / "wrong.csv")).status
    assert status != 0
    with closed_pipe() as nowhere:
        ended = subprocess.run([*ASSAY, "check", "wrong.csv"], cwd=folder, stdout=nowhere, stderr=nowhere)
    assert ended.returncode == status


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_a_run_completes_when_its_output_is_closed(folder: Path, more: tuple[str, ...]) -> None:
    with closed_pipe() as nowhere:
        ended = subprocess.run([*ASSAY, *RUN, *more], cwd=folder, stdout=nowhere, stderr=nowhere)
    assert ended.returncode == 0
    assert json.loads((folder / "new" / "manifest.json").read_bytes())["status"] == "complete"


def test_a_run_that_starts_without_standard_descriptors_completes(folder: Path) -> None:
    """Otherwise a file of the run would get the number of standard output."""
    ended = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *ASSAY, *RUN], cwd=folder)
    assert ended.returncode == 0
    assert json.loads((folder / "new" / "manifest.json").read_bytes())["status"] == "complete"
    assert (folder / "new" / "responses.jsonl").read_bytes().startswith(b'{"request_id"')


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["text", "json"])
def test_output_on_a_full_disk_is_reported_and_the_run_completes(folder: Path, more: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*ASSAY, *RUN, *more], cwd=folder, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 2
    message = ended.stderr.decode()
    assert "STORE-015\n  standard output could not be written: No space left on device" in message
    assert "STORE-009" not in message
    assert json.loads((folder / "new" / "manifest.json").read_bytes())["status"] == "complete"


def test_messages_that_cannot_be_written_stop_nothing(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([*ASSAY, *RUN], cwd=folder, stdout=subprocess.PIPE, stderr=full)
    assert ended.returncode == 0
    assert b"report" in ended.stdout


def test_output_waits_for_a_reader_that_is_slow(folder: Path) -> None:
    """A pipe that does not block refuses what it has no room for."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    program = "from assay.faces.cli.main import install_streams\ninstall_streams()\n"
    program += "print('x' * 300_000)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=writer)
    os.close(writer)
    with open(reader, "rb") as output:
        assert len(output.read()) == 300_001
    assert process.wait() == 0


INTERRUPTED = {
    "while the first unwinds": "try:\n  press()\n finally:\n  press()",
    "in a cleanup that catches everything": "try:\n  press()\n except BaseException:\n  press()",
    # Again and again, as a person would: a signal just before the main thread begins to wait is seen later.
    "while a thread keeps the process": (
        "def keep():\n"
        "  threading.main_thread().join()\n"
        "  while True: press(); time.sleep(0.05)\n"
        " threading.Thread(target=keep).start()\n press()"
    ),
    "while Python shuts down": "atexit.register(press)\n press()",
    "after the command has ended": "atexit.register(press)\n return 0",
    "once": "press()",
}


@pytest.mark.parametrize("body", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_ends_with_status_130_whenever_it_comes(body: str) -> None:
    program = (
        "import atexit, os, signal, threading, time\n"
        "from assay.faces.cli import main\n"
        "def press():\n signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)\n"
        f"def command():\n {body}\n"
        "main._run_for_person = command\nmain.run_process()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert ended.returncode == 130
    assert b"Traceback" not in ended.stderr


def test_a_command_in_the_background_is_not_interrupted() -> None:
    """A shell starts background commands with Ctrl-C ignored."""
    program = (
        "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from assay.faces.cli import main\n"
        "def command():\n os.kill(os.getpid(), signal.SIGINT)\n return 0\n"
        "main._run_for_person = command\nmain.run_process()\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
