"""The queue of evaluations, on every database: each job is done once, whoever dies."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from assay.core.errors import Problem, StoreError
from assay.core.team import ACTIVE_STATES, ENDED_STATES, JobState
from assay.ledger.database import Database, open_database
from assay.ledger.jobs import LOSSES_AT_MOST, Claim, JobQueue, JobRequest, LostClaim

_GONE = -1.0
"""A lease that has run out when it begins."""


@pytest.fixture
def database(database_place: str) -> Iterator[Database]:
    opened = open_database(database_place)
    yield opened
    opened.close()


@pytest.fixture
def queue(database: Database) -> JobQueue:
    return JobQueue(database)


def make_job(priority: int = 0) -> JobRequest:
    return JobRequest("mock", ("data",), {"shots": 5}, b'{"any":1}', "data-mock", "ann", priority)


def claimed(queue: JobQueue, worker: str = "w", *, lease_s: float = 60.0) -> Claim:
    claim = queue.claim(worker, lease_s=lease_s)
    assert claim is not None
    return claim


def test_a_job_is_claimed_done_and_kept(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    assert (job.state, job.run, job.attempt) == (JobState.QUEUED, f"data-mock-{job.id}", 0)
    claim = claimed(queue)
    assert (claim.job.id, claim.job.state, claim.job.attempt) == (job.id, JobState.RUNNING, 1)
    assert (claim.job.plan, claim.job.settings) == (b'{"any":1}', {"shots": 5})
    assert queue.report(claim, {"n_done": 3}) is JobState.RUNNING
    queue.finish(claim, JobState.COMPLETE)
    done = queue.get(job.id)
    assert (done.state, done.progress) == (JobState.COMPLETE, {"n_done": 3})
    assert done.finished_at is not None
    assert done.started_at is not None
    assert done.submitted_at <= done.started_at <= done.finished_at
    assert queue.claim("w") is None


def test_whoever_watches_all_jobs_sees_every_change(queue: JobQueue) -> None:
    seen = [queue.revision()]

    def is_other() -> bool:
        seen.append(queue.revision())
        return seen[-1] not in seen[:-1]

    first = queue.submit(make_job())
    assert is_other()
    claim = claimed(queue)
    assert is_other()
    queue.report(claim, {"n_done": 1})
    assert is_other()
    queue.finish(claim, JobState.COMPLETE)
    assert is_other()
    queue.submit(make_job())
    assert is_other()
    queue.delete(first.id)
    assert is_other()
    assert queue.revision() == queue.revision()


def test_jobs_come_by_priority_and_then_in_their_order(queue: JobQueue) -> None:
    numbers = [queue.submit(make_job(priority)).id for priority in (0, 5, 0, 5)]
    order = [claimed(queue).job.id for _ in numbers]
    assert order == [numbers[1], numbers[3], numbers[0], numbers[2]]


def test_a_dead_workers_job_goes_back_and_its_word_no_longer_counts(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    dead = claimed(queue, "dead", lease_s=_GONE)
    alive = claimed(queue, "alive")
    assert (alive.job.id, alive.job.attempt) == (job.id, 2)
    for say in (
        lambda: queue.report(dead, {"n_done": 99}),
        lambda: queue.finish(dead, JobState.FAILED),
        lambda: queue.release(dead),
    ):
        with pytest.raises(LostClaim) as caught:
            say()
        assert caught.value.problems[0].code == "TEAM-011"
    queue.lose(dead)
    assert queue.get(job.id).state is JobState.RUNNING
    assert queue.get(job.id).progress == {}
    queue.finish(alive, JobState.COMPLETE)
    with pytest.raises(LostClaim):
        queue.finish(alive, JobState.FAILED)


def test_the_same_workers_earlier_attempt_is_fenced_out_as_well(queue: JobQueue) -> None:
    queue.submit(make_job())
    first = claimed(queue, "w", lease_s=_GONE)
    claimed(queue, "w")
    with pytest.raises(LostClaim):
        queue.finish(first, JobState.COMPLETE)


def test_a_report_keeps_the_lease(queue: JobQueue) -> None:
    queue.submit(make_job())
    claim = claimed(queue, lease_s=_GONE)
    queue.report(claim, lease_s=60.0)
    queue.release_expired()
    assert queue.get(claim.job.id).state is JobState.RUNNING


def test_a_clock_that_is_set_back_keeps_no_dead_workers_job(
    queue: JobQueue, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = queue.submit(make_job())
    dead = claimed(queue, "dead", lease_s=10.0)
    late = database.now
    monkeypatch.setattr(database, "now", lambda connection: late(connection) - 9.0)
    # So little takes nobody's job: clocks are set right by such steps while workers are at it.
    assert queue.claim("alive") is None
    assert queue.report(dead, lease_s=10.0) is JobState.RUNNING
    monkeypatch.setattr(database, "now", lambda connection: late(connection) - 3600.0)
    alive = claimed(queue, "alive", lease_s=10.0)
    assert (alive.job.id, alive.job.attempt) == (job.id, 2)
    with pytest.raises(LostClaim):
        queue.report(dead)
    queue.release_expired()
    assert queue.report(alive) is JobState.RUNNING


def test_a_worker_that_is_alive_keeps_its_job_when_the_clock_is_set_back(
    queue: JobQueue, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.submit(make_job())
    claim = claimed(queue, lease_s=10.0)
    late = database.now
    monkeypatch.setattr(database, "now", lambda connection: late(connection) - 3600.0)
    assert queue.report(claim, lease_s=10.0) is JobState.RUNNING
    queue.release_expired()
    assert queue.claim("other") is None
    assert queue.report(claim, lease_s=10.0) is JobState.RUNNING


def test_the_jobs_of_a_worker_known_to_be_dead_go_back_at_once(queue: JobQueue) -> None:
    queue.submit(make_job())
    queue.submit(make_job())
    mine, others = claimed(queue, "dead"), claimed(queue, "alive")
    queue.release_worker("dead")
    assert queue.get(mine.job.id).state is JobState.QUEUED
    assert queue.get(others.job.id).state is JobState.RUNNING


def test_a_job_whose_process_keeps_dying_fails(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    for _ in range(LOSSES_AT_MOST):
        queue.lose(claimed(queue))
    failed = queue.get(job.id)
    assert failed.state is JobState.FAILED
    assert [problem.code for problem in failed.problems] == ["TEAM-010"]
    queue.resume(job.id)
    assert claimed(queue).job.id == job.id


def test_a_job_that_gets_on_between_losses_does_not_fail(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    for _ in range(LOSSES_AT_MOST * 2):
        claim = claimed(queue)
        queue.report(claim, has_advanced=True)
        queue.lose(claim)
    assert queue.get(job.id).state is JobState.QUEUED


def test_giving_a_job_back_or_losing_its_worker_is_no_loss(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    for _ in range(LOSSES_AT_MOST * 2):
        queue.release(claimed(queue))
        claimed(queue, "dead")
        queue.release_worker("dead")
        claimed(queue, "silent", lease_s=_GONE)
        queue.release_expired()
    assert queue.get(job.id).state is JobState.QUEUED


def test_a_queued_job_stops_at_once_and_a_running_one_when_its_worker_hears_it(queue: JobQueue) -> None:
    first, second = queue.submit(make_job()), queue.submit(make_job())
    claim = claimed(queue)
    assert claim.job.id == first.id
    assert queue.stop(second.id).state is JobState.STOPPED
    assert queue.stop(first.id).state is JobState.STOPPING
    assert queue.report(claim) is JobState.STOPPING
    queue.finish(claim, JobState.STOPPED)
    assert queue.get(first.id).state is JobState.STOPPED
    assert queue.claim("w") is None
    assert queue.stop(first.id).state is JobState.STOPPED


def test_a_stop_is_heard_though_the_job_is_given_back_meanwhile(queue: JobQueue, database: Database) -> None:
    number = queue.submit(make_job()).id
    claimed(queue)
    stopper = threading.Thread(target=queue.stop, args=(number,))
    with database.begin_write() as connection:
        connection.execute(
            text("UPDATE assay_evaluations SET state = 'queued', worker = NULL, lease_until = NULL")
        )
        stopper.start()
        # Long enough for the other one to look at the job, and to wait for this transaction.
        stopper.join(0.5)
        assert stopper.is_alive()
    stopper.join()
    job = queue.get(number)
    assert (job.state, job.finished_at is not None) == (JobState.STOPPED, True)


def test_a_job_whose_worker_died_while_it_was_to_stop_has_stopped(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    claimed(queue, lease_s=_GONE)
    queue.stop(job.id)
    assert queue.claim("w") is None
    assert queue.get(job.id).state is JobState.STOPPED


def test_only_a_job_that_nobody_works_on_is_deleted(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    claim = claimed(queue)
    with pytest.raises(StoreError) as caught:
        queue.delete(job.id)
    assert caught.value.problems[0].code == "TEAM-002"
    queue.finish(claim, JobState.FAILED, [Problem("TEAM-010", "it broke", "fix it")])
    assert queue.delete(job.id).problems[0].what == "it broke"
    with pytest.raises(StoreError) as caught:
        queue.get(job.id)
    assert caught.value.problems[0].code == "TEAM-001"


def test_the_number_of_a_deleted_job_does_not_come_again(queue: JobQueue) -> None:
    first = queue.submit(make_job())
    queue.delete(first.id)
    assert queue.submit(make_job()).id > first.id


def test_a_complete_job_is_not_resumed(queue: JobQueue) -> None:
    job = queue.submit(make_job())
    queue.finish(claimed(queue), JobState.COMPLETE)
    with pytest.raises(StoreError) as caught:
        queue.resume(job.id)
    assert caught.value.problems[0].code == "TEAM-002"


def test_jobs_are_listed_newest_first_by_state_and_page(queue: JobQueue) -> None:
    numbers = [queue.submit(make_job()).id for _ in range(5)]
    queue.stop(numbers[1])
    assert [job.id for job in queue.jobs()] == numbers[::-1]
    assert [job.id for job in queue.jobs([JobState.STOPPED])] == [numbers[1]]
    assert [job.id for job in queue.jobs(at_most=2, before=numbers[3])] == [numbers[2], numbers[1]]
    assert queue.count([JobState.QUEUED]) == 4
    assert queue.count([JobState.QUEUED], "eve") == 0


def test_every_change_shows_in_the_version(queue: JobQueue) -> None:
    versions = [queue.submit(make_job()).version]
    claim = claimed(queue)
    for change in (
        lambda: queue.report(claim, {"n_done": 1}),
        lambda: queue.stop(claim.job.id),
        lambda: queue.finish(claim, JobState.STOPPED),
        lambda: queue.resume(claim.job.id),
    ):
        change()
        versions.append(queue.get(claim.job.id).version)
    assert versions == sorted(set(versions))


class _QueueActions:
    """What happened to a queue, so that it can be compared with what the queue says."""

    def __init__(self, queue: JobQueue) -> None:
        self.queue = queue
        self.claims: list[Claim] = []
        self.ended: list[int] = []
        self.submitted: list[int] = []

    def submit(self, at: int) -> None:
        self.submitted.append(self.queue.submit(make_job()).id)

    def claim(self, at: int) -> None:
        taken = self.queue.claim("w", lease_s=_GONE if at % 2 else 60.0)
        self.claims += [] if taken is None else [taken]

    def stop(self, at: int) -> None:
        if self.submitted:
            self.queue.stop(self.submitted[at % len(self.submitted)])

    def report(self, at: int) -> None:
        self._call_with_claim(at, lambda claim: self.queue.report(claim, has_advanced=True))

    def finish(self, at: int) -> None:
        claim = self._call_with_claim(at, lambda claim: self.queue.finish(claim, JobState.COMPLETE))
        self.ended += [] if claim is None else [claim.job.id]

    def release(self, at: int) -> None:
        self._call_with_claim(at, self.queue.release)

    def lose(self, at: int) -> None:
        if self.claims:
            self.queue.lose(self.claims[at % len(self.claims)])

    def _call_with_claim(self, at: int, say: Callable[[Claim], object]) -> Claim | None:
        """Call a function with a claim; return the claim if it was accepted: only the latest is."""
        if not self.claims:
            return None
        claim = self.claims[at % len(self.claims)]
        now = self.queue.get(claim.job.id)
        is_held = now.attempt == claim.job.attempt and now.state in ACTIVE_STATES
        if is_held:
            say(claim)
            return claim
        with pytest.raises(LostClaim):
            say(claim)
        return None


_EVENTS = ("submit", "claim", "stop", "report", "finish", "release", "lose")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.tuples(st.sampled_from(_EVENTS), st.integers(0, 5)), max_size=40))
def test_no_order_of_events_loses_a_job_or_does_it_twice(
    queue: JobQueue, events: list[tuple[str, int]]
) -> None:
    queue.release_worker("w")
    for old in queue.jobs(at_most=1000):
        queue.delete(old.id)
    actions = _QueueActions(queue)
    for event, at in events:
        getattr(actions, event)(at)
    assert len(actions.ended) == len(set(actions.ended))
    jobs = {job.id: job for job in queue.jobs(at_most=1000)}
    assert sorted(jobs) == actions.submitted
    assert {number for number, job in jobs.items() if job.state is JobState.COMPLETE} == set(actions.ended)
    # Whatever happened, the queue can be worked off, and then every job has ended.
    queue.release_worker("w")
    while (rest := queue.claim("w")) is not None:
        queue.finish(rest, JobState.COMPLETE)
    assert all(job.state in ENDED_STATES for job in queue.jobs(at_most=1000))


_RACER = """
import sys
from assay.ledger.database import open_database
from assay.ledger.jobs import JobQueue, JobState
queue = JobQueue(open_database(sys.argv[1]))
sys.stdin.read()
while (claim := queue.claim(sys.argv[2])) is not None:
    print(claim.job.id, flush=True)
    queue.finish(claim, JobState.COMPLETE)
"""


def test_many_processes_racing_for_jobs_get_each_once(
    queue: JobQueue, database_place: str, tmp_path: Path
) -> None:
    numbers = [queue.submit(make_job()).id for _ in range(200)]
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", _RACER, database_place, f"w{at}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for at in range(6)
    ]
    # All are let go at once, when the slowest is ready to read.
    outputs = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
        racer.stdin = None
    for racer in racers:
        outputs.append(racer.communicate(timeout=600)[0])
        assert racer.returncode == 0
    done = [int(line) for output in outputs for line in output.split()]
    assert sorted(done) == numbers
    assert all(job.state is JobState.COMPLETE for job in queue.jobs(at_most=1000))
    assert all(job.attempt == 1 for job in queue.jobs(at_most=1000))


def test_a_job_began_when_it_was_first_claimed_and_ended_when_it_stopped(queue: JobQueue) -> None:
    number = queue.submit(make_job()).id
    first = claimed(queue)
    queue.release(first)
    second = claimed(queue)
    assert second.job.started_at == first.job.started_at
    assert second.job.finished_at is None
    queue.stop(number)
    queue.release(second)
    ended = queue.get(number).finished_at
    assert ended is not None
    assert ended >= (second.job.started_at or ended + 1)


def test_a_job_that_has_not_stopped_yet_is_not_deleted(queue: JobQueue) -> None:
    number = queue.submit(make_job()).id
    claimed(queue)
    assert queue.stop(number).state is JobState.STOPPING
    with pytest.raises(StoreError) as caught:
        queue.delete(number)
    assert caught.value.problems[0].code == "TEAM-002"


def test_a_job_that_is_resumed_may_be_lost_as_often_as_a_new_one(queue: JobQueue) -> None:
    number = queue.submit(make_job()).id
    for _ in range(LOSSES_AT_MOST):
        queue.lose(claimed(queue))
    assert queue.get(number).state is JobState.FAILED
    queue.resume(number)
    for _ in range(LOSSES_AT_MOST - 1):
        queue.lose(claimed(queue))
        assert queue.get(number).state is JobState.QUEUED


def test_connections_that_a_server_cuts_are_opened_again(
    queue: JobQueue, database: Database, database_place: str
) -> None:
    if not database.is_shared:
        pytest.skip("a file has no connections that somebody else can cut")
    number = queue.submit(make_job()).id
    cutter = open_database(database_place)
    others = "pid <> pg_backend_pid() AND datname = current_database()"

    def cut() -> None:
        with cutter.begin_write() as connection:
            connection.execute(
                text(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}")
            )

    def cut_half_way() -> None:
        with database.begin_write() as connection:
            cut()
            connection.execute(text("SELECT 1"))

    cut()
    assert queue.get(number).state is JobState.QUEUED
    with pytest.raises(StoreError) as caught:
        cut_half_way()
    assert caught.value.problems[0].code == "STORE-023"
    assert claimed(queue).job.id == number
    cutter.close()


def test_who_watches_sees_progress_and_not_every_sign_of_life(queue: JobQueue) -> None:
    queue.submit(make_job())
    claim = claimed(queue)
    before = queue.get(claim.job.id).version
    queue.report(claim)
    assert queue.get(claim.job.id).version == before
    queue.report(claim, {"n_done": 1})
    assert queue.get(claim.job.id).version == before + 1
