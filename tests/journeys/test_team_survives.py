"""After any number of kills, every evaluation finishes exactly once and sends no request twice."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from assay.core.team import JobState
from assay.ledger.database import open_database
from assay.ledger.jobs import JobQueue
from fakes.openai_server import saying, serving
from fakes.team_server import TeamServer, children_of, eventually, is_alive, kill_all

_ROWS = 30


def write_dataset(folder: Path, *, lease_s: float = 120.0) -> None:
    """Write the dataset and the settings; only tests that lose a worker need a short lease."""
    (folder / "data").mkdir()
    rows = "".join(f"{n}+1=,{n + 1},{n},A\n" for n in range(_ROWS))
    (folder / "data" / "sums.csv").write_text(f"question,A,B,answer\n{rows}")
    settings = f'lease_s = {lease_s}\nworkers = 2\ndatasets = ["data"]\n'
    (folder / "assay-team.toml").write_text(settings)


def journal_of(server: TeamServer, evaluation: dict[str, Any]) -> list[str]:
    """Return the requests that have an answer, in the order of the answers."""
    path = server.folder / "runs" / evaluation["run"] / "responses.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [json.loads(line)["request_id"] for line in lines]


def n_answered(server: TeamServer, number: int) -> int:
    return len(journal_of(server, server.evaluation(number)))


class HeldModel:
    """A model that answers only as often as the test allows: no evaluation ends before the test lets it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._n_left = 0
        self._is_open = False

    def __call__(self, body: dict[str, Any]) -> Any:
        """Answer when the test allows it."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._n_left > 0)
            self._n_left -= 1
        return saying("A")(body)

    def allow_some(self, n: int) -> None:
        """Allow some more answers, without waiting for them."""
        with self._changed:
            self._n_left += n
            self._changed.notify_all()

    def let_all(self) -> None:
        """Allow all answers from now on."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def await_answers(self, server: TeamServer, number: int, more_than: int) -> int:
        """Allow answers one by one until an evaluation has more than that; return how many it has."""

        def look() -> int:
            with self._changed:
                self._n_left = max(self._n_left, 1)
                self._changed.notify()
            return n if (n := n_answered(server, number)) > more_than else 0

        return eventually(look)


@pytest.fixture
def held_model() -> Iterator[tuple[HeldModel, str]]:
    model = HeldModel()
    with serving(model) as served:
        try:
            yield model, f"openai:m@{served.url}"
        finally:
            model.let_all()


def start_held_evaluation(server: TeamServer, spec: str) -> int:
    """Ask for an evaluation of the held model; return its number."""
    server.post("/models", {"name": "slow", "spec": spec, "args": {"concurrency": "1"}})
    number: int = server.post("/evaluations", {"model": "slow", "datasets": ["sums"]})["evaluation"]["id"]
    return number


@pytest.mark.slow
def test_no_evaluation_is_lost_and_none_is_done_twice(
    tmp_path: Path, database_place: str, held_model: tuple[HeldModel, str]
) -> None:
    model, spec = held_model
    write_dataset(tmp_path, lease_s=2.0)
    with TeamServer(tmp_path, "--database", database_place) as server:
        server.post("/models", {"name": "slow", "spec": spec, "args": {"concurrency": "1"}})
        numbers = [
            server.post("/evaluations", {"model": "slow", "datasets": ["sums"], "settings": {"seed": seed}})[
                "evaluation"
            ]["id"]
            for seed in range(3)
        ]
        first = numbers[0]

        seen = model.await_answers(server, first, 2)
        eventually(lambda: len(server.evaluating) == 2)
        kill_all(server.evaluating)
        seen = model.await_answers(server, first, seen + 2)

        before = server.workers
        kill_all(before)
        eventually(lambda: len([pid for pid in server.workers if pid not in before]) == 2)
        seen = n_answered(server, first)
        model.await_answers(server, first, seen + 2)

        left = [server.process.pid, *server.workers, *server.evaluating]
        server.kill()
        # The line to the server is cut, and nobody is left behind.
        eventually(lambda: not any(map(is_alive, left)))
        server.start()
        seen = n_answered(server, first)
        model.await_answers(server, first, seen + 2)

        eventually(lambda: len([*server.workers, *server.evaluating]) == 4)
        kill_all([server.process.pid, *server.workers, *server.evaluating])
        server.process.wait()
        server.start()
        model.let_all()

        for number in numbers:
            ended = server.await_state(number, "complete", "failed", "stopped")
            assert ended["state"] == "complete", ended
            asked = Counter(journal_of(server, ended))
            assert len(asked) == _ROWS
            assert set(asked.values()) == {1}
            assert ended["progress"]["n_done"] == _ROWS
            (metric,) = server.get(f"/evaluations/{number}/results")["metrics"]
            assert (metric["n"], metric["n_scored"], metric["n_failed"]) == (_ROWS, _ROWS, 0)
        assert server.evaluation(first)["attempt"] >= 5
        assert sorted(
            path.name for path in (tmp_path / "runs").iterdir() if not path.name.startswith(".")
        ) == [f"sums-slow-{number}" for number in numbers]


def test_a_server_that_is_reported_to_end_gives_its_evaluations_back(
    tmp_path: Path, database_place: str, held_model: tuple[HeldModel, str]
) -> None:
    model, spec = held_model
    write_dataset(tmp_path)
    server = TeamServer(tmp_path, "--database", database_place)
    number = start_held_evaluation(server, spec)
    model.await_answers(server, number, 1)
    processes = [*server.workers, *server.evaluating]
    assert server.end() == 0
    assert not any(map(is_alive, processes))
    database = open_database(database_place)
    job = JobQueue(database).get(number)
    database.close()
    assert (job.state, job.attempt) == (JobState.QUEUED, 1)


@pytest.mark.slow
def test_a_stop_keeps_what_was_answered_and_a_resume_continues(
    tmp_path: Path, held_model: tuple[HeldModel, str]
) -> None:
    model, spec = held_model
    write_dataset(tmp_path)
    with TeamServer(tmp_path) as server:
        number = start_held_evaluation(server, spec)
        model.await_answers(server, number, 2)
        assert server.post(f"/evaluations/{number}/stop")["state"] == "stopping"
        stopped = server.await_state(number, "stopped")
        kept = journal_of(server, stopped)
        assert 2 < len(kept) < _ROWS
        assert not server.evaluating
        refused = server.ask("DELETE", f"/api/v1/evaluations/{number + 1}")
        assert (refused.status, refused.body["code"]) == (404, "TEAM-001")
        assert server.post(f"/evaluations/{number}/resume")["state"] == "queued"
        running = server.await_state(number, "running")
        busy = server.ask("DELETE", f"/api/v1/evaluations/{number}")
        assert (busy.status, busy.body["code"]) == (409, "TEAM-002")
        model.let_all()
        ended = server.await_state(number, "complete")
        whole = journal_of(server, ended)
        assert whole[: len(kept)] == kept
        assert len(whole) == len(set(whole)) == _ROWS
        assert running["run"] == ended["run"]
        assert server.ask("DELETE", f"/api/v1/evaluations/{number}").status == 204
        assert not (tmp_path / "runs" / ended["run"]).exists()


def suspend_between_transactions(worker: int, database: Path) -> None:
    """Suspend a worker; one that is suspended while it writes to SQLite would lock out all others."""

    def try_to_suspend() -> bool:
        os.kill(worker, signal.SIGSTOP)
        connection = sqlite3.connect(f"{database.as_uri()}?mode=rw", uri=True, timeout=5.0)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
        except sqlite3.OperationalError:
            os.kill(worker, signal.SIGCONT)
            return False
        finally:
            connection.close()
        return True

    eventually(try_to_suspend)


@pytest.mark.slow
def test_a_worker_that_was_only_asleep_does_not_speak_for_an_evaluation_any_more(
    tmp_path: Path, held_model: tuple[HeldModel, str]
) -> None:
    """A machine that was suspended: its lease ran out, another worker took over, then it wakes up."""
    model, spec = held_model
    write_dataset(tmp_path, lease_s=2.0)
    with TeamServer(tmp_path) as server:
        number = start_held_evaluation(server, spec)
        seen = model.await_answers(server, number, 2)

        def look_for_busy() -> list[int]:
            busy = [worker for worker in server.workers if children_of(worker)]
            return busy if len(busy) == 1 else []

        # On a busy machine, the lease may have run out before: only a later attempt shows a takeover.
        (asleep,) = eventually(look_for_busy)
        attempt = server.evaluation(number)["attempt"]
        suspend_between_transactions(asleep, tmp_path / "assay-team" / "team.db")
        # Its evaluation continues and locks the run folder, so the next worker has to wait for it.
        eventually(lambda: server.evaluation(number)["attempt"] > attempt)
        model.await_answers(server, number, seen + 2)
        os.kill(asleep, signal.SIGCONT)
        model.let_all()
        ended = server.await_state(number, "complete", "failed")
        assert ended["state"] == "complete", ended
        whole = journal_of(server, ended)
        assert len(whole) == len(set(whole)) == _ROWS


@pytest.mark.slow
def test_a_database_that_is_started_again_interrupts_no_evaluation(
    tmp_path: Path, held_model: tuple[HeldModel, str]
) -> None:
    """A server of its own: other tests use the one that all share."""
    programs = postgres_server.programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    model, spec = held_model
    write_dataset(tmp_path)
    with (
        postgres_server.running_server(programs) as postgres,
        TeamServer(tmp_path, "--database", postgres.url) as server,
    ):
        number = start_held_evaluation(server, spec)
        seen = model.await_answers(server, number, 2)
        processes = [*server.workers, *server.evaluating]
        for _ in range(2):
            model.allow_some(3)  # They may come while the database is away.
            postgres.restart()
            seen = model.await_answers(server, number, seen + 4)
        model.let_all()
        ended = server.await_state(number, "complete", "failed")
        assert ended["state"] == "complete", ended
        whole = journal_of(server, ended)
        assert len(whole) == len(set(whole)) == _ROWS
        # Nobody died of it, and nobody had to begin again.
        assert all(map(is_alive, processes[: len(server.workers)]))
        assert ended["attempt"] == 1
        assert "Traceback" not in server.log()


@pytest.mark.slow
def test_an_evaluation_on_a_full_disk_fails_with_the_reason_and_is_resumed(
    tmp_path: Path, held_model: tuple[HeldModel, str]
) -> None:
    """The limit on file sizes simulates a full disk: both raise an error of the same kind."""
    model, spec = held_model
    write_dataset(tmp_path)
    with TeamServer(tmp_path, "--workers", "1") as server:
        number = start_held_evaluation(server, spec)
        model.await_answers(server, number, 2)
        (process,) = server.evaluating
        journal = tmp_path / "runs" / server.evaluation(number)["run"] / "responses.jsonl"
        resource.prlimit(process, resource.RLIMIT_FSIZE, (journal.stat().st_size + 100,) * 2)
        model.let_all()
        failed = server.await_state(number, "failed", "complete")
        assert failed["state"] == "failed"
        (problem,) = failed["problems"]
        assert problem["code"] == "STORE-009", problem
        assert server.post(f"/evaluations/{number}/resume")["state"] == "queued"
        ended = server.await_state(number, "failed", "complete")
        assert ended["state"] == "complete", ended
        whole = journal_of(server, ended)
        assert len(whole) == len(set(whole)) == _ROWS


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_code_of_a_dataset_that_ends_its_process_ends_its_evaluation_alone(
    tmp_path: Path, how: str, held_model: tuple[HeldModel, str]
) -> None:
    model, spec = held_model
    write_dataset(tmp_path)
    lethal = {"exit": "os._exit(7)", "kill": "os.kill(os.getpid(), 9)"}[how]
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "lethal.py").write_text(_LETHAL.replace("LETHAL", lethal))
    with TeamServer(tmp_path, "--allow-python", "tasks", "--workers", "1") as server:
        server.post("/models", {"name": "quick", "spec": "mock"})
        numbers = [
            start_held_evaluation(server, spec),
            *(
                server.post("/evaluations", {"model": "quick", "datasets": [name]})["evaluation"]["id"]
                for name in ("lethal", "sums")
            ),
        ]
        # All were checked, and the only worker is still at the first.
        assert server.evaluation(numbers[1])["state"] == "queued"
        (tmp_path / "armed").touch()
        model.let_all()
        failed = server.await_state(numbers[1], "failed")
        assert failed["problems"][0]["code"] == {"exit": "TEAM-012", "kill": "TEAM-010"}[how]
        assert server.await_state(numbers[2], "complete")["attempt"] == 1


_LETHAL = """
import os

from .base import Task, rf
from .metrics import mean


class Lethal(Task):
    def load(self, data_dir=None, cache_dir=None):
        self.dataset = {"test": [{"q": "a"}, {"q": "b"}]}

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return self.dataset["test"]

    def doc_to_text(self, doc):
        return doc["q"]

    def doc_to_target(self, doc):
        return " x"

    def construct_requests(self, doc, ctx):
        return [rf.loglikelihood(ctx, " x"), rf.loglikelihood(ctx, " y")]

    def process_results(self, doc, results):
        if os.path.exists("armed"):
            LETHAL
        return {"acc": 1.0}

    def aggregation(self):
        return {"acc": mean}

    def higher_is_better(self):
        return {"acc": True}
"""
