"""Keep the workers of a server alive, and stop all of them with the server."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time

from assay.app.team.child import Child
from assay.app.team.messages import Serve
from assay.app.team.settings import TeamSettings
from assay.core.errors import StoreError
from assay.ledger.jobs import JobQueue

_LOOK_EVERY_S = 0.25
_EXPIRED_EVERY_S = 5.0
_SHORTEST_S, _LONGEST_S = 0.5, 30.0
"""Pause before a dead worker is restarted: longer each time it dies soon after its start."""
_YOUNG_S = 10.0

_log = logging.getLogger("assay.team")


class Supervisor:
    """Workers, each in its own process. A worker that dies is replaced."""

    def __init__(self, settings: TeamSettings, queue: JobQueue) -> None:
        self._settings = settings
        self._queue = queue
        self._ending = threading.Event()
        self._dead: list[str] = []
        self._next_look = 0.0
        self._places = [_WorkerSlot(settings) for _ in range(settings.workers)]
        self._watcher = threading.Thread(target=self._watch, name="assay-supervisor", daemon=True)

    def start(self) -> None:
        """Start the workers and monitor them."""
        for place in self._places:
            place.start()
        self._watcher.start()

    def end(self) -> None:
        """Stop the workers in order: their evaluations return to the queue."""
        self._ending.set()
        self._watcher.join()
        for place in self._places:
            place.cut()
        for place in self._places:
            place.reap()

    def _watch(self) -> None:
        while not self._ending.wait(_LOOK_EVERY_S):
            for place in self._places:
                if (dead := place.bury()) is not None:
                    _log.warning("worker %s died; its evaluation returns to the queue", dead)
                    self._dead.append(dead)
                try:
                    place.start_if_due()
                except OSError as error:
                    # Too many processes or open files; try again later.
                    _log.warning("cannot start a worker: %s", error)
            try:
                self._take_back()
            except StoreError as error:
                # The database is not available: leases still expire, and this is tried again.
                _log.warning("%s", error)

    def _take_back(self) -> None:
        while self._dead:
            self._queue.release_worker(self._dead[0])
            del self._dead[0]
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _EXPIRED_EVERY_S
            # Also for workers of other machines, in case all workers here are busy.
            self._queue.release_expired()


class _WorkerSlot:
    """The place of one worker and its replacements."""

    def __init__(self, settings: TeamSettings) -> None:
        self._settings = settings
        self.child: Child | None = None
        self._name = ""
        self._started = 0.0
        self._due = 0.0
        self._pause_s = _SHORTEST_S

    def start(self) -> None:
        """Start a worker with a new, unique name."""
        self._name = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        self._started = time.monotonic()
        self.child = Child(Serve(self._settings, self._name))

    def start_if_due(self) -> None:
        """Start a worker if there is none and the pause is over."""
        if self.child is None and time.monotonic() >= self._due:
            self.start()

    def bury(self) -> str | None:
        """Return the name of the worker if it has died, once."""
        if self.child is None or not self.child.is_dead():
            return None
        self.child.reap()
        self.child = None
        was_young = time.monotonic() - self._started < _YOUNG_S
        self._pause_s = min(self._pause_s * 2, _LONGEST_S) if was_young else _SHORTEST_S
        self._due = time.monotonic() + self._pause_s
        return self._name

    def cut(self) -> None:
        """Tell the worker to end."""
        if self.child is not None:
            self.child.hang_up()

    def reap(self) -> None:
        """Wait until the worker has ended."""
        if self.child is not None:
            self.child.reap(self._settings.lease_s)
            self.child = None
