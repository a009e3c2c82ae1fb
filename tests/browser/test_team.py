"""The pages of a team's server in a real browser: sign in, start an evaluation, see it end, see the API."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from browser.watched import Faults
from fakes.team_server import TeamServer

_CSV = "question,A,B,answer\n" + "".join(f"{n}+1=,{n + 1},{n},A\n" for n in range(8))
_SETTINGS = """
datasets = ["tables"]

[dataset.sums]
explanation = "<img src=x onerror=alert(1)> adds 숫자"
abilities = ["산수 <b>bold</b>"]
headline = "accuracy"
"""
_PATIENT_MS = 60_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "tables").mkdir()
    (folder / "tables" / "sums.csv").write_text(_CSV)
    (folder / "tables" / "others.csv").write_text(_CSV)
    (folder / "assay-team.toml").write_text(_SETTINGS)
    with TeamServer(folder) as running:
        running.post("/models", {"name": "quick", "spec": "mock", "args": {"delay_ms": "100"}})
        yield running


def address(server: TeamServer, path: str) -> str:
    host, port = server.place
    return f"http://{host}:{port}{path}"


def signed_in(page: Page, server: TeamServer) -> Page:
    page.goto(address(server, f"/evaluations?token={server.token}"))
    assert server.token not in page.url
    return page


def test_an_evaluation_is_started_seen_to_end_and_looked_into(browser_page: Page, server: TeamServer) -> None:
    page = signed_in(browser_page, server)
    page.get_by_role("link", name="New evaluation").click()
    expect(page.get_by_role("group", name="산수 <b>bold</b>")).to_be_visible()
    expect(page.get_by_text("<img src=x onerror=alert(1)> adds 숫자")).to_be_visible()
    start = page.get_by_role("button", name="Start")
    expect(start).to_be_disabled()
    page.get_by_label("Search datasets").fill("숫자")
    expect(page.get_by_role("checkbox", name="others")).to_be_hidden()
    page.get_by_role("checkbox", name="sums").check()
    page.get_by_role("checkbox", name="gen", exact=True).check()
    page.get_by_label("Samples").fill("5")
    start.click()
    page.wait_for_url(re.compile(r"/evaluations/\d+$"), timeout=_PATIENT_MS)
    expect(page.locator(".status")).to_have_text("complete", timeout=_PATIENT_MS)
    expect(page.get_by_text("5 of 5 samples")).to_be_visible()
    expect(page.locator("tr.headline")).to_contain_text("accuracy")
    expect(page.get_by_text('limit = "5"')).to_be_visible()
    page.get_by_role("link", name="Look at the run").click()
    expect(page.locator("h1")).to_be_visible()
    page.goto(address(server, "/evaluations#state=complete"))
    expect(page.locator("tbody tr")).not_to_have_count(0)
    page.goto(address(server, "/evaluations#state=failed"))
    page.reload()
    expect(page.get_by_text("No evaluations yet.")).to_be_visible()


def test_an_evaluation_is_stopped_resumed_and_deleted(browser_page: Page, server: TeamServer) -> None:
    page = signed_in(browser_page, server)
    server.post("/models", {"name": "slow", "spec": "mock", "args": {"delay_ms": "1500"}})
    number = server.post("/evaluations", {"model": "slow", "datasets": ["sums"]})["evaluation"]["id"]
    page.goto(address(server, f"/evaluations/{number}"))
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status")).to_have_text("stopped", timeout=_PATIENT_MS)
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".status")).to_have_text("stopped", timeout=_PATIENT_MS)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Press again to delete").click()
    page.wait_for_url(re.compile(r"/evaluations$"))
    assert server.ask("GET", f"/api/v1/evaluations/{number}").status == 404


def test_who_may_only_look_is_told_so(browser_page: Page, server: TeamServer, faults: Faults) -> None:
    faults.expect("403")
    browser_page.goto(address(server, "/evaluations/new"))
    browser_page.get_by_role("checkbox", name="sums").check()
    browser_page.get_by_role("button", name="Start").click()
    expect(browser_page.get_by_role("alert")).to_contain_text("this needs the role runner")
    browser_page.get_by_role("button", name="Show a token").click()
    browser_page.get_by_label("Token").fill(server.token)
    browser_page.get_by_role("button", name="Open").click()
    expect(browser_page.get_by_role("heading", name="New evaluation")).to_be_visible()


def test_the_api_is_described(browser_page: Page, server: TeamServer) -> None:
    browser_page.goto(address(server, "/api"))
    summary = browser_page.locator("summary").filter(has_text="Start an evaluation")
    expect(summary).to_be_visible()
    summary.click()
    opened = browser_page.locator("details[open]")
    expect(opened).to_contain_text("Too many evaluations wait already")
    expect(browser_page.locator("#AskedSettings")).to_contain_text("Solved examples before each question.")
