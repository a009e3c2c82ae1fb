"""Roles, streams and slow bodies: what a team's routers get from the application they are mounted in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from litestar import get, post
from litestar.exceptions import InternalServerException
from litestar.params import FromPath, JSONBody

from assay.core.errors import BackendError, Problem, StoreError, UsageError
from assay.core.origin import Origin
from assay.core.roles import Bearer, Role
from assay.faces.web import events
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.error_responses import HttpError
from assay.faces.web.events import Streams
from assay.faces.web.security import sessions as sessions_module
from assay.faces.web.security.access import PUBLIC, require_role
from assay.faces.web.security.gate import Bounds
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions, accept_one_token
from fakes.asgi_client import AsgiClient

BEARERS = {f"token-of-a-{role}": Bearer("ann", role) for role in Role}
ERRORS = {"usage": UsageError, "store": StoreError, "backend": BackendError}


@get("/read")
async def read() -> str:
    return "read"


@post("/start", guards=[require_role(Role.RUNNER)])
async def start(data: JSONBody[dict[str, int]]) -> str:
    return str(sum(data.values()))


@post("/remove", guards=[require_role(Role.OWNER)])
async def remove() -> str:
    return "removed"


@get("/open", opt=PUBLIC)
async def opened() -> str:
    return "open"


@get("/raise/{kind:str}", opt=PUBLIC)
async def raising(kind: FromPath[str]) -> str:
    problem = Problem("TABLE-001", "what is wrong", "how to fix it", Origin("/home/someone/private.csv", 3))
    raise ERRORS[kind](problem)


@get("/fault", opt=PUBLIC)
async def faulty() -> str:
    raise InternalServerException("the password is x")


@pytest.fixture
def client() -> Iterator[AsgiClient]:
    settings = WebSettings(Hosts("127.0.0.1", 80), Sessions(BEARERS.get, "assay"), None, Bounds(body_s=0.05))
    with AsgiClient(
        make_app(settings, [read, start, remove, opened, raising, faulty]), "127.0.0.1"
    ) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/read", {"reader", "runner", "owner"}), ("/start", {"runner", "owner"}), ("/remove", {"owner"})],
)
def test_each_role_may_what_it_may(client: AsgiClient, path: str, allowed: set[str]) -> None:
    for token, bearer in BEARERS.items():
        headers = {"authorization": f"Bearer {token}"}
        answer = client.get(path, headers) if path == "/read" else client.post(path, {"a": 1}, headers)
        if bearer.role in allowed:
            assert answer.status in (200, 201)
        else:
            assert (answer.status, answer.json()["code"]) == (403, "WEB-013")
    answer = client.get(path) if path == "/read" else client.post(path, {"a": 1})
    assert (answer.status, answer.json()["code"]) == (401, "WEB-012")
    assert client.get("/open").body == b"open"


FORM = {"content-type": "multipart/form-data; boundary=x"}


def test_a_form_without_a_token_needs_one(client: AsgiClient) -> None:
    answer = client.post("/remove", b"--x--", FORM)
    assert (answer.status, answer.json()["code"]) == (401, "WEB-012")
    assert (
        client.post("/remove", b"--x--", {**FORM, "authorization": "Bearer token-of-a-owner"}).status == 201
    )


def test_a_form_without_origin_does_nothing_for_whoever_is_signed_in(client: AsgiClient) -> None:
    """Another site may have sent it: an old browser adds the cookie and no origin."""
    assert client.get("/open?token=token-of-a-owner").status == 303
    assert client.post("/remove", {}).status == 201
    answer = client.post("/remove", b"--x--", FORM)
    assert (answer.status, answer.json()["code"]) == (403, "WEB-011")


@pytest.mark.parametrize("role", Role)
def test_what_anybody_may_do_no_form_without_origin_does(role: Role) -> None:
    settings = WebSettings(Hosts("127.0.0.1", 80), Sessions(BEARERS.get, "assay"), role)
    with AsgiClient(make_app(settings, [remove]), "127.0.0.1") as anybody:
        answer = anybody.post("/remove", b"--x--", FORM)
    assert (answer.status, answer.json()["code"]) == (401, "WEB-012")


@pytest.mark.parametrize(("kind", "status"), [("usage", 400), ("store", 409), ("backend", 502)])
def test_an_error_of_the_house_is_reported_without_its_place(
    client: AsgiClient, kind: str, status: int
) -> None:
    answer = client.get(f"/raise/{kind}")
    assert answer.status == status
    assert answer.json() == {"code": "TABLE-001", "what": "what is wrong", "fix": "how to fix it"}


def test_a_fault_of_the_server_is_called_so_and_no_more(client: AsgiClient) -> None:
    answer = client.get("/fault")
    assert (answer.status, answer.json()["code"]) == (500, "WEB-020")
    assert "password" not in answer.text


def test_a_body_that_does_not_come_is_not_waited_for(client: AsgiClient) -> None:
    answer = client.ask(
        "POST",
        "/start",
        {"authorization": "Bearer token-of-a-owner", "content-type": "application/json"},
        [b'{"a":', AsgiClient.NEVER],
    )
    assert (answer.status, answer.json()["code"]) == (408, "WEB-015")


def test_a_body_of_the_wrong_kind_is_reported(client: AsgiClient) -> None:
    headers = {"authorization": "Bearer token-of-a-owner"}
    for body in (b"{", b"[]", b'{"a": "x"}', b"\xff"):
        answer = client.post("/start", body, headers)
        assert (answer.status, answer.json()["code"]) == (400, "WEB-018")


def test_a_token_that_is_taken_back_is_rejected_soon() -> None:
    clock = [0.0]
    owner, reader = Bearer("ann", Role.OWNER), Bearer("ann", Role.READER)
    known = {"t": owner}
    sessions = Sessions(known.get, "assay", clock=lambda: clock[0])

    async def look() -> None:
        cookie = await sessions.begin("t")
        assert cookie is not None
        session = cookie.partition(";")[0]
        assert await sessions.bearer_in(f"other=1; {session}") is owner
        known.clear()
        clock[0] = 4.0
        assert await sessions.bearer_in(session) is owner
        clock[0] = 6.0
        assert await sessions.bearer_in(session) is None
        known["t"] = reader
        assert await sessions.bearer_of("t") is reader
        clock[0] = 8 * 24 * 3600.0
        assert await sessions.bearer_in(session) is None

    asyncio.run(look())


def test_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "_AT_MOST", 10)
    sessions = Sessions(accept_one_token("the-token", Role.READER), "assay")

    async def look() -> None:
        cookies = [await sessions.begin("the-token") for _ in range(30)]
        bearers = [await sessions.bearer_in(str(cookie).partition(";")[0]) for cookie in cookies]
        assert bearers == [None] * 20 + [Bearer("visitor", Role.READER)] * 10
        for nth in range(30):
            assert await sessions.bearer_of(f"guess {nth}") is None
        assert len(sessions._known) == 1

    asyncio.run(look())


def test_no_more_streams_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MOST", 2)
    streams = Streams()

    async def look() -> None:
        opened = [streams.open(lambda: 1) for _ in range(2)]
        begun = [aiter(one.iterator) for one in opened]  # type: ignore[arg-type]
        for one in begun:
            assert await anext(one) == b"retry: 2000\n\n"
        with pytest.raises(HttpError) as refused:
            streams.open(lambda: 1)
        assert refused.value.problem.code == "WEB-019"
        streams.end()
        for one in begun:
            assert [event async for event in one] == []
        streams.open(lambda: 1)

    asyncio.run(look())
