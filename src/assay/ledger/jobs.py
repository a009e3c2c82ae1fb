"""The queue of evaluations. No job is lost, and none is done twice.

A worker claims a job for a short time (its lease) and renews the lease while it works. Each claim has a
number, the attempt: a worker's report only counts while its attempt is the job's latest. If a worker dies,
its lease expires and the job returns to the queue; its run folder keeps the answers. A clock that is set back
does not extend a lease: one that began in the future has expired too.

The queue does not interpret a job: its plan is bytes that the worker decodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import sqlalchemy
from sqlalchemy import Column, Connection, Double, Integer, LargeBinary, Table, Text, Update, case

from assay.core.errors import AssayError, Problem, StoreError
from assay.core.team import ACTIVE_STATES, ENDED_STATES, LARGEST_NUMBER, Job, JobState
from assay.ledger.schema import METADATA

if TYPE_CHECKING:
    from assay.ledger.database import Database

LEASE_S = 15.0
"""How long a claim is valid without a report from its worker."""
_NAMED_AT_MOST = 5
"""Maximum number of jobs listed in an error."""
LOSSES_AT_MOST = 3
"""How often in a row a job's process may die without a new answer."""


class JobRequest(msgspec.Struct, frozen=True):
    """A job to submit."""

    model: str
    """The name of the model, for lists."""
    datasets: tuple[str, ...]
    """The names of the datasets, for lists."""
    settings: dict[str, Any]
    """Its settings, for lists."""
    plan: bytes
    """Everything that the worker needs."""
    label: str
    """The beginning of the run folder's name."""
    submitted_by: str
    """The submitter."""
    priority: int = 0
    """Higher priorities come first; equal ones in order of submission."""


class Claim(NamedTuple):
    """A job that a worker may do while its attempt is the latest."""

    job: Job
    worker: str


class LostClaim(AssayError):
    """Another worker has the job, or it was deleted: this worker's results no longer count."""


_jobs = Table(
    "assay_evaluations",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("state", Text, nullable=False, index=True),
    Column("model", Text, nullable=False),
    Column("datasets", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("plan", LargeBinary, nullable=False),
    Column("run", Text, nullable=False),
    Column("submitted_by", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("submitted_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("attempt", Integer, nullable=False),
    Column("worker", Text),
    Column("leased_at", Double),
    Column("lease_until", Double),
    Column("n_lost", Integer, nullable=False),
    Column("progress", Text, nullable=False),
    Column("problems", Text, nullable=False),
    Column("version", Integer, nullable=False),
    # Never reuse the number of a deleted job: run folders and links contain it.
    sqlite_autoincrement=True,
)
_c = _jobs.c
_TOO_MANY_LOSSES = Problem(
    "TEAM-010",
    f"its process died {LOSSES_AT_MOST} times in a row without a new answer",
    "check its log for the reason, such as too little memory; then resume it",
)


class JobQueue:
    """The evaluations of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def submit(self, request: JobRequest, require: Callable[[Connection], None] | None = None) -> Job:
        """Add a job to the queue, unless `require` raises; both happen in one transaction."""
        with self._database.begin_write() as connection:
            if require is not None:
                self._database.take_turns(connection)
                require(connection)
            row = {
                "state": JobState.QUEUED,
                "model": request.model,
                "datasets": _encode_json(request.datasets),
                "settings": _encode_json(request.settings),
                "plan": request.plan,
                "run": "",
                "submitted_by": request.submitted_by,
                "priority": request.priority,
                "submitted_at": self._database.now(connection),
                "attempt": 0,
                "n_lost": 0,
                "progress": "{}",
                "problems": "[]",
                "version": 1,
            }
            number = connection.execute(_jobs.insert().values(row).returning(_c.id)).scalar_one()
            connection.execute(_jobs.update().where(_c.id == number).values(run=f"{request.label}-{number}"))
            return _get_job(connection, number)

    def get(self, number: int) -> Job:
        """Return a job, or raise TEAM-001."""
        with self._database.begin_read() as connection:
            return _get_job(connection, number)

    def find(self, number: int) -> Job | None:
        """Return a job; None if it does not exist."""
        with self._database.begin_read() as connection:
            return _find_job(connection, number)

    def jobs(
        self, states: Collection[JobState] = (), *, at_most: int = 100, before: int | None = None
    ) -> list[Job]:
        """Return jobs, the newest first; `before`: only those with a lower number."""
        query = sqlalchemy.select(_jobs).order_by(_c.id.desc()).limit(at_most)
        if states:
            query = query.where(_c.state.in_(states))
        if before is not None:
            query = query.where(_c.id < before)
        with self._database.begin_read() as connection:
            return [_job(row) for row in connection.execute(query)]

    def count(self, states: Collection[JobState], submitted_by: str | None = None) -> int:
        """Return the number of jobs in these states."""
        query = sqlalchemy.select(sqlalchemy.func.count()).where(_c.state.in_(states))
        if submitted_by is not None:
            query = query.where(_c.submitted_by == submitted_by)
        with self._database.begin_read() as connection:
            number: int = connection.execute(query).scalar_one()
            return number

    def revision(self) -> tuple[int, ...]:
        """Return numbers that change with any change of a job, for watching all jobs."""
        parts = (sqlalchemy.func.count(), sqlalchemy.func.max(_c.id), sqlalchemy.func.sum(_c.version))
        with self._database.begin_read() as connection:
            return tuple(connection.execute(sqlalchemy.select(*parts)).one())

    def claim(self, worker: str, *, lease_s: float = LEASE_S) -> Claim | None:
        """Claim the next job, if there is one; never the same one for two workers."""
        # Idle workers only read, so that SQLite writers do not wait for them.
        if not self._has_work():
            return None
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            _release_claims(connection, now, _has_expired(now))
            waiting = (
                sqlalchemy.select(_c.id)
                .where(_c.state == JobState.QUEUED)
                .order_by(_c.priority.desc(), _c.id)
                .limit(1)
                # SQLite has one writer at a time; in PostgreSQL others skip the locked row.
                .with_for_update(skip_locked=True)
            )
            number = connection.execute(waiting).scalar_one_or_none()
            if number is None:
                return None
            connection.execute(
                _build_update(_c.id == number).values(
                    state=JobState.RUNNING,
                    attempt=_c.attempt + 1,
                    worker=worker,
                    leased_at=now,
                    lease_until=now + lease_s,
                    started_at=sqlalchemy.func.coalesce(_c.started_at, now),
                )
            )
            return Claim(_get_job(connection, number), worker)

    def report(
        self,
        claim: Claim,
        progress: dict[str, Any] | None = None,
        *,
        has_advanced: bool = False,
        lease_s: float = LEASE_S,
    ) -> JobState:
        """Renew a claim and report progress; return `running`, or `stopping` if the worker should stop.

        `has_advanced`: there is a new answer, so a later loss does not show that the job is impossible.
        """
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            renewal = (
                _jobs.update()
                .where(_is_current_claim(claim))
                .values(leased_at=now, lease_until=now + lease_s)
            )
            if has_advanced:
                renewal = renewal.values(n_lost=0)
            if progress is not None:
                renewal = renewal.values(progress=_encode_json(progress), version=_c.version + 1)
            return JobState(self._apply_change(connection, claim, renewal))

    def finish(self, claim: Claim, state: JobState, problems: Sequence[Problem] = ()) -> None:
        """End a job as complete, failed or stopped."""
        with self._database.begin_write() as connection:
            ended = _build_update(_is_current_claim(claim)).values(
                state=state,
                problems=_encode_json(problems),
                finished_at=self._database.now(connection),
                worker=None,
                leased_at=None,
                lease_until=None,
            )
            self._apply_change(connection, claim, ended)

    def release(self, claim: Claim) -> None:
        """Return an unfinished job to the queue, without counting a loss; a stopping job is stopped."""
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            self._apply_change(connection, claim, _build_release(_is_current_claim(claim), now))

    def lose(self, claim: Claim) -> None:
        """Return a job to the queue after its process died; after too many losses it has failed."""
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            is_hopeless = sqlalchemy.and_(_c.state == JobState.RUNNING, _c.n_lost + 1 >= LOSSES_AT_MOST)
            connection.execute(
                _build_update(_is_current_claim(claim), is_hopeless).values(
                    state=JobState.FAILED,
                    problems=_encode_json([_TOO_MANY_LOSSES]),
                    finished_at=now,
                    worker=None,
                    leased_at=None,
                    lease_until=None,
                )
            )
            connection.execute(_build_release(_is_current_claim(claim), now).values(n_lost=_c.n_lost + 1))

    def release_worker(self, worker: str) -> None:
        """Release the jobs of a dead worker before their leases expire."""
        with self._database.begin_write() as connection:
            _release_claims(connection, self._database.now(connection), _c.worker == worker)

    def release_expired(self) -> None:
        """Release the jobs whose workers stopped reporting; `claim` does this too."""
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            _release_claims(connection, now, _has_expired(now))

    def require_unused_dataset(self, connection: Connection, dataset: str) -> None:
        """Raise if a job that has not ended needs a dataset; call it in the transaction that deletes it."""
        query = sqlalchemy.select(_c.id, _c.datasets).where(_c.state.not_in(ENDED_STATES)).order_by(_c.id)
        needed_by = [
            row.id for row in connection.execute(query) if dataset in msgspec.json.decode(row.datasets)
        ]
        if needed_by:
            numbers = ", ".join(map(str, needed_by[:_NAMED_AT_MOST]))
            more = f" and {len(needed_by) - _NAMED_AT_MOST} more" if len(needed_by) > _NAMED_AT_MOST else ""
            what = f"the dataset {dataset!r} is needed by evaluation {numbers}{more}, which has not ended yet"
            raise StoreError(Problem("TEAM-003", what, "wait until it has ended, or stop it first"))

    def stop(self, number: int) -> Job:
        """Remove a job from the queue, or ask its worker to stop; an ended job is not changed."""
        with self._database.begin_write() as connection:
            now = self._database.now(connection)
            waits = _c.state == JobState.QUEUED
            # One statement: between two, a worker could release the job and miss the request to stop.
            connection.execute(
                _build_update(_c.id == number, _c.state.in_((JobState.QUEUED, JobState.RUNNING))).values(
                    state=case((waits, JobState.STOPPED.value), else_=JobState.STOPPING.value),
                    finished_at=case((waits, now), else_=None),
                )
            )
            return _get_job(connection, number)

    def resume(self, number: int) -> Job:
        """Return a stopped or failed job to the queue; it resumes from its stored answers."""
        with self._database.begin_write() as connection:
            again = _build_update(_c.id == number, _c.state.in_((JobState.STOPPED, JobState.FAILED)))
            result = connection.execute(
                again.values(state=JobState.QUEUED, finished_at=None, problems="[]", n_lost=0)
            )
            job = _get_job(connection, number)
            if not result.rowcount:
                raise _build_state_error(job, "resumed", "only stopped and failed evaluations can be resumed")
            return job

    def delete(self, number: int) -> Job:
        """Delete a job that no worker has claimed; return it."""
        with self._database.begin_write() as connection:
            job = _get_job(connection, number)
            deletion = _jobs.delete().where(_c.id == number, _c.state.not_in(ACTIVE_STATES))
            if not connection.execute(deletion).rowcount:
                raise _build_state_error(job, "deleted", "stop it first, and wait until it has stopped")
            return job

    def _has_work(self) -> bool:
        with self._database.begin_read() as connection:
            is_expired = _has_expired(self._database.now(connection))
            query = sqlalchemy.select(_c.id).where((_c.state == JobState.QUEUED) | is_expired).limit(1)
            return connection.execute(query).first() is not None

    def _apply_change(self, connection: Connection, claim: Claim, change: Update) -> str:
        """Apply a worker's change, or raise if its claim is lost; return the job's state."""
        state: str | None = connection.execute(change.returning(_c.state)).scalar_one_or_none()
        if state is None:
            what = f"evaluation {claim.job.id}: attempt {claim.job.attempt} is no longer the latest"
            raise LostClaim(Problem("TEAM-011", what, "leave it to its current worker"))
        return state


def _build_update(*conditions: sqlalchemy.ColumnElement[bool]) -> Update:
    """Return an update of jobs that also changes their version."""
    return _jobs.update().where(*conditions).values(version=_c.version + 1)


def _is_current_claim(claim: Claim) -> sqlalchemy.ColumnElement[bool]:
    """Whether a claim is the latest and has not ended."""
    return sqlalchemy.and_(
        _c.id == claim.job.id,
        _c.attempt == claim.job.attempt,
        _c.worker == claim.worker,
        _c.state.in_(ACTIVE_STATES),
    )


def _has_expired(now: float) -> sqlalchemy.ColumnElement[bool]:
    """Whether a lease has expired: it ended before now, or began further in the future than it is long."""
    # The second case occurs if a clock is set back: the lease would last too long. A live worker renews its
    # lease by the new clock within a second, and a step of less than a lease affects no job.
    return sqlalchemy.or_(_c.lease_until < now, _c.leased_at - (_c.lease_until - _c.leased_at) > now)


def _build_release(whose: sqlalchemy.ColumnElement[bool], now: float) -> Update:
    """Return the update that ends a claim but not the job."""
    is_to_stop = _c.state == JobState.STOPPING
    return _build_update(whose).values(
        state=case((is_to_stop, JobState.STOPPED.value), else_=JobState.QUEUED.value),
        finished_at=case((is_to_stop, now), else_=None),
        worker=None,
        leased_at=None,
        lease_until=None,
    )


def _release_claims(connection: Connection, now: float, whose: sqlalchemy.ColumnElement[bool]) -> None:
    """Release claims of dead workers, without counting a loss: servers are killed for other reasons."""
    connection.execute(_build_release(sqlalchemy.and_(_c.state.in_(ACTIVE_STATES), whose), now))


def _find_job(connection: Connection, number: int) -> Job | None:
    # Outside the range of the column, databases fail instead of finding nothing.
    query = sqlalchemy.select(_jobs).where(_c.id == number)
    row = connection.execute(query).one_or_none() if abs(number) <= LARGEST_NUMBER else None
    return None if row is None else _job(row)


def _get_job(connection: Connection, number: int) -> Job:
    job = _find_job(connection, number)
    if job is None:
        what = f"there is no evaluation {number}"
        raise StoreError(Problem("TEAM-001", what, "list the evaluations to see their numbers"))
    return job


def _job(row: sqlalchemy.Row[Any]) -> Job:
    return Job(
        id=row.id,
        state=JobState(row.state),
        model=row.model,
        datasets=tuple(msgspec.json.decode(row.datasets)),
        settings=msgspec.json.decode(row.settings),
        plan=bytes(row.plan),
        run=row.run,
        submitted_by=row.submitted_by,
        priority=row.priority,
        submitted_at=row.submitted_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        attempt=row.attempt,
        progress=msgspec.json.decode(row.progress),
        problems=msgspec.json.decode(row.problems, type=tuple[Problem, ...]),
        version=row.version,
    )


def _build_state_error(job: Job, done: str, fix: str) -> StoreError:
    return StoreError(Problem("TEAM-002", f"evaluation {job.id} is {job.state} and cannot be {done}", fix))


def _encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
