"""A process that the server or a worker starts, gives one order, listens to, and ends.

The line into it stays open as long as whoever started it lives. When that one dies, however it dies, the line
is cut, and the process ends itself (`process.py`): nobody is left behind.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import msgspec

from assay.app.team.messages import (
    EvaluationProgress,
    Event,
    Order,
    OrderFailed,
    Stopped,
    decode_event,
    encode,
)
from assay.core.errors import AuthorError, Problem, UsageError

_log = logging.getLogger("assay.team")
GRACE_S = 8.0
"""How long a process may take to end by itself."""
_PROGRAM = "assay.app.team.process"


class Child:
    """A process with an order."""

    def __init__(self, order: Order, log: Path | None = None) -> None:
        """`log`: where it writes what it would print; None: where this process does."""
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        stderr = None if log is None else log.open("ab")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                # Ctrl-C in a terminal goes to the server, which ends its processes in order.
                start_new_session=True,
            )
        finally:
            if stderr is not None:
                stderr.close()
        self._news: EvaluationProgress | None = None
        self.answer: Event | None = None
        """What it came to, once it has said so."""
        self._is_reaped = False
        self._send(order)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._process.pid

    def news(self) -> EvaluationProgress | None:
        """Return how far it is, if it has said so since it was last asked."""
        news, self._news = self._news, None
        return news

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has said its last word, or for some seconds; return whether it has."""
        self._listener.join(seconds)
        return not self._listener.is_alive()

    def is_dead(self) -> bool:
        """Whether the process is no more."""
        return self._process.poll() is not None

    def end(self, grace_s: float = GRACE_S) -> int:
        """Ask it to end, and make it; return its exit status, negative for a signal."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.reap(grace_s)

    def hang_up(self) -> None:
        """Cut the line into it, on which it ends itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def reap(self, grace_s: float = GRACE_S) -> int:
        """Wait until it has ended, then end all that it started; return its exit status."""
        if self._is_reaped:
            return int(self._process.returncode)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        _kill_group(self._process.pid)
        status = self._process.wait()
        self._listener.join()
        self._is_reaped = True
        for line in (self._process.stdin, self._process.stdout):
            if line is not None:
                line.close()
        return status

    def interrupt(self) -> None:
        """End it at once, without waiting for that; another thread may be waiting for its answer."""
        _kill_group(self._process.pid)

    def kill(self) -> int:
        """End it at once."""
        _kill_group(self._process.pid)
        return self.reap()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_reaped:
            self.kill()

    def _send(self, order: Order) -> None:
        line = self._process.stdin
        assert line is not None
        try:
            line.write(encode(order) + b"\n")
            line.flush()
        except BrokenPipeError:
            # It died before it could read; whoever waits for its answer sees that.
            return

    def _listen(self) -> None:
        line = self._process.stdout
        assert line is not None
        for text in line:
            try:
                event = decode_event(text)
            except msgspec.DecodeError as error:
                # Its last words may be cut short by its death; a whole line that cannot be read is a fault.
                if text.endswith(b"\n"):
                    _log.error("the process %s said what cannot be read: %s", self._process.pid, error)
                continue
            if isinstance(event, EvaluationProgress):
                self._news = event
            else:
                self.answer = event


class OrderRunner:
    """Has processes answer questions, such as whether an evaluation can be done. Threads may share it."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: how long an answer may take."""
        self._seconds = seconds
        self._asked: set[Child] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def ask(self, order: Order) -> Event:
        """Have a process follow an order, and return its answer; what is wrong is raised."""
        with Child(order) as child, self._noted(child):
            is_answered = child.wait(self._seconds)
        answer = child.answer
        if isinstance(answer, OrderFailed):
            raise AuthorError(answer.problems, total=answer.total)
        if answer is None or isinstance(answer, Stopped):
            what = "the process that looked at it died; the server's log may say why"
            if not is_answered:
                what = f"it was not known after {self._seconds:g} s whether this can be done"
            fix = "ask for less, or have the owner set check_s higher"
            raise UsageError(Problem("TEAM-062", what, fix))
        return answer

    def end(self) -> None:
        """Answer nobody any more: who waits is told that the process died."""
        with self._lock:
            self._is_over = True
            asked = list(self._asked)
        for child in asked:
            child.interrupt()

    @contextmanager
    def _noted(self, child: Child) -> Iterator[None]:
        with self._lock:
            self._asked.add(child)
            if self._is_over:
                child.interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._asked.discard(child)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
