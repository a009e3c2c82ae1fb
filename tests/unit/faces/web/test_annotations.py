"""The routes of tags and notes: rights, other sites, limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.app.annotations import RunAnnotations
from assay.app.viewed_runs import ViewedRuns
from assay.core.roles import Bearer, Role
from assay.faces.web.annotations import annotations_router
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.open_runs import RunCache
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions
from fakes.asgi_client import Answer, AsgiClient

PORT = 8421
TOKENS = {"a-readers-token-1": Bearer("rene", Role.READER), "a-runners-token-1": Bearer("rita", Role.RUNNER)}
PLACE = "/data/runs/one/annotations"


@pytest.fixture
def client(runs: Path) -> Iterator[AsgiClient]:
    sessions = Sessions(TOKENS.get, "assay_8421")
    store = RunAnnotations()
    app = make_app(
        WebSettings(Hosts("127.0.0.1", PORT), sessions, Role.READER),
        [annotations_router(RunCache(ViewedRuns([runs])), store)],
    )
    with AsgiClient(app, f"127.0.0.1:{PORT}") as client:
        yield client
    store.close()


def change(client: AsgiClient, body: bytes, headers: dict[str, str], place: str = PLACE) -> Answer:
    return client.ask("PUT", place, tuple(headers.items()), [body])


def headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}", "content-type": "application/json"}


def test_a_runner_writes_and_a_reader_reads(client: AsgiClient) -> None:
    body = b'{"task": "quiz", "sample": "s1", "tags": ["odd"], "note": "why?"}'
    answer = change(client, body, headers("a-runners-token-1"))
    assert (answer.status, answer.json()["author"]) == (200, "rita")
    assert change(client, b'{"tags": ["baseline"]}', headers("a-runners-token-1")).status == 200
    assert [one["tags"] for one in client.get(PLACE).json()] == [["baseline"], ["odd"]]
    assert client.get("/data/annotations").json()["one"]["tags"] == ["baseline"]
    assert change(client, b'{"tags": []}', headers("a-runners-token-1")).status == 200
    assert client.get("/data/annotations").json() == {}


def test_a_reader_and_a_visitor_may_not_write(client: AsgiClient) -> None:
    assert change(client, b'{"tags": ["a"]}', headers("a-readers-token-1")).status == 403
    assert change(client, b'{"tags": ["a"]}', {"content-type": "application/json"}).status == 401
    assert client.get(PLACE).json() == []


def test_another_site_may_not_write(client: AsgiClient) -> None:
    also = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    assert change(client, b'{"tags": ["a"]}', {**headers("a-runners-token-1"), **also}).status == 403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"tags": ["a,b"]}', "STORE-025"),
        (b'{"tags": "a"}', "WEB-018"),
        (b'{"tag": ["a"]}', "WEB-018"),
        (b'{"note": "' + b"x" * 10_001 + b'"}', "WEB-018"),
        (b"[", "WEB-018"),
    ],
)
def test_a_wrong_body_is_an_error(client: AsgiClient, body: bytes, code: str) -> None:
    answer = change(client, body, headers("a-runners-token-1"))
    assert (answer.status, answer.json()["code"]) == (400, code)


def test_an_unknown_run_has_no_notes(client: AsgiClient) -> None:
    assert client.get("/data/runs/none/annotations").status == 404
    assert (
        change(client, b'{"tags": ["a"]}', headers("a-runners-token-1"), "/data/runs/none/annotations").status
        == 404
    )
