"""`assay serve` as a process that tests start, ask over HTTP, and kill."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
_PATIENCE_S = 120.0


class Answer(NamedTuple):
    status: int
    body: Any


def eventually(look: Callable[[], T | None], *, within_s: float = _PATIENCE_S) -> T:
    """Return what `look` finds as soon as it finds something."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)
    return found


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started and that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (state := _state(int(entry.name))) is not None and state[0] == pid:
            found.append(int(entry.name))
    return sorted(found)


def is_alive(pid: int) -> bool:
    return _state(pid) is not None


def _state(pid: int) -> tuple[int, str] | None:
    """Return the parent and the state of a process that has not ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return None if state == "Z" else (int(parent), state)


class TeamServer:
    """A server in a folder of its own; started again in the same folder, it goes on."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self._command = [sys.executable, "-m", "assay", "serve", "--port", "0", *flags]
        self.token = ""
        self.start()

    def start(self) -> None:
        self._log = self.folder / "server.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(self._command, cwd=self.folder, stdout=log, stderr=log)
        message = eventually(self._address)
        self._host, self._port = message[1], int(message[2])
        if found := re.search(r"token, shown only once: (\S+)", self.log()):
            self.token = found[1]

    @property
    def place(self) -> tuple[str, int]:
        return self._host, self._port

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def _address(self) -> re.Match[str] | None:
        assert self.process.poll() is None, self.log()
        return re.search(r"serving at http://([^:/]+):(\d+)/", self.log())

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request; the token is the owner's unless another is named, or None."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_PATIENCE_S)
        sent = dict(headers or {})
        if token is not None:
            sent["authorization"] = f"Bearer {token or self.token}"
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if content is not None:
            sent.setdefault("content-type", "application/json")
        try:
            connection.request(method, path, content, sent)
            response = connection.getresponse()
            text = response.read()
            is_json = "json" in response.headers.get("content-type", "")
            return Answer(response.status, json.loads(text) if is_json and text else text)
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", f"/api/v1{path}")
        assert answer.status == 200, answer
        return answer.body

    def post(self, path: str, body: Any = None) -> Any:
        answer = self.ask("POST", f"/api/v1{path}", body)
        assert answer.status in (200, 201), answer
        return answer.body

    def evaluation(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/evaluations/{number}")
        return found

    def await_state(self, number: int, *states: str) -> dict[str, Any]:
        return eventually(lambda: one if (one := self.evaluation(number))["state"] in states else None)

    @property
    def workers(self) -> list[int]:
        return children_of(self.process.pid)

    @property
    def evaluating(self) -> list[int]:
        return [child for worker in self.workers for child in children_of(worker)]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """End it as a person does; return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE_S)

    def __enter__(self) -> TeamServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def kill_all(pids: list[int]) -> None:
    """Kill processes; one that has ended by itself needs no killing."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
