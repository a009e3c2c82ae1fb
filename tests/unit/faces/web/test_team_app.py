"""The API in this process, without evaluations."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from assay.app.settings import RunSettings
from assay.app.team import worker as worker_module
from assay.app.team.evaluations import EvaluationRequest, delete, run_folder, submit
from assay.app.team.messages import TryModel
from assay.app.team.plan import EvaluationSettings
from assay.app.team.settings import TeamSettings, resolve_team_settings
from assay.app.team.team import Team, open_team
from assay.app.team.worker import Worker
from assay.core.errors import Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.roles import Bearer, Role
from assay.core.team import JobState, Provenance, RegisteredDataset, RegisteredModel
from assay.faces.cli.serve import print_first_token
from assay.faces.web.api.document import read_field_docs
from assay.faces.web.api.evaluations import _Watch
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.events import GONE, StreamUpdate
from assay.faces.web.serve import ServeSettings, TeamServer
from assay.ledger.database import Database
from assay.ledger.jobs import LEASE_S, Claim, JobQueue, JobRequest
from cli import assay
from fakes.asgi_client import AsgiClient
from fakes.team_server import eventually


@pytest.fixture
def team(workdir: Path) -> Iterator[Team]:
    with open_team(resolve_team_settings({"workers": 0, "max_waiting": 2}, workdir)) as opened:
        yield opened


def client_of(team: Team, host: str = "127.0.0.1") -> AsgiClient:
    server = TeamServer(team, ServeSettings(host, 0))
    server.close()
    return AsgiClient(server.app, f"127.0.0.1:{server.port}")


def test_on_this_machine_anybody_looks_and_nobody_changes_anything(team: Team) -> None:
    with client_of(team) as client:
        assert client.get("/api/v1/evaluations").json() == []
        assert client.post("/api/v1/models", {"name": "m", "spec": "mock"}).status == 401


def test_beyond_this_machine_everything_needs_a_token(team: Team) -> None:
    token = {"authorization": f"Bearer {team.tokens.add('ann', Role.READER)}"}
    with client_of(team, "0.0.0.0") as client:
        for path in ("/api/v1/evaluations", "/api/v1/openapi.json", "/data/runs", "/api/v1/leaderboard"):
            assert client.get(path).status == 401, path
            assert client.get(path, token).status == 200, path


def test_a_visitor_is_reported_who_they_are(team: Team) -> None:
    token = {"authorization": f"Bearer {team.tokens.add('앤', Role.RUNNER)}"}
    with client_of(team) as client:
        assert client.get("/api/v1/me").json() == {"name": None, "role": "reader"}
        assert client.get("/api/v1/me", token).json() == {"name": "앤", "role": "runner"}


def test_pages_of_a_team_say_so(team: Team) -> None:
    with client_of(team) as client:
        for path in (
            "/",
            "/evaluations",
            "/evaluations/new",
            "/evaluations/7",
            "/datasets",
            "/datasets/d",
            "/models",
            "/api",
        ):
            answer = client.get(path)
            assert answer.status == 200
            assert 'data-team="yes"' in answer.text, path
            assert 'href="/evaluations"' in answer.text


def test_pages_of_other_sites_start_nothing(team: Team) -> None:
    token = f"Bearer {team.tokens.add('ann', Role.OWNER)}"
    with client_of(team) as client:
        headers = {"authorization": token, "origin": "http://evil.example"}
        assert client.post("/api/v1/models", {"name": "m", "spec": "mock"}, headers).status == 403
        assert team.models.every() == []


def test_the_queue_takes_so_many_and_no_more(team: Team) -> None:
    for _ in range(2):
        team.queue.submit(JobRequest("m", ("d",), {}, b"{}", "d-m", "ann"))
    team.datasets.add(RegisteredDataset("d", "d.csv", "table", Provenance.UPLOAD))
    with pytest.raises(UsageError) as caught:
        submit(team, EvaluationRequest("mock", ("d",)), Bearer("ann", Role.OWNER))
    assert caught.value.problems[0].code == "TEAM-063"


def test_what_takes_too_long_to_check_is_reported(workdir: Path) -> None:
    settings = msgspec.structs.replace(TeamSettings(home=str(workdir)), check_s=0.001)
    with open_team(settings) as team, pytest.raises(UsageError) as caught:
        team.asker.ask(TryModel(RunSettings(model="mock")))
    assert caught.value.problems[0].code == "TEAM-062"


def test_a_team_that_is_closed_asks_nothing(team: Team) -> None:
    team.asker.end()
    with pytest.raises(UsageError) as caught:
        team.asker.ask(TryModel(RunSettings(model="mock")))
    assert caught.value.problems[0].code == "TEAM-062"


def test_an_owner_who_mistypes_a_model_is_reported_its_name(team: Team) -> None:
    team.models.add(RegisteredModel("quick", "mock"))
    owner = Bearer("ola", Role.OWNER)
    with pytest.raises(StoreError) as caught:
        submit(team, EvaluationRequest("quik", ("d",)), owner)
    assert caught.value.problems[0].code == "TEAM-031"
    assert "did you mean 'quick'" in str(caught.value)
    # With a colon it is what `--model` takes.
    with pytest.raises(StoreError, match="TEAM-041"):
        submit(team, EvaluationRequest("opneai:x@http://127.0.0.1:9/v1", ("d",)), owner)


def test_a_token_is_made_where_the_command_says(workdir: Path) -> None:
    made = assay("serve", "token", "add", "ann", "--role", "runner", "--home", "elsewhere")
    assert made.status == 0
    assert "ann  runner" in assay("serve", "token", "list", "--home", "elsewhere").out
    assert "ann  runner" in assay("serve", "--home", "elsewhere", "token", "list").out
    assert assay("serve", "token", "list").out == ""


@pytest.mark.parametrize("path", ["/api/v1/models", "/api/v1/evaluations"])
def test_a_body_of_brackets_within_brackets_is_malformed(team: Team, path: str) -> None:
    token = {"authorization": f"Bearer {team.tokens.add('ola', Role.OWNER)}"}
    with client_of(team) as client:
        for body in (
            b"[" * 200_000,
            b'{"a":' * 200_000,
            b'{"name": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        ):
            answer = client.post(path, body, token)
            assert (answer.status, answer.json()["code"]) in ((400, "WEB-018"), (413, "WEB-017")), path
        assert client.get("/api/v1/models").status == 200


def test_slow_work_is_bounded_and_others_are_sent_away() -> None:
    async def many() -> list[object]:
        slow = SlowWork()
        return await asyncio.gather(*(slow.run(lambda: 1) for _ in range(40)), return_exceptions=True)

    results = asyncio.run(many())
    away = [one for one in results if isinstance(one, UsageError)]
    assert results.count(1) == 32
    assert {one.problems[0].code for one in away} == {"TEAM-065"}
    assert len(away) == 8


def test_a_failed_evaluation_tells_why_without_places_of_the_server(team: Team) -> None:
    team.queue.submit(JobRequest("m", ("d",), {"shots": 5}, b"{}", "d-m", "ann"))
    claim = team.queue.claim("w")
    assert claim is not None
    problem = Problem("TABLE-011", "found 'E'", "correct it", Origin("/srv/secret/d.csv", 3))
    team.queue.finish(claim, JobState.FAILED, [problem])
    with client_of(team) as client:
        (reported,) = client.get("/api/v1/evaluations/1").json()["problems"]
    assert reported == {
        "code": "TABLE-011",
        "what": "found 'E'",
        "fix": "correct it",
        "where": {"file": "d.csv", "row": 3},
    }


def test_a_plan_of_another_version_is_reported_and_the_worker_continues(team: Team) -> None:
    for _ in range(2):
        team.queue.submit(JobRequest("m", ("d",), {}, b'{"plan": "of old"}', "d-m", "ann"))
    worker = Worker(team.settings, "w", team.queue)
    ending = threading.Event()
    threading.Thread(target=worker.work, args=(ending,), daemon=True).start()
    jobs = eventually(
        lambda: team.queue.jobs([JobState.FAILED]) if team.queue.count([JobState.FAILED]) == 2 else None
    )
    ending.set()
    assert [job.problems[0].code for job in jobs] == ["TEAM-013", "TEAM-013"]


def test_who_asks_while_the_database_is_away_is_reported_so(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: str) -> Bearer:
        raise StoreError(Problem("STORE-023", "away", "wait"))

    monkeypatch.setattr(team.tokens, "bearer", away)
    with client_of(team) as client:
        answer = client.get("/api/v1/evaluations", {"authorization": "Bearer any"})
    assert (answer.status, answer.json()["code"]) == (503, "STORE-023")


def test_an_evaluation_whose_folder_is_still_written_stays(team: Team, workdir: Path) -> None:
    job = team.queue.submit(JobRequest("m", ("d",), {}, b"{}", "d-m", "ann"))
    folder = run_folder(team, job)
    folder.path.mkdir(parents=True)
    folder.lock()
    by = Bearer("ann", Role.RUNNER)
    with pytest.raises(StoreError):
        delete(team, job.id, by)
    assert team.queue.get(job.id).state is JobState.QUEUED
    folder.release()
    delete(team, job.id, by)
    assert not folder.path.exists()
    assert team.queue.jobs() == []


def test_of_two_servers_that_start_together_one_makes_the_owners_token(
    team: Team, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Both have looked before either made one.
    monkeypatch.setattr(team.tokens, "every", list)
    for _ in range(2):
        print_first_token(team)
    assert capsys.readouterr().out.count("shown only once") == 1


class _OftenAway(JobQueue):
    """A queue whose database is away now and then."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.n_claims_lost = self.n_reports_lost = 2

    def claim(self, worker: str, *, lease_s: float = LEASE_S) -> Claim | None:
        if self.n_claims_lost:
            self.n_claims_lost -= 1
            raise StoreError(Problem("STORE-023", "away", "wait"))
        return super().claim(worker, lease_s=lease_s)

    def report(self, *args: Any, **named: Any) -> JobState:
        if self.n_reports_lost:
            self.n_reports_lost -= 1
            raise StoreError(Problem("STORE-023", "away", "wait"))
        return super().report(*args, **named)


def test_a_database_that_is_away_for_a_while_costs_no_evaluation(
    team: Team, workdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_AWAY_S", 0.1)
    path = workdir / "sums.csv"
    path.write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n")
    team.datasets.add(RegisteredDataset("sums", str(path), "table", Provenance.UPLOAD))
    team.models.add(RegisteredModel("slow", "mock", {"delay_ms": "1500"}))
    submit(team, EvaluationRequest("slow", ("sums",)), Bearer("ann", Role.RUNNER))
    queue, ending = _OftenAway(team.database), threading.Event()
    working = threading.Thread(target=Worker(team.settings, "w", queue).work, args=(ending,), daemon=True)
    working.start()
    job = eventually(lambda: team.queue.get(1) if team.queue.get(1).has_ended else None, within_s=60)
    ending.set()
    working.join()
    assert (queue.n_claims_lost, queue.n_reports_lost) == (0, 0)
    assert (job.state, job.attempt) == (JobState.COMPLETE, 1)


def test_the_words_below_fields_are_read() -> None:
    words = read_field_docs(EvaluationSettings)
    assert words["shots"] == "Solved examples before each question."
    assert "temperature" not in words


def test_who_watches_an_evaluation_that_is_deleted_is_reported(team: Team) -> None:
    job = team.queue.submit(JobRequest("m", ("d",), {}, b"{}", "d-m", "ann"))
    watch = _Watch(team, job.id, 0)
    first = watch.look()
    assert first.message is not None
    assert b"event: progress" in first.message
    assert not first.is_last
    assert watch.look() == StreamUpdate(None, is_last=False)
    team.queue.stop(job.id)
    team.queue.delete(job.id)
    assert watch.look() == StreamUpdate(GONE, is_last=True)
