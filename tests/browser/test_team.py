"""A team's pages in a real browser: sign in, start, watch, stop, upload, and what is not offered."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.accessibility import find_violations
from browser.watched import Faults
from fakes.team_server import TeamServer

_CSV = "id,question,A,B,answer\n" + "".join(f"q{n},{n}+1=,{n + 1},{n},A\n" for n in range(8))
_BROKEN = "question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,E\n"
_SETTINGS = """
datasets = ["tables"]

[dataset.sums]
explanation = "<img src=x onerror=alert(1)> adds 숫자"
abilities = ["산수 <b>bold</b>"]
headline = "accuracy"
"""
_PATIENT_MS = 60_000
_PAGES = ("/evaluations", "/evaluations/new", "/datasets", "/datasets/sums", "/models", "/api")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "tables").mkdir()
    (folder / "tables" / "sums.csv").write_text(_CSV)
    (folder / "tables" / "others.csv").write_text(_CSV)
    (folder / "assay-team.toml").write_text(_SETTINGS)
    with TeamServer(folder) as running:
        running.post("/models", {"name": "quick", "spec": "mock", "args": {"delay_ms": "100"}})
        running.post("/models", {"name": "slow", "spec": "mock", "args": {"delay_ms": "1500"}})
        yield running


def address(server: TeamServer, path: str) -> str:
    host, port = server.place
    return f"http://{host}:{port}{path}"


def sign_in(page: Page, server: TeamServer) -> None:
    """Sign in as the owner, by the form."""
    page.goto(address(server, "/evaluations"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def state(page: Page) -> Locator:
    return page.locator(".run-head .status")


def test_an_evaluation_is_started_watched_and_looked_into(browser_page: Page, server: TeamServer) -> None:
    page = browser_page
    sign_in(page, server)
    expect(page.locator(".visitor .role")).to_have_text("owner")
    page.get_by_role("link", name="New evaluation").click()
    expect(page.get_by_role("group", name="산수 <b>bold</b>")).to_be_visible()
    expect(page.get_by_text("<img src=x onerror=alert(1)> adds 숫자")).to_be_visible()
    page.get_by_label("Search datasets").fill("숫자")
    expect(page.get_by_role("checkbox", name="others")).to_have_count(0)
    page.get_by_role("checkbox", name="sums").check()
    expect(page.get_by_label("Selected datasets")).to_contain_text("8 rows", timeout=_PATIENT_MS)
    page.get_by_role("radio", name="quick").check()
    page.get_by_role("checkbox", name="gen", exact=True).check()
    page.get_by_label("limit").fill("first:6")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/evaluations/\d+$"), timeout=_PATIENT_MS)
    # Nothing is loaded again from here on: what changes comes by the stream.
    page.evaluate("window.stays = true")
    expect(state(page)).to_have_text("complete", timeout=_PATIENT_MS)
    assert page.evaluate("window.stays")
    card = page.locator(".score")
    expect(card).to_contain_text("95 % interval")
    expect(card).to_contain_text("6 of 6 counted")
    expect(page.get_by_label("Events")).to_contain_text(re.compile("submitted by owner.*complete", re.DOTALL))
    expect(page.get_by_label("Non-default settings")).to_contain_text("first:6")
    shown = card.locator("b").inner_text().split()[0]

    page.get_by_role("link", name="Evaluations").click()
    expect(page.locator("tbody tr").first).to_contain_text(shown)
    page.locator("tbody tr").first.get_by_role("link", name=re.compile("^sums-quick-")).click()
    expect(page.locator(".score b")).to_contain_text(shown)
    page.locator(".sample-row").first.click()
    expect(page.locator("#sample")).to_contain_text("0+1=")
    page.get_by_role("link", name="Leaderboard").click()
    expect(page.locator("tbody th.model").first).to_contain_text("quick", timeout=_PATIENT_MS)
    expect(page.locator("tbody")).to_contain_text(shown)


def test_what_is_wrong_is_beside_its_field(browser_page: Page, server: TeamServer, faults: Faults) -> None:
    faults.expect("409")
    page = browser_page
    sign_in(page, server)
    page.goto(address(server, "/evaluations/new"))
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Select a model.")).to_be_visible()
    expect(page.get_by_text("Select at least one dataset.")).to_be_visible()
    page.goto(address(server, "/evaluations/new?model=quick&dataset=sums"))
    page.get_by_label("limit").fill("some")
    page.get_by_label("shots").fill("-1")
    page.get_by_role("button", name="Start").click()
    field = page.locator(".field").filter(has=page.locator("#f-shots"))
    expect(field.get_by_role("alert")).not_to_be_empty(timeout=_PATIENT_MS)
    page.get_by_label("shots").fill("")
    page.get_by_role("button", name="Start").click()
    field = page.locator(".field").filter(has=page.locator("#f-limit"))
    expect(field.get_by_role("alert")).to_contain_text("found 'some'", timeout=_PATIENT_MS)
    expect(page.get_by_label("limit")).to_be_focused()


def test_an_evaluation_is_stopped_resumed_and_deleted(browser_page: Page, server: TeamServer) -> None:
    page = browser_page
    sign_in(page, server)
    number = server.post("/evaluations", {"model": "slow", "datasets": ["sums"]})["evaluation"]["id"]
    # The list has heard of it by itself.
    row = page.locator(f'tr[data-id="{number}"]')
    expect(row).to_contain_text("slow")
    expect(row.locator(".status")).to_have_text("running", timeout=_PATIENT_MS)
    row.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    row.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(row.locator(".status")).to_have_text("stopped", timeout=_PATIENT_MS)

    row.get_by_role("link", name=f"Evaluation {number}").click()
    page.get_by_role("button", name="Resume").click()
    expect(state(page)).to_have_text("running", timeout=_PATIENT_MS)
    expect(page.get_by_role("link", name="Open the run so far")).to_be_visible(timeout=_PATIENT_MS)
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(state(page)).to_have_text("stopped", timeout=_PATIENT_MS)
    expect(page.get_by_label("Events")).to_contain_text("attempt 2")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_url(re.compile(r"/evaluations$"))
    assert server.ask("GET", f"/api/v1/evaluations/{number}").status == 404


def test_a_table_is_uploaded_after_its_problems_were_read(
    browser_page: Page, server: TeamServer, faults: Faults, tmp_path: Path
) -> None:
    faults.expect("409")
    (tmp_path / "mine.csv").write_text(_BROKEN)
    page = browser_page
    sign_in(page, server)
    page.goto(address(server, "/evaluations/new"))
    page.get_by_text("Upload a dataset").click()
    page.locator("#f-file").set_input_files(tmp_path / "mine.csv")
    expect(page.locator("#f-name")).to_have_value("mine")
    page.get_by_role("button", name="Check and upload").click()
    problem = page.locator(".upload .problems")
    expect(problem).to_contain_text(
        re.compile(r"TABLE-\d+.*row 2.*'E'.*Fix: ", re.DOTALL), timeout=_PATIENT_MS
    )
    (tmp_path / "mine.csv").write_text(_BROKEN.replace("E\n", "B\n"))
    page.locator("#f-file").set_input_files(tmp_path / "mine.csv")
    page.get_by_role("button", name="Check and upload").click()
    expect(page.get_by_label("Selected datasets")).to_contain_text("mine", timeout=_PATIENT_MS)
    expect(problem).to_be_hidden()
    page.goto(address(server, "/datasets/mine"))
    expect(page.get_by_label("First rows of mine")).to_contain_text("2+2=", timeout=_PATIENT_MS)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("2 of 2 datasets")).to_be_visible()


def test_a_model_is_registered_and_deleted(browser_page: Page, server: TeamServer, faults: Faults) -> None:
    faults.expect("409")
    page = browser_page
    sign_in(page, server)
    page.goto(address(server, "/models"))
    page.locator("#f-name").fill("다른")
    page.locator("#f-spec").fill("mock:<b>other</b>")
    page.locator("#f-args").fill("delay_ms=soon")
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".register")).to_contain_text("soon", timeout=_PATIENT_MS)
    page.locator("#f-args").fill("delay_ms=5")
    page.get_by_role("button", name="Register").click()
    card = page.locator(".card").filter(has_text="다른")
    expect(card).to_contain_text("mock:<b>other</b>", timeout=_PATIENT_MS)
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


def test_a_reader_is_offered_nothing_that_changes_anything(browser_page: Page, server: TeamServer) -> None:
    page = browser_page
    done = server.post("/evaluations", {"model": "quick", "datasets": ["others"]})["evaluation"]
    server.await_state(done["id"], "complete")
    for path in (*_PAGES, f"/evaluations/{done['id']}"):
        page.goto(address(server, path))
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        expect(page.locator("main h1")).to_be_visible()
        expect(
            page.locator("main").get_by_role(
                "button", name=re.compile("Start|Stop|Resume|Delete|Register|upload")
            )
        ).to_have_count(0)
        expect(page.get_by_role("link", name=re.compile("New evaluation|Evaluate|Another"))).to_have_count(0)
    page.goto(address(server, "/evaluations/new"))
    expect(page.get_by_text("A reader cannot start evaluations.")).to_be_visible()


def test_a_runner_is_offered_to_change_only_what_is_theirs(browser_page: Page, server: TeamServer) -> None:
    command = [sys.executable, "-m", "assay", "serve", "token", "add", "ann", "--role", "runner"]
    made = subprocess.run(command, cwd=server.folder, capture_output=True, text=True, check=True, timeout=60)
    (token,) = re.findall(r"assay_\w{8}_[\w-]+", made.stdout)
    body = {"model": "quick", "datasets": ["others"]}
    theirs = server.ask("POST", "/api/v1/evaluations", body, token=token).body["evaluation"]["id"]
    others = server.post("/evaluations", body)["evaluation"]["id"]
    for number in (theirs, others):
        server.await_state(number, "complete")
    page = browser_page
    page.goto(address(server, f"/evaluations?token={token}"))
    expect(page.locator(".visitor")).to_contain_text("ann")
    row = page.locator(f'tr[data-id="{theirs}"]')
    expect(row.get_by_role("button", name="Delete")).to_be_visible()
    expect(page.locator(f'tr[data-id="{others}"]')).to_be_visible()
    expect(page.locator(f'tr[data-id="{others}"]').get_by_role("button")).to_have_count(0)
    page.goto(address(server, "/evaluations/new"))
    expect(page.get_by_role("radio", name="quick")).to_be_visible()
    expect(page.get_by_text("Upload a dataset")).to_have_count(0)
    expect(page.get_by_label("Or an unregistered model")).to_have_count(0)

    page.goto(address(server, f"/evaluations/{others}"))
    page.get_by_role("link", name=f"Compare with evaluation {theirs}").click()
    page.wait_for_url(re.compile("/compare"))
    expect(page.locator("main")).to_contain_text(f"others-quick-{theirs}", timeout=_PATIENT_MS)


def test_the_api_is_described(browser_page: Page, server: TeamServer) -> None:
    page = browser_page
    page.goto(address(server, "/api"))
    summary = page.locator("summary").filter(has_text="Start an evaluation")
    summary.click()
    opened = page.locator("details[open]")
    expect(opened).to_contain_text("Too many evaluations are queued")
    line = opened.locator(".curl code")
    expect(line).to_contain_text("$ASSAY_TOKEN")
    expect(line).to_contain_text('{"datasets":["…"],"model":"…"}')
    opened.get_by_role("link", name="EvaluationSettings").click()
    expect(page.locator("#schema-EvaluationSettings")).to_contain_text(
        "Solved examples before each question."
    )


@pytest.mark.parametrize("width", [360, 1280])
def test_no_width_makes_a_page_scroll_sideways(browser_page: Page, server: TeamServer, width: int) -> None:
    page = browser_page
    sign_in(page, server)
    number = server.post("/evaluations", {"model": "quick", "datasets": ["sums"]})["evaluation"]["id"]
    page.set_viewport_size({"width": width, "height": 800})
    for path in (*_PAGES, f"/evaluations/{number}"):
        page.goto(address(server, path))
        expect(page.locator("main h1")).to_be_visible()
        page.wait_for_load_state("load")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_axe_finds_nothing_wrong_on_the_pages(browser_page: Page, server: TeamServer) -> None:
    sign_in(browser_page, server)
    server.post("/evaluations", {"model": "quick", "datasets": ["sums"]})
    for path in _PAGES:
        browser_page.goto(address(server, path))
        expect(browser_page.locator("main h1:visible").first).to_be_visible()
        if path == "/evaluations":
            # The table appears with its rows.
            expect(browser_page.locator("tbody tr").first).to_be_visible()
        found = find_violations(browser_page)
        assert not found, (path, sorted({one[:160] for one in found})[:6])
