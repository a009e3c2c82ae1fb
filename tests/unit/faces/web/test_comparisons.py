"""The data routes of the comparison page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from assay.app.viewed_runs import ViewedRuns
from assay.core.roles import Role
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.comparisons import comparisons_router
from assay.faces.web.open_runs import RunCache
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions
from fakes.asgi_client import AsgiClient
from fakes.run_folders import write_run

PORT = 8421


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "one", ["yes", "no", "yes"])
    write_run(folder / "둘", ["예", "no"], is_right=False)
    return folder


@pytest.fixture
def client(runs: Path) -> Iterator[AsgiClient]:
    settings = WebSettings(Hosts("127.0.0.1", PORT), Sessions(lambda _: None, "assay"), Role.READER)
    app = make_app(settings, [comparisons_router(RunCache(ViewedRuns([runs])))])
    with AsgiClient(app, f"127.0.0.1:{PORT}") as opened:
        yield opened


def test_two_runs_are_compared(client: AsgiClient, runs: Path) -> None:
    answered = client.get("/data/compare?run=one&run=%EB%91%98")
    assert answered.status == 200
    page = msgspec.json.decode(answered.body)
    assert [side["folder"] for side in page["sides"]] == ["one", "둘"]
    assert str(runs) not in answered.body.decode()
    (row,) = page["rows"]
    assert (row["n"], row["difference"], row["fourfold"]["only_a"]) == (2, "-100.0", 2)
    table = msgspec.json.decode(client.get("/data/compare/samples?run=one&run=%EB%91%98").body)
    assert table["ids"] == ["s0", "s1", "s2"]
    assert table["places"] == [[0, 1, 2], [0, 1, -1]]
    assert table["methods"][0]["sides"][1]["outcomes"] == "WW."


def test_a_comparison_is_made_again_when_a_run_changes(client: AsgiClient, runs: Path) -> None:
    first = client.get("/data/compare?run=one&run=%EB%91%98")
    assert client.get("/data/compare?run=one&run=%EB%91%98").headers["etag"] == first.headers["etag"]
    write_run(runs / "둘", ["예", "no", "yes"], is_right=True)
    changed = client.get("/data/compare?run=one&run=%EB%91%98")
    assert changed.headers["etag"] != first.headers["etag"]
    assert msgspec.json.decode(changed.body)["rows"][0]["n"] == 3


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("run=one&run=../one", 404, "WEB-017"),
        ("run=one&run=three", 404, "WEB-017"),
        ("run=one", 400, "COMPARE-003"),
        ("", 400, "WEB-018"),
        ("&".join(["run=one"] * 9), 400, "WEB-018"),
        ("run=one&run=%EB%91%98&methods=ppl", 400, "COMPARE-002"),
    ],
)
def test_what_cannot_be_compared_is_rejected(client: AsgiClient, query: str, status: int, code: str) -> None:
    answered = client.get(f"/data/compare?{query}")
    assert answered.status == status
    assert msgspec.json.decode(answered.body)["code"] == code


def test_an_address_that_names_no_run_says_how_to(client: AsgiClient) -> None:
    answer = client.get("/data/compare")
    assert (answer.status, answer.json()["code"]) == (400, "WEB-018")
    assert "?run=A&run=B" in answer.json()["what"]
