"""A terminal of a fixed size for commands of the tests: a pty, and a screen that obeys what rich writes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

_CODE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
_DEADLINE_S = 600.0


class Shown(NamedTuple):
    """What a command wrote on a terminal."""

    status: int
    written: str
    """All of it, with every code."""
    frames: list[str]
    """The screen as it was after each time that something was written."""

    @property
    def left(self) -> str:
        """The final screen."""
        return self.frames[-1] if self.frames else ""


class Screen:
    """Lines that a cursor moves over. Scrolls without end, so that nothing which was printed is lost."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = [[]]
        self._x = self._y = 0
        self._rest = ""

    def write(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                code = _CODE.match(text, at)
                if code is None:
                    self._rest = text[at:]
                    return
                self._obey(code[1], code[2])
                at = code.end()
                continue
            self._put(text[at])
            at += 1

    def _put(self, character: str) -> None:
        if character == "\r":
            self._x = 0
        elif character == "\n":
            self._y += 1
            while len(self._lines) <= self._y:
                self._lines.append([])
        else:
            line = self._lines[self._y]
            line += [" "] * (self._x - len(line))
            # A wide character takes its own cell and an empty one.
            line[self._x : self._x + cell_len(character)] = [character, *[""] * (cell_len(character) - 1)]
            self._x += cell_len(character)

    def _obey(self, given: str, code: str) -> None:
        if code == "A":
            self._y = max(0, self._y - int(given or 1))
        elif code == "K" and given == "2":
            self._lines[self._y] = []

    def __str__(self) -> str:
        return "\n".join("".join(line) for line in self._lines)


def on_terminal(
    command: Sequence[str],
    *,
    columns: int,
    rows: int = 40,
    environment: Mapping[str, str] | None = None,
    when: Callable[[str], bool] | None = None,
    then: Callable[[int, int], None] | None = None,
    repeats: bool = False,
) -> Shown:
    """Run a command on a terminal; when the screen shows what is waited for, do something to it, once.

    `then` takes the process and the terminal. `repeats`: do it again after each second of silence. Python's
    `input()` loses a signal that arrives between its prompt and its wait for a key.
    """
    process, terminal = pty.fork()
    if process == 0:
        _resize(0, columns, rows)
        os.execvpe(command[0], list(command), {**os.environ, **(environment or {})})
    screen, frames, written = Screen(), [], ""
    is_done = False
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            if is_done and repeats and then is not None:
                then(process, terminal)
            continue
        try:
            piece = os.read(terminal, 1 << 16).decode("utf-8", "replace")
        except OSError:  # Linux says so when the other end is closed.
            break
        if not piece:
            break
        written += piece
        screen.write(piece)
        frames.append(str(screen))
        if when is not None and then is not None and not is_done and when(frames[-1]):
            then(process, terminal)
            is_done = True
    else:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return Shown(os.waitstatus_to_exitcode(status), written, frames)


def _resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def resized(columns: int, rows: int = 40) -> Callable[[int, int], None]:
    """Return what makes a terminal another size."""
    return lambda process, terminal: _resize(terminal, columns, rows)


def interrupted(process: int, terminal: int) -> None:
    """Press Ctrl-C."""
    os.write(terminal, b"\x03")
