"""Runs programs that a model wrote, one or many, each by a warden that is free."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from assay.core.errors import PlanError, Problem
from assay.scoring.sandbox.limits import Limits
from assay.scoring.sandbox.program_result import ProgramResult, Status
from assay.scoring.sandbox.protections import Protections
from assay.scoring.sandbox.protocol import Job
from assay.scoring.sandbox.warden_process import WardenLost, WardenProcess


class Sandbox:
    """A place to run programs in. Holds warm processes; close it, or use it in a `with` statement."""

    def __init__(
        self, limits: Limits | None = None, *, preload: Iterable[str] = (), use_namespaces: bool = True
    ) -> None:
        """Make a sandbox; processes are started when they are needed.

        `preload` names modules that are slow to import; they are imported once, outside.
        `use_namespaces=False` leaves out what some systems lack, to see what then holds.
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
        """End all processes."""
        with self._lock:
            idle, self._idle = self._idle, []
        for warden in idle:
            warden.close()

    def protections(self) -> Protections:
        """Return which protections hold here, as a trial found."""
        with self._warden() as warden:
            return warden.protections

    def run(self, program: str, *, stdin: str = "", is_main: bool = True) -> ProgramResult:
        """Run one program to its end, and return when nothing of it is left.

        With `is_main=False` what stands under `if __name__ == "__main__":` is not run.
        """
        try:
            program.encode()
        except UnicodeEncodeError as error:
            return ProgramResult(Status.ERROR, f"no file could hold this program: {error}")
        job = Job(program, stdin, is_main)
        try:
            return self._run(job)
        except WardenLost:
            # Once may be the machine's doing, such as memory that ran out elsewhere.
            pass
        try:
            return self._run(job)
        except WardenLost as gone:
            return ProgramResult(Status.KILLED, f"it took down the sandbox's own process, twice: {gone}")

    def run_many(
        self, programs: Iterable[str], *, workers: int | None = None, is_main: bool = True
    ) -> Iterator[ProgramResult]:
        """Yield what became of each program, in order; `workers` run at a time, by default one per core."""
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
                    "look whether the machine is out of processes, memory or space for temporary files",
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
                    f"the sandbox for programs does not start: {error}",
                    "run Assay as a plain user whose Python it may read, on Linux or another Unix",
                )
            ) from None


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
