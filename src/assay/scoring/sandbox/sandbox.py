"""Runs one or many programs, each in a free warden process."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from assay.core.errors import PlanError, Problem
from assay.scoring.sandbox.protections import Protections
from assay.scoring.sandbox.protocol import Job, Limits, ProgramResult, Status
from assay.scoring.sandbox.warden_process import WardenLost, WardenProcess


class Sandbox:
    """Runs programs in warm processes. Close it, or use it in a `with` statement."""

    def __init__(
        self, limits: Limits | None = None, *, preload: Iterable[str] = (), use_namespaces: bool = True
    ) -> None:
        """Create a sandbox; processes start when they are needed.

        `preload` names modules that are slow to import; they are imported once, outside the program.
        `use_namespaces=False` disables what some systems lack, to test the remaining protections.
        """
        self.limits = limits or Limits()
        self._preload = tuple(preload)
        self._use_namespaces = use_namespaces
        self._idle: list[WardenProcess] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop all processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for warden in idle:
            warden.close()

    def protections(self) -> Protections:
        """Return which protections work here, as a trial program found."""
        with self._warden() as warden:
            return warden.protections

    def run(self, program: str, *, stdin: str = "", is_main: bool = True) -> ProgramResult:
        """Run one program to its end, and return when all of its processes are gone.

        With `is_main=False`, code under `if __name__ == "__main__":` does not run.
        """
        try:
            program.encode()
        except UnicodeEncodeError as error:
            return ProgramResult(Status.ERROR, f"the program cannot be encoded: {error}")
        job = Job(program, stdin, is_main)
        try:
            return self._run(job)
        except WardenLost:
            # A single failure may have another cause, such as another process using up the memory.
            pass
        try:
            return self._run(job)
        except WardenLost as gone:
            return ProgramResult(Status.KILLED, f"it ended the sandbox's own process twice: {gone}")

    def run_many(
        self, programs: Iterable[str], *, workers: int | None = None, is_main: bool = True
    ) -> Iterator[ProgramResult]:
        """Yield the result of each program, in order; `workers` run concurrently, by default one per core."""
        with ThreadPoolExecutor(workers or _usable_cores()) as pool:
            yield from pool.map(lambda program: self.run(program, is_main=is_main), programs)

    def _run(self, job: Job) -> ProgramResult:
        with self._warden() as warden:
            reply = warden.ask(job)
        if reply.ran is None:
            raise PlanError(
                Problem(
                    "CODE-002",
                    f"the sandbox could not start a program: {reply.failure}",
                    "check that the machine has free processes, memory and temporary disk space",
                )
            )
        return reply.ran

    @contextlib.contextmanager
    def _warden(self) -> Iterator[WardenProcess]:
        with self._lock:
            warden = self._idle.pop() if self._idle else None
        warden = warden or self._start()
        try:
            yield warden
        except BaseException:
            warden.close()
            raise
        with self._lock:
            self._idle.append(warden)

    def _start(self) -> WardenProcess:
        try:
            return WardenProcess(self.limits, preload=self._preload, use_namespaces=self._use_namespaces)
        except (WardenLost, OSError) as error:
            raise PlanError(
                Problem(
                    "CODE-001",
                    f"the program sandbox cannot start: {error}",
                    "run Assay on Linux or another Unix, as a user who can read its Python installation",
                )
            ) from None


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
