"""A worker: claims an evaluation, runs it in its own process, reports the result, then claims the next.

It has no state of its own. If it dies, its evaluation returns to the queue, and the next worker resumes it
from the journal in the run folder. Only one process at a time can lock that folder.
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
from assay.core.team import JobState
from assay.ledger.database import open_database
from assay.ledger.jobs import Claim, JobQueue, LostClaim

_LOOK_EVERY_S = 0.5
"""Interval at which an idle worker looks for work, and a busy one reports progress."""
_AWAY_S = 2.0
"""Pause if the database is not available."""
_FOLDER_LOCKED = "STORE-003"
"""Another process still locks the run folder: that of an earlier attempt, which is about to end."""
_LAST_WORDS = 2_000
"""Number of bytes at the end of a log that are searched for its last line."""

_log = logging.getLogger("assay.team")


def serve(order: Serve, line_in: FileIO) -> None:
    """Work until the connection to the server closes, or this process gets SIGTERM."""
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
    """Runs one evaluation after the other."""

    def __init__(self, settings: TeamSettings, name: str, queue: JobQueue) -> None:
        self._settings = settings
        self._name = name
        self._queue = queue

    def work(self, ending: threading.Event) -> None:
        """Work until `ending` is set; the current evaluation then returns to the queue."""
        while not ending.is_set():
            try:
                self._run_next(ending)
            except LostClaim:
                # Another worker has claimed it; our process was already stopped.
                continue
            except StoreError as error:
                # The database is not available. The evaluation waits until its lease expires.
                _log.warning("worker %s: %s", self._name, error)
                ending.wait(_AWAY_S)

    def _run_next(self, ending: threading.Event) -> None:
        """Run the next evaluation, or wait briefly for one."""
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
                    # A restarted database is back before the lease expires: nothing is lost.
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
            # A stopped evaluation stays stopped; any other waits for the next worker.
            self._queue.release(claim)
        elif isinstance(answer, OrderFailed):
            self._queue.finish(claim, JobState.FAILED, answer.problems)
        elif status > 0:
            self._queue.finish(claim, JobState.FAILED, [_unexpected_error_problem(log)])
        else:
            self._queue.lose(claim)


def get_log_path(settings: TeamSettings, number: int) -> Path:
    """Return the log file of an evaluation."""
    return settings.logs / f"evaluation-{number}.log"


def _is_folder_locked(child: Child) -> bool:
    answer = child.answer
    return isinstance(answer, OrderFailed) and any(
        problem.code == _FOLDER_LOCKED for problem in answer.problems
    )


def _unreadable_plan_problem(error: msgspec.DecodeError) -> Problem:
    return Problem(
        "TEAM-013",
        f"the plan of the evaluation cannot be read: another version of Assay created it: {error}",
        "submit the evaluation again",
    )


def _unexpected_error_problem(log: Path) -> Problem:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LAST_WORDS, 0))
        lines = file.read().decode(errors="replace").strip().splitlines()
    last_line = lines[-1] if lines else "(no output)"
    return Problem(
        "TEAM-012",
        f"the evaluation failed with an unexpected error: {last_line}",
        f"see {log.name} in the server's logs; unless the dataset's own code is the cause, report a bug",
    )
