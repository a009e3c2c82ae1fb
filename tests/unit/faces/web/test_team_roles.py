"""Every request of the API by every kind of visitor, in one table. A route without a row fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay.app.team.settings import resolve_team_settings
from assay.app.team.team import Team, open_team
from assay.core.roles import Role
from assay.core.team import Provenance, RegisteredDataset, RegisteredModel
from assay.faces.web.serve import ServeSettings, TeamServer
from assay.ledger.jobs import JobRequest
from fakes.asgi_client import Answer, AsgiClient

_CSV = "question,A,B,answer\n1+1=,1,2,B\n"
_FORM = (
    '--limit\r\nContent-Disposition: form-data; name="name"\r\n\r\nnew\r\n'
    f'--limit\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n{_CSV}\r\n--limit--\r\n'
).encode()
_VISITORS = ("stranger", "forger", "neighbour", "reader", "runner", "other runner", "owner")
"""Who comes from elsewhere without a token; with a wrong one; who is on the machine and has none; and tokens
of every role. The evaluation that is asked about is the runner's and not the other runner's."""


class Row(NamedTuple):
    """What the visitors are answered; a stranger and a forger always 401."""

    neighbour: int
    reader: int
    runner: int
    other: int
    owner: int


_LOOK = Row(200, 200, 200, 200, 200)
_START = Row(401, 403, 201, 201, 201)
_CHANGE_OWN = Row(401, 403, 200, 403, 200)
_DELETE_OWN = Row(401, 403, 204, 403, 204)
_OWN = Row(401, 403, 403, 403, 200)
_ADD = Row(401, 403, 403, 403, 201)
_DELETE = Row(401, 403, 403, 403, 204)
_UPLOAD = Row(401, 403, 403, 403, 201)
"""Without a token, a form may come from a page of another site."""

_TABLE = {
    ("GET", "/datasets"): _LOOK,
    ("POST", "/datasets"): _UPLOAD,
    ("GET", "/datasets/{name}"): _LOOK,
    ("DELETE", "/datasets/{name}"): _DELETE,
    ("GET", "/models"): _LOOK,
    ("POST", "/models"): _ADD,
    ("GET", "/models/{name}"): _LOOK,
    ("DELETE", "/models/{name}"): _DELETE,
    ("GET", "/evaluations"): _LOOK,
    ("POST", "/evaluations"): _START,
    ("GET", "/evaluations/events"): _LOOK,
    ("GET", "/evaluations/{number}"): _LOOK,
    ("DELETE", "/evaluations/{number}"): _DELETE_OWN,
    ("GET", "/evaluations/{number}/events"): _LOOK,
    ("GET", "/evaluations/{number}/results"): _LOOK,
    ("POST", "/evaluations/{number}/stop"): _CHANGE_OWN,
    ("POST", "/evaluations/{number}/resume"): _CHANGE_OWN,
    ("GET", "/leaderboard"): _LOOK,
    ("GET", "/leaderboard/{form}"): _LOOK,
    ("GET", "/tokens"): _OWN,
    ("GET", "/me"): _LOOK,
}
_BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/datasets"): _FORM,
    ("POST", "/models"): {"name": "new", "spec": "mock"},
    ("POST", "/evaluations"): {"model": "quick", "datasets": ["mine"]},
}


@pytest.fixture
def team(workdir: Path) -> Iterator[Team]:
    with open_team(resolve_team_settings({"workers": 0}, workdir)) as opened:
        opened.models.add(RegisteredModel("quick", "mock"))
        (workdir / "mine.csv").write_text(_CSV)
        folder = Path(opened.settings.uploads) / "mine-1"
        folder.mkdir(parents=True)
        (folder / "mine.csv").write_text(_CSV)
        opened.datasets.add(RegisteredDataset("mine", str(folder / "mine.csv"), "table", Provenance.UPLOAD))
        yield opened


def visit(team: Team, visitor: str, method: str, path: str, body: Any) -> Answer:
    """Send a request as a visitor."""
    is_local = visitor not in ("stranger", "forger")
    server = TeamServer(team, ServeSettings("127.0.0.1" if is_local else "0.0.0.0", 0))
    server.close()
    headers = {}
    if visitor == "forger":
        headers["authorization"] = "Bearer assay_00000000_forged"
    elif visitor not in ("stranger", "neighbour"):
        role = Role(visitor.removeprefix("other "))
        headers["authorization"] = f"Bearer {team.tokens.add(visitor, role)}"
    if isinstance(body, bytes):
        headers["content-type"] = "multipart/form-data; boundary=limit"
    with AsgiClient(server.app, f"127.0.0.1:{server.port}") as client:
        client.hangs_up = path.endswith("/events")
        if method == "POST" and body is not None:
            return client.post(f"/api/v1{path}", body, headers)
        return client.ask(method, f"/api/v1{path}", headers)


def an_evaluation(team: Team, *, waits: bool) -> int:
    number = team.queue.submit(JobRequest("quick", ("other",), {}, b"{}", "other-quick", "runner")).id
    if not waits:
        team.queue.stop(number)
    return number


@pytest.mark.parametrize("visitor", _VISITORS)
@pytest.mark.parametrize(("method", "path"), _TABLE)
def test_who_may_do_what(team: Team, method: str, path: str, visitor: str) -> None:
    number = an_evaluation(team, waits=path.endswith("/stop"))
    before = (team.queue.get(number), team.models.every(), team.datasets.every())

    names = {"{number}": str(number), "{form}": "csv", "{name}": "quick" if "models" in path else "mine"}
    place = path
    for hole, name in names.items():
        place = place.replace(hole, name)
    answer = visit(team, visitor, method, place, _BODIES.get((method, path)))
    row = (401, 401, *_TABLE[method, path])
    assert answer.status == row[_VISITORS.index(visitor)], answer
    if answer.status in (401, 403):
        assert set(answer.json()) == {"code", "what", "fix"}
        assert (team.queue.get(number), team.models.every(), team.datasets.every()) == before
        assert len(team.queue.jobs()) == 1


def test_every_route_has_a_row(team: Team) -> None:
    document = visit(team, "owner", "GET", "/openapi.json", None).json()
    routes = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, item in document["paths"].items()
        for method in item
    }
    assert routes == set(_TABLE)
