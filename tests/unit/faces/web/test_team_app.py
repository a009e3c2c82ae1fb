"""The API inside this process: what needs no evaluation to be done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.app.team.evaluations import EvaluationRequest, submit
from assay.app.team.messages import TryModel
from assay.app.team.plan import AskedSettings
from assay.app.team.settings import TeamSettings, team_settings
from assay.app.team.team import Team, open_team
from assay.app.team.worker import Worker
from assay.core.errors import Problem, UsageError
from assay.core.origin import Origin
from assay.core.roles import Bearer, Role
from assay.faces.web.api.document import field_words
from assay.faces.web.api.slow_work import SlowWork
from assay.faces.web.serve import ServeSettings, TeamServer
from assay.ledger.datasets import Dataset, Provenance
from assay.ledger.jobs import JobRequest, JobState
from fakes.asgi_client import AsgiClient
from fakes.team_server import eventually


@pytest.fixture
def team(workdir: Path) -> Iterator[Team]:
    with open_team(team_settings({"workers": 0, "max_waiting": 2}, workdir)) as opened:
        yield opened


def client_of(team: Team, host: str = "127.0.0.1") -> AsgiClient:
    server = TeamServer(team, ServeSettings(host, 0))
    server.close()
    return AsgiClient(server.app, f"127.0.0.1:{server.port}")


def test_on_this_machine_anybody_looks_and_nobody_changes_anything(team: Team) -> None:
    with client_of(team) as client:
        assert client.get("/api/v1/evaluations").json() == []
        assert client.post("/api/v1/models", {"name": "m", "spec": "mock"}).status == 403


def test_beyond_this_machine_everything_needs_a_token(team: Team) -> None:
    token = {"authorization": f"Bearer {team.tokens.add('ann', Role.READER)}"}
    with client_of(team, "0.0.0.0") as client:
        for path in ("/api/v1/evaluations", "/api/v1/openapi.json", "/data/runs", "/api/v1/leaderboard"):
            assert client.get(path).status == 401, path
            assert client.get(path, token).status == 200, path


def test_a_visitor_is_told_who_they_are(team: Team) -> None:
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
    team.datasets.add(Dataset("d", "d.csv", "table", Provenance.UPLOAD))
    with pytest.raises(UsageError) as caught:
        submit(team, EvaluationRequest("mock", ("d",)), Bearer("ann", Role.OWNER))
    assert caught.value.problems[0].code == "TEAM-063"


def test_what_takes_too_long_to_check_is_told(workdir: Path) -> None:
    settings = msgspec.structs.replace(TeamSettings(home=str(workdir)), check_s=0.001)
    with open_team(settings) as team, pytest.raises(UsageError) as caught:
        team.asker.ask(TryModel("mock", {}))
    assert caught.value.problems[0].code == "TEAM-062"


def test_a_team_that_is_closed_asks_nothing(team: Team) -> None:
    team.asker.end()
    with pytest.raises(UsageError) as caught:
        team.asker.ask(TryModel("mock", {}))
    assert caught.value.problems[0].code == "TEAM-062"


def test_slow_work_is_bounded_and_others_are_sent_away() -> None:
    async def many() -> list[object]:
        slow = SlowWork()
        return await asyncio.gather(*(slow.done(lambda: 1) for _ in range(40)), return_exceptions=True)

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
        (told,) = client.get("/api/v1/evaluations/1").json()["problems"]
    assert told == {
        "code": "TABLE-011",
        "what": "found 'E'",
        "fix": "correct it",
        "where": {"file": "d.csv", "row": 3},
    }


def test_a_plan_of_another_version_is_told_and_the_worker_goes_on(team: Team) -> None:
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


def test_the_words_below_fields_are_read() -> None:
    words = field_words(AskedSettings)
    assert words["shots"] == "Solved examples before each question."
    assert "temperature" not in words
