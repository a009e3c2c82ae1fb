"""A worker: claims an evaluation, has a process of its own do it, and says how it ended. Then the next one.

It keeps nothing. Whatever it dies of, its evaluation goes back into the queue, and whoever takes it next goes
on from the journal in the run's folder. Only one process at a time can hold that folder.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from io import FileIO
from pathlib import Path

import msgspec

from assay.app.team.child import Child
from assay.app.team.messages import Done, Evaluate, OrderFailed, Serve, Stopped
from assay.app.team.plan import EvaluationPlan
from assay.app.team.settings import TeamSettings
from assay.core.errors import Problem, StoreError
from assay.ledger.database import open_database
from assay.ledger.jobs import Claim, JobQueue, JobState, LostClaim

_LOOK_EVERY_S = 0.5
"""So often a worker without work looks for some, and one with work says how far it is."""
_AWAY_S = 2.0
"""So long is waited for a database that is away."""
_FOLDER_LOCKED = "STORE-003"
"""Another process still holds the run's folder: that of an earlier attempt, which is about to end."""
_LAST_WORDS = 2_000
"""Bytes of a log in which its last line is looked for."""

_log = logging.getLogger("assay.team")


def serve(order: Serve, line_in: FileIO) -> None:
    """Work until the line to the server is cut, or this process is told to end."""
    ending = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: ending.set())

    def wait_for_end() -> None:
        line_in.read()
        ending.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    database = open_database(order.settings.database_place)
    try:
        Worker(order.settings, order.worker, JobQueue(database)).work(ending)
    finally:
        database.close()


class Worker:
    """Does one evaluation after the other."""

    def __init__(self, settings: TeamSettings, name: str, queue: JobQueue) -> None:
        self._settings = settings
        self._name = name
        self._queue = queue

    def work(self, ending: threading.Event) -> None:
        """Work until told to end; the evaluation under way then goes back into the queue."""
        while not ending.is_set():
            try:
                self._next(ending)
            except LostClaim:
                # Another worker has it by now; our process was ended on the way out.
                continue
            except StoreError as error:
                # The database is away. The evaluation waits there until its lease runs out.
                _log.warning("worker %s: %s", self._name, error)
                ending.wait(_AWAY_S)

    def _next(self, ending: threading.Event) -> None:
        """Do the next evaluation, or wait a little for one."""
        claim = self._queue.claim(self._name, lease_s=self._settings.lease_s)
        if claim is None:
            ending.wait(_LOOK_EVERY_S)
            return
        try:
            plan = msgspec.json.decode(claim.job.plan, type=EvaluationPlan)
        except msgspec.DecodeError as error:
            self._queue.finish(claim, JobState.FAILED, [_unreadable_plan_problem(error)])
            return
        self._do(claim, plan, ending)

    def _do(self, claim: Claim, plan: EvaluationPlan, ending: threading.Event) -> None:
        out = Path(self._settings.runs_dir) / claim.job.run
        log = get_log_path(self._settings, claim.job.id)
        grace_s = self._settings.lease_s / 2
        with Child(Evaluate(plan, str(out), self._settings.allow_python), log) as child:
            was_ended = False
            silent_since = time.monotonic()
            while not was_ended and not child.wait(_LOOK_EVERY_S):
                try:
                    was_ended = ending.is_set() or self._report(claim, child) is JobState.STOPPING
                    silent_since = time.monotonic()
                except StoreError:
                    # A database that is started anew is back before the lease runs out: nothing is lost.
                    if time.monotonic() - silent_since > grace_s:
                        raise
            status = child.end(grace_s) if was_ended else child.reap(grace_s)
            self._report(claim, child)
            self._conclude(claim, child, status, log, was_ended=was_ended)
            if _is_folder_locked(child):
                ending.wait(_LOOK_EVERY_S)

    def _report(self, claim: Claim, child: Child) -> JobState:
        latest = child.news()
        return self._queue.report(
            claim,
            None if latest is None else latest.progress,
            has_advanced=latest is not None and latest.n_new > 0,
            lease_s=self._settings.lease_s,
        )

    def _conclude(self, claim: Claim, child: Child, status: int, log: Path, *, was_ended: bool) -> None:
        answer = child.answer
        if isinstance(answer, Done):
            self._queue.finish(claim, JobState.COMPLETE)
        elif was_ended or isinstance(answer, Stopped) or _is_folder_locked(child):
            # One that somebody asked to stop has stopped; another waits for whoever takes it next.
            self._queue.release(claim)
        elif isinstance(answer, OrderFailed):
            self._queue.finish(claim, JobState.FAILED, answer.problems)
        elif status > 0:
            self._queue.finish(claim, JobState.FAILED, [_unexpected_error_problem(log)])
        else:
            self._queue.lose(claim)


def get_log_path(settings: TeamSettings, number: int) -> Path:
    """Return where an evaluation writes what it would print."""
    return settings.logs / f"evaluation-{number}.log"


def _is_folder_locked(child: Child) -> bool:
    answer = child.answer
    return isinstance(answer, OrderFailed) and any(
        problem.code == _FOLDER_LOCKED for problem in answer.problems
    )


def _unreadable_plan_problem(error: msgspec.DecodeError) -> Problem:
    return Problem(
        "TEAM-013",
        f"the evaluation was asked for from another version of Assay, whose plan cannot be read: {error}",
        "ask for it again",
    )


def _unexpected_error_problem(log: Path) -> Problem:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LAST_WORDS, 0))
        lines = file.read().decode(errors="replace").strip().splitlines()
    said = lines[-1] if lines else "it said nothing"
    return Problem(
        "TEAM-012",
        f"the evaluation ended with an error that Assay did not foresee: {said}",
        f"see {log.name} among the server's logs; if the dataset's own code is not to blame, report it",
    )
