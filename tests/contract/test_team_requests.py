"""Strange requests to a team's API, on every database: each is refused, none is the server's own fault."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.app.team.settings import resolve_team_settings
from assay.app.team.team import Team, open_team
from assay.core.roles import Role
from assay.faces.web.serve import ServeSettings, TeamServer
from assay.ledger.jobs import JobRequest
from fakes.asgi_client import AsgiClient

_CSV = "question,A,B,answer\n1+1=,1,2,B\n"


@pytest.fixture
def team(workdir: Path, database_place: str) -> Iterator[Team]:
    with open_team(resolve_team_settings({"workers": 0, "database": database_place}, workdir)) as opened:
        yield opened


@pytest.fixture
def client(team: Team) -> Iterator[AsgiClient]:
    server = TeamServer(team, ServeSettings("127.0.0.1", 0))
    server.close()
    with AsgiClient(server.app, f"127.0.0.1:{server.port}") as opened:
        yield opened


@pytest.fixture
def owner(team: Team) -> dict[str, str]:
    return {"authorization": f"Bearer {team.tokens.add('ann', Role.OWNER)}"}


def an_evaluation(team: Team) -> int:
    return team.queue.submit(JobRequest("m", ("d",), {}, b"{}", "d-m", "ann")).id


def form(**parts: str) -> bytes:
    lines = [
        f'--limit\r\nContent-Disposition: form-data; name="{name}"'
        + ('; filename="a.csv"' if name == "file" else "")
        + f"\r\n\r\n{value}\r\n"
        for name, value in parts.items()
    ]
    return "".join([*lines, "--limit--\r\n"]).encode()


@pytest.mark.parametrize("number", [2**31, 2**63, 10**30, -(2**40)])
@pytest.mark.parametrize("rest", ["", "/results", "/events"])
def test_a_number_that_no_evaluation_can_have_is_not_found(
    client: AsgiClient, number: int, rest: str
) -> None:
    assert client.get(f"/api/v1/evaluations/{number}{rest}").json()["code"] == "TEAM-001"


def test_such_a_number_is_not_found_by_who_would_change_it(client: AsgiClient, owner: dict[str, str]) -> None:
    for method, rest in (("POST", "/stop"), ("POST", "/resume"), ("DELETE", "")):
        assert client.ask(method, f"/api/v1/evaluations/{2**40}{rest}", owner).status == 404


def test_a_page_before_no_number_is_rejected(client: AsgiClient, team: Team) -> None:
    number = an_evaluation(team)
    assert client.get(f"/api/v1/evaluations?before={2**31}").status == 400
    assert client.get(f"/api/v1/evaluations?before={number}").json() == []
    assert len(client.get(f"/api/v1/evaluations?before={2**31 - 1}").json()) == 1


def test_a_text_that_a_database_cannot_keep_is_rejected_everywhere(
    client: AsgiClient, owner: dict[str, str], team: Team
) -> None:
    model = {"name": "quick", "spec": "mock", "description": "a\0b"}
    assert client.post("/api/v1/models", model, owner).status == 400
    assert client.post("/api/v1/models", model | {"description": "x" * 5000}, owner).status == 400
    named = {"model": "openai:q\0@http://127.0.0.1:9/v1", "datasets": ["sums"]}
    assert client.post("/api/v1/evaluations", named, owner).status == 400
    headers = owner | {"content-type": "multipart/form-data; boundary=limit"}
    for part in ("explanation", "abilities", "headline"):
        body = form(file=_CSV, name="sums", **{part: "a\0b"})
        assert client.post("/api/v1/datasets", body, headers).status == 400
    assert (team.models.every(), team.datasets.every(), team.queue.jobs()) == ([], [], [])


@pytest.mark.parametrize("kind", ["", "\r\nContent-Type: text/plain; charset=nobodys"])
def test_a_part_of_a_form_that_is_no_text_is_rejected(
    client: AsgiClient, owner: dict[str, str], team: Team, kind: str
) -> None:
    headers = owner | {"content-type": "multipart/form-data; boundary=limit"}
    head = f'--limit\r\nContent-Disposition: form-data; name="explanation"{kind}\r\n\r\n'.encode()
    answer = client.post("/api/v1/datasets", head + b"\x89PNG\r\n" + form(file=_CSV, name="sums"), headers)
    assert (answer.status, answer.json()["code"]) == (400, "WEB-018")
    assert team.datasets.every() == []


def test_an_upload_that_finds_no_room_is_rejected_and_leaves_nothing(
    client: AsgiClient, owner: dict[str, str], team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    headers = owner | {"content-type": "multipart/form-data; boundary=limit"}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        answer = client.post("/api/v1/datasets", form(file=_CSV, name="sums"), headers)
    assert (answer.status, answer.json()["code"]) == (503, "STORE-009")
    assert str(team.settings.home) not in answer.text
    assert list(team.settings.uploads.iterdir()) == []
    assert client.post("/api/v1/datasets", form(file=_CSV, name="sums"), headers).status == 201


def test_a_name_is_as_long_as_a_file_may_be_called(
    client: AsgiClient, owner: dict[str, str], team: Team
) -> None:
    headers = owner | {"content-type": "multipart/form-data; boundary=limit"}
    longest = "가" * 66
    for name, status in ((longest, 201), (longest + "가", 409), ("a" * 100, 201), ("a" * 101, 400)):
        assert client.post("/api/v1/datasets", form(file=_CSV, name=name), headers).status == status
    assert {one.name for one in team.datasets.every()} == {longest, "a" * 100}
