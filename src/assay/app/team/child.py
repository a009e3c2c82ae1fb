"""A child process: the server or a worker starts it, sends one order, reads its events, and stops it.

The pipe to its standard input stays open as long as its parent lives. When the parent dies, for whatever
reason, the pipe closes and the process ends itself (`process.py`): no process is left behind.
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
"""Time a process has to end by itself."""
_PROGRAM = "assay.app.team.process"


class Child:
    """A process with an order."""

    def __init__(self, order: Order, log: Path | None = None) -> None:
        """`log`: the file for its output; None: this process's standard error."""
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
        stderr = None if log is None else log.open("ab")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                # Ctrl-C in a terminal goes to the server, which stops its processes in order.
                start_new_session=True,
            )
        finally:
            if stderr is not None:
                stderr.close()
        self._news: EvaluationProgress | None = None
        self.answer: Event | None = None
        """Its result, once it has sent one."""
        self._is_reaped = False
        self._send(order)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def news(self) -> EvaluationProgress | None:
        """Return the latest progress, if there is any since the last call."""
        news, self._news = self._news, None
        return news

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has sent its last event, or for some seconds; return whether it has."""
        self._listener.join(seconds)
        return not self._listener.is_alive()

    def is_dead(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def end(self, grace_s: float = GRACE_S) -> int:
        """Terminate it, forcibly after `grace_s`; return its exit status, negative for a signal."""
        if self._process.poll() is None:
            self._process.terminate()
        return self.reap(grace_s)

    def hang_up(self) -> None:
        """Close its standard input, which makes it end itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def reap(self, grace_s: float = GRACE_S) -> int:
        """Wait until it has ended, then kill all that it started; return its exit status."""
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
        """Kill it without waiting; another thread may be waiting for its answer."""
        _kill_group(self._process.pid)

    def kill(self) -> int:
        """Kill it and wait for its end."""
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
            # It died before it could read; the caller waiting for its answer notices.
            return

    def _listen(self) -> None:
        line = self._process.stdout
        assert line is not None
        for text in line:
            try:
                event = decode_event(text)
            except msgspec.DecodeError as error:
                # Its death may cut the last line short; a complete line that cannot be decoded is a bug.
                if text.endswith(b"\n"):
                    _log.error("process %s sent a line that cannot be decoded: %s", self._process.pid, error)
                continue
            if isinstance(event, EvaluationProgress):
                self._news = event
            else:
                self.answer = event


class OrderRunner:
    """Runs orders in child processes, such as checking an evaluation. Threads may share it."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: time limit of an order."""
        self._seconds = seconds
        self._children: set[Child] = set()
        self._lock = threading.Lock()
        self._is_over = False

    def ask(self, order: Order) -> Event:
        """Run an order in a child process and return its answer; raise if it failed."""
        with Child(order) as child, self._track_child(child):
            is_answered = child.wait(self._seconds)
        answer = child.answer
        if isinstance(answer, OrderFailed):
            raise AuthorError(answer.problems, total=answer.total)
        if answer is None or isinstance(answer, Stopped):
            what = "the process that ran the check died; the server's log may show why"
            if not is_answered:
                what = f"the check did not finish within {self._seconds:g} s"
            fix = "reduce the request, or ask the owner to increase check_s"
            raise UsageError(Problem("TEAM-062", what, fix))
        return answer

    def end(self) -> None:
        """Stop all children: callers that wait get an error that the process died."""
        with self._lock:
            self._is_over = True
            children = list(self._children)
        for child in children:
            child.interrupt()

    @contextmanager
    def _track_child(self, child: Child) -> Iterator[None]:
        with self._lock:
            self._children.add(child)
            if self._is_over:
                child.interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._children.discard(child)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
