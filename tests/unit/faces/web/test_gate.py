"""Requests that the gate rejects, and requests that it accepts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from litestar.types import HTTPReceiveMessage

from assay.core.roles import Role
from assay.faces.web.error_responses import HttpError
from assay.faces.web.security import gate
from assay.faces.web.security.gate import POLICY, Bounds
from fakes.asgi_client import Answer
from fakes.asgi_client import AsgiClient as Client

Viewer = Callable[..., Client]
HOST = "127.0.0.1:8421"
HOME = f"http://{HOST}"


def code(answer: Answer) -> str:
    """Return the code of a refusal, whose shape is always the same."""
    body = answer.json()
    assert set(body) == {"code", "what", "fix"}
    return str(body["code"])


def test_every_answer_has_the_headers(client: Client) -> None:
    for path in ("/", "/data/runs", "/data/runs/one", "/assets/app.js", "/assets/app.css", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"]
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
    assert client.get("/", headers={"host": "evil.example"}).headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("host", [HOST, "localhost:8421", "LOCALHOST:8421", "[::1]:8421", "localhost.:8421"])
def test_own_names_are_answered(client: Client, host: str) -> None:
    assert client.get("/data/runs", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8421",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:84210",
        "localhost:8421@evil.example",
        "127.0.0.1.evil.example:8421",
        "evil.example#localhost:8421",
        "192.168.1.7:8421",
        "0.0.0.0:8421",
        "",
    ],
)
def test_other_names_are_not(client: Client, host: str) -> None:
    answer = client.get("/data/runs", headers={"host": host})
    assert (answer.status, code(answer)) == (421, "WEB-010")


OWN = ("localhost:8421", "127.0.0.1:8421", "[::1]:8421")


@given(host=st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_no_invented_host_gets_through(client: Client, host: str) -> None:
    answer = client.get("/data/runs", headers={"host": host.encode("latin-1")})
    is_own = host.strip().lower() in OWN or host.strip().lower().replace(".:", ":") in OWN
    assert answer.status == (200 if is_own else 421)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:9999",
        "https://evil.example:8421",
        f"{HOME}.evil",
        "file://",
    ],
)
@pytest.mark.parametrize("path", ["/", "/data/runs", "/assets/app.js"])
def test_other_origins_are_rejected_also_when_they_only_read(client: Client, origin: str, path: str) -> None:
    answer = client.get(path, headers={"origin": origin})
    assert (answer.status, code(answer)) == (403, "WEB-011")


@given(origin=st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), min_size=1, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_no_invented_origin_gets_through(client: Client, origin: str) -> None:
    answer = client.get("/data/runs", headers={"origin": origin.encode("latin-1")})
    assert answer.status == (200 if origin.strip().lower() in (HOME, f"https://{HOST}") else 403)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
@pytest.mark.parametrize(
    ("mode", "dest"), [("no-cors", "script"), ("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")]
)
def test_other_sites_may_not_include_anything(client: Client, site: str, mode: str, dest: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    for path in ("/", "/data/runs", "/assets/app.js"):
        assert code(client.get(path, headers=headers)) == "WEB-011"


def test_a_link_on_another_site_opens_a_page_and_no_data(client: Client) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/runs/one", headers=headers).status == 200
    assert code(client.get("/data/runs", headers=headers)) == "WEB-011"
    assert code(client.post("/session", {"token": "x"}, headers)) == "WEB-011"


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_own_pages_and_typed_addresses_are_answered(client: Client, site: str) -> None:
    assert client.get("/data/runs", headers={"sec-fetch-site": site}).status == 200


class TestChanges:
    """Signing in represents all requests that change something."""

    body: ClassVar = {"token": "a-readers-token-1"}

    def test_from_an_own_page(self, client: Client) -> None:
        headers = {"origin": HOME, "sec-fetch-site": "same-origin"}
        assert client.post("/session", self.body, headers=headers).status == 204

    def test_from_a_program(self, client: Client) -> None:
        assert client.post("/session", self.body).status == 204

    def test_a_browser_that_hides_its_origin_is_rejected(self, client: Client) -> None:
        answer = client.post("/session", self.body, headers={"sec-fetch-site": "none"})
        assert code(answer) == "WEB-011"

    @pytest.mark.parametrize(
        "form", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "TEXT/plain"]
    )
    def test_a_form_is_rejected(self, client: Client, form: str) -> None:
        body = b'{"token": "a-readers-token-1"}'
        assert code(client.post("/session", body, {"content-type": form})) == "WEB-011"

    def test_with_a_bearer_token_the_form_does_not_matter(self, client: Client) -> None:
        headers = {"authorization": "Bearer a-readers-token-1", "content-type": "text/plain"}
        assert client.ask("DELETE", "/session", headers).status == 204


@pytest.mark.parametrize(
    "name",
    [
        "host",
        "origin",
        "authorization",
        "content-length",
        "content-type",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
    ],
)
def test_a_header_that_decides_may_not_come_twice(client: Client, name: str) -> None:
    value = {"host": HOST, "origin": HOME, "authorization": "Bearer a-readers-token-1"}.get(name, "0")
    answer = client.get("/data/runs", headers=[(name, value), (name, value)])
    assert (answer.status, code(answer)) == (400, "WEB-018")


def test_a_websocket_is_closed(client: Client) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    asyncio.run(client._app({"type": "websocket", "path": "/data/events", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


class TestTokens:
    @pytest.fixture
    def closed(self, viewer: Viewer) -> Client:
        """A viewer that wants a token."""
        return viewer(without_token=None)

    def test_pages_open_and_tell_nothing(self, closed: Client) -> None:
        for path in ("/", "/runs/one", "/compare", "/assets/app.js"):
            answer = closed.get(path)
            assert answer.status == 200
            assert "quiz" not in answer.text

    @pytest.mark.parametrize(
        "path", ["/data/runs", "/data/runs/one", "/data/events", "/data/runs/one/events"]
    )
    def test_data_needs_one(self, closed: Client, path: str) -> None:
        answer = closed.get(path)
        assert (answer.status, code(answer)) == (401, "WEB-012")
        assert answer.headers["www-authenticate"] == "Bearer"

    @pytest.mark.parametrize(
        "shown",
        [
            "Bearer wrong",
            "Bearer ",
            "Bearer",
            "Basic a-readers-token-1",
            "a-readers-token-1",
            "Bearer a-readers-token-",
        ],
    )
    def test_a_wrong_one_is_rejected_also_where_none_is_needed(
        self, closed: Client, client: Client, shown: str
    ) -> None:
        for asked in (closed, client):
            assert code(asked.get("/data/runs", headers={"authorization": shown})) == "WEB-012"

    def test_a_program_shows_it_in_a_header(self, closed: Client) -> None:
        headers = {"authorization": "bearer a-readers-token-1"}
        assert closed.get("/data/runs", headers=headers).status == 200

    def test_in_an_address_it_becomes_a_cookie_and_leaves_the_address(self, closed: Client) -> None:
        answer = closed.get("/runs/%EB%91%98?a=1%262&token=a-readers-token-1&b=")
        assert answer.status == 303
        assert answer.headers["location"] == "/runs/%EB%91%98?a=1%262&b="
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "a-readers-token-1" not in cookie
        assert closed.get("/data/runs").status == 200

    def test_the_address_never_leads_elsewhere(self, closed: Client) -> None:
        for path in ("//evil.example/x", "/%5C%5Cevil.example/x", "///evil.example/x"):
            answer = closed.get(f"{path}?token=a-readers-token-1")
            assert answer.headers["location"] == "/evil.example/x"

    def test_a_wrong_one_in_an_address_gives_no_cookie(self, closed: Client) -> None:
        answer = closed.get("/?token=wrong")
        assert code(answer) == "WEB-012"
        assert "set-cookie" not in answer.headers
        assert "wrong" not in answer.text

    def test_signing_in_and_out(self, closed: Client) -> None:
        assert code(closed.post("/session", {"token": "wrong"})) == "WEB-012"
        assert closed.post("/session", {"token": "an-owners-token-1"}).status == 204
        assert closed.get("/data/runs").status == 200
        kept = closed.cookies["assay_8421"]
        assert closed.ask("DELETE", "/session").status == 204
        assert closed.get("/data/runs", {"cookie": f"assay_8421={kept}"}).status == 401

    @pytest.mark.parametrize(
        "cookie", ["assay_8421=guess", "assay_8421=", "x=1; assay_8421", '"; ;;=,', "\xff"]
    )
    def test_other_cookies_are_nothing(self, closed: Client, cookie: str) -> None:
        answer = closed.get("/data/runs", headers={"cookie": cookie.encode("latin-1")})
        assert answer.status == 401

    def test_what_is_malformed_is_reported_without_repeating_it(self, closed: Client) -> None:
        answer = closed.post("/session", {"token": "secret-in-a-wrong-field", "more": "secret"})
        assert (answer.status, code(answer)) == (400, "WEB-018")
        assert "secret" not in answer.text


class TestBounds:
    bounds = Bounds(body_bytes=100, uploads=(("/session", 200),), body_s=0.2)

    def test_a_length_beyond_the_bound_is_rejected_unread(self, viewer: Viewer) -> None:
        client = viewer(bounds=self.bounds)
        answer = client.post("/nothing", b"x" * 101)
        assert (answer.status, code(answer)) == (413, "WEB-014")
        answer = client.post("/session", {"token": "a-readers-token-1" + " " * 90})
        assert answer.status == 401
        assert code(client.post("/session", b"x" * 201)) == "WEB-014"

    def test_a_body_as_long_as_the_bound_is_taken(self, viewer: Viewer) -> None:
        assert viewer(bounds=self.bounds).post("/nothing", b"x" * 100).status == 404

    def test_a_body_may_take_as_long_as_its_length_takes_on_a_slow_line(self) -> None:
        bounds = Bounds(body_s=0.2, slowest_bytes_s=1000)

        async def read(piece: bytes) -> int:
            async def receive() -> HTTPReceiveMessage:
                await asyncio.sleep(0.1)
                return {"type": "http.request", "body": piece, "more_body": True}

            bounded = gate._limit_body(receive, 10_000, bounds)
            for _ in range(6):
                await bounded()
            return 6

        assert asyncio.run(read(b"x" * 1000)) == 6
        with pytest.raises(HttpError, match="WEB-015"):
            asyncio.run(read(b"x"))

    @pytest.mark.parametrize("length", ["9" * 40, "-1", "1e3", "", "²"])
    def test_a_length_that_is_none(self, viewer: Viewer, length: str) -> None:
        headers = {"content-length": length.encode("latin-1", "replace")}
        assert client_code(viewer(bounds=self.bounds), headers) in ("WEB-014", "WEB-018")

    def test_a_body_that_does_not_say_its_length_is_counted(self, viewer: Viewer) -> None:
        headers = {"content-type": "application/json"}
        answer = viewer(bounds=self.bounds).ask("POST", "/session", headers, [b" " * 50] * 1000)
        assert (answer.status, code(answer)) == (413, "WEB-014")


def client_code(client: Client, headers: dict[str, bytes]) -> str:
    return code(client.get("/data/runs", headers=headers))


def test_a_role_may_what_lesser_ones_may() -> None:
    assert [[has.may(needed) for needed in Role] for has in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
