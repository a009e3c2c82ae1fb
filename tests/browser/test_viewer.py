"""`assay view` in a real browser: the list of runs, a run, what is hostile in them, and what is live."""

from __future__ import annotations

import re
import shlex
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from litestar.types import Message, Receive, Scope, Send
from playwright.sync_api import BrowserContext, Page, Route, expect

from assay.core.run import RunStatus
from assay.faces.web.security.gate import Gate
from assay.faces.web.view import Viewer
from assay.results.pages.markup import escape_invisible
from browser.hostile_texts import HOSTILE, require_text_alone
from browser.watched import Faults
from fakes.run_folders import append_samples, write_run
from fakes.viewers import viewing


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "alpha", ["yes", "no"], model="model-a", started="2026-01-01T00:00:00+00:00")
    write_run(folder / "beta", ["no"], model="model-b", is_right=False, started="2026-01-02T00:00:00+00:00")
    write_run(folder / "gamma", ["예"], model="model-b", task="질문", started="2026-01-03T00:00:00+00:00")
    return folder


@contextmanager
def shown(page: Page, runs: Path, token: str | None = None) -> Iterator[Viewer]:
    """Show runs as long as the page looks at them: it would complain of a server that is gone."""
    with viewing(runs, token=token) as viewer:
        yield viewer
        page.goto("about:blank")


@pytest.fixture
def viewer(runs: Path, browser_page: Page) -> Iterator[Viewer]:
    with shown(browser_page, runs) as viewer:
        yield viewer


def names(page: Page) -> list[str]:
    return page.locator("td.name").all_inner_texts()


def test_runs_are_listed_searched_filtered_and_sorted(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address)
    expect(page.locator(".status-line")).to_have_text("3 of 3 runs")
    assert names(page) == ["gamma", "beta", "alpha"]
    row = page.locator("tr", has_text="alpha")
    expect(row).to_contain_text("100.0 %")
    expect(row).to_contain_text("50.0–100.0")
    page.get_by_label("Search runs").fill("질문")
    expect(page.locator(".status-line")).to_have_text("1 of 3 runs")
    page.get_by_label("Search runs").fill("")
    page.get_by_label("Model").select_option("model-b")
    expect(page.locator(".status-line")).to_have_text("2 of 3 runs")
    page.get_by_role("button", name="Run", exact=True).click()
    assert names(page) == ["beta", "gamma"]
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(".status-line")).to_have_text("2 of 3 runs")
    assert names(page) == ["beta", "gamma"]


def test_a_run_opens_and_its_samples(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address)
    page.get_by_role("link", name="alpha").click()
    expect(page.locator(".status-line").first).to_contain_text("2 of 2 samples")
    page.locator(".sample-row").first.click()
    expect(page.locator("#sample")).to_contain_text("What is said?")


def test_a_run_without_samples_says_that_they_will_come(
    browser_page: Page, viewer: Viewer, runs: Path
) -> None:
    page = browser_page
    folder = write_run(runs / "live", [], status=RunStatus.RUNNING, n_planned=4)
    page.goto(f"{viewer.address}runs/live")
    empty = page.locator("#samples .empty")
    expect(empty).to_contain_text("No samples yet")
    append_samples(folder, ["b"], first=0)
    expect(page.locator(".sample-row")).to_have_count(1)
    page.get_by_label("Search samples").fill("nobody says this")
    expect(empty).to_have_text("No samples match these filters.")


def test_a_folder_that_cannot_be_read_is_reported_on_the_page(
    browser_page: Page, viewer: Viewer, runs: Path
) -> None:
    page = browser_page
    page.goto(viewer.address)
    expect(page.locator(".status-line")).to_have_text("3 of 3 runs")
    away = runs.rename(runs.with_name("away"))
    reported = page.get_by_role("alert")
    expect(reported).to_have_text(
        f"Cannot list the runs in {runs.name}: the folder cannot be read: No such file or directory"
    )
    expect(page.locator(".status-line")).to_have_text("")
    away.rename(runs)
    expect(page.locator(".status-line")).to_have_text("3 of 3 runs")
    expect(reported).to_have_text("")


def test_runs_are_chosen_to_be_compared(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address)
    bar = page.get_by_role("region", name="Comparison")
    expect(bar).to_be_hidden()
    page.get_by_label("compare alpha").check()
    expect(bar).to_contain_text("Select another")
    page.get_by_label("compare gamma").check()
    link = bar.get_by_role("link", name="Compare 2 runs")
    assert link.get_attribute("href") == "/compare?run=alpha&run=gamma"
    bar.get_by_role("button", name="Clear selection").click()
    expect(bar).to_be_hidden()


def test_the_list_and_a_run_grow_while_one_looks(browser_page: Page, viewer: Viewer, runs: Path) -> None:
    page = browser_page
    page.goto(viewer.address)
    expect(page.locator(".status-line")).to_have_text("3 of 3 runs")
    folder = write_run(
        runs / "live", ["a"], status=RunStatus.RUNNING, n_planned=4, started="2026-02-01T00:00:00+00:00"
    )
    row = page.locator("tr", has_text="live")
    expect(row).to_contain_text("1 of 4")
    append_samples(folder, ["b", "c"], first=1)
    expect(row).to_contain_text("3 of 4")
    row.get_by_role("link").click()
    reported = page.locator(".status-line").first
    expect(reported).to_contain_text("3 of 3 samples")
    append_samples(folder, ["d"], first=3)
    expect(reported).to_contain_text("4 of 4 samples")
    # The run starts over.
    again = "2026-02-02T00:00:00+00:00"
    write_run(folder, ["x", "y"], status=RunStatus.RUNNING, n_planned=4, started=again)
    expect(reported).to_contain_text("2 of 2 samples")
    page.goto(viewer.address)
    expect(page.locator(".status-line")).to_have_text("4 of 4 runs")
    shutil.rmtree(folder)
    expect(page.locator(".status-line")).to_have_text("3 of 3 runs")


def test_nobody_loses_their_place_while_a_run_grows(browser_page: Page, viewer: Viewer, runs: Path) -> None:
    page = browser_page
    live = write_run(runs / "live", ["a"], status=RunStatus.RUNNING, n_planned=9)
    page.goto(viewer.address)
    row = page.locator("tr", has_text="live")
    expect(row).to_contain_text("1 of 9")
    box = page.get_by_label("compare live")
    box.check()
    other = page.get_by_role("link", name="alpha")
    other.evaluate("one => { one.isTheSame = true; }")
    select = page.get_by_label("Model")
    select.evaluate("one => { one.isTheSame = true; }")
    append_samples(live, ["b"], first=1)
    expect(row).to_contain_text("2 of 9")
    expect(box).to_be_focused()
    expect(box).to_be_checked()
    assert other.evaluate("one => one.isTheSame")
    assert select.evaluate("one => one.isTheSame")


def test_nobody_loses_their_place_in_a_run_that_grows(browser_page: Page, viewer: Viewer, runs: Path) -> None:
    page = browser_page
    live = write_run(runs / "live", ["a"] * 200, status=RunStatus.RUNNING, n_planned=900)
    page.goto(f"{viewer.address}runs/live")
    reported = page.locator(".status-line").first
    expect(reported).to_contain_text("200 of 200 samples")
    page.get_by_text("Counters and versions").click()
    page.locator(".scroller").evaluate("one => { one.scrollTop = 4000; }")
    row = page.locator(".sample-row", has_text="s101").get_by_role("link")
    row.focus()
    append_samples(live, ["b"] * 50, first=200)
    expect(reported).to_contain_text("250 of 250 samples")
    assert page.locator(".scroller").evaluate("one => one.scrollTop") == 4000
    expect(row).to_be_focused()
    expect(page.get_by_role("rowheader", name="started")).to_be_visible()
    # So it is after a look at a sample, and not when other samples are asked for.
    row.click()
    expect(page.locator("#sample")).to_contain_text("What is said?")
    page.keyboard.press("Escape")
    expect(row).to_be_visible()
    page.get_by_label("Search samples").fill("s1")
    expect(reported).to_contain_text("111 of 250 samples")
    assert page.locator(".scroller").evaluate("one => one.scrollTop") == 0


def test_scores_that_come_after_their_samples_are_shown(
    browser_page: Page, viewer: Viewer, runs: Path
) -> None:
    live = write_run(runs / "live", ["a", "b", "c"], status=RunStatus.RUNNING, n_planned=9)
    scores = (live / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (live / "scores.jsonl").write_bytes(scores[0])
    browser_page.goto(f"{viewer.address}runs/live")
    worths = browser_page.locator(".sample-row .outcome")
    expect(worths).to_have_text(["right", "not scored", "not scored"])
    with open(live / "scores.jsonl", "ab") as file:
        file.writelines(scores[1:])
    expect(worths).to_have_text(["right", "right", "right"])


def test_samples_come_once_however_slow_the_server_is(browser_page: Page, viewer: Viewer, runs: Path) -> None:
    page = browser_page
    live = write_run(runs / "live", ["a"], status=RunStatus.RUNNING, n_planned=9)
    asked: list[str] = []

    def slowly(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 1:
            page.wait_for_timeout(900)
        route.continue_()

    page.route("**/samples*", slowly)
    page.goto(f"{viewer.address}runs/live")
    reported = page.locator(".status-line").first
    expect(reported).to_contain_text("1 of 1 samples")
    for nth in range(1, 4):
        append_samples(live, ["b"], first=nth)
        page.wait_for_timeout(600)
    expect(reported).to_contain_text("4 of 4 samples", timeout=10_000)
    expect(page.locator(".sample-row .id")).to_have_text(["s0", "s1", "s2", "s3"])
    page.unroute_all(behavior="wait")


def test_a_run_that_is_deleted_while_one_looks_is_reported(
    browser_page: Page, viewer: Viewer, runs: Path, faults: Faults
) -> None:
    # The page may be asking for more just then.
    faults.allow("404")
    with browser_page.expect_response("**/events"):
        browser_page.goto(f"{viewer.address}runs/beta")
    expect(browser_page.locator(".status-line").first).to_contain_text("1 of 1 samples")
    (runs / "beta").rename(runs.parent / "away")
    expect(browser_page.locator(".lost")).to_contain_text("no longer exists")


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_page_that_is_not_kept_up_to_date_says_so(
    browser_page: Page, viewer: Viewer, runs: Path, faults: Faults, is_deleted: bool
) -> None:
    faults.expect("404" if is_deleted else "503")

    def refused(route: Route) -> None:
        if is_deleted:
            (runs / "beta").rename(runs.parent / "away")
            route.continue_()
        else:
            route.fulfill(status=503, json={"code": "WEB-019", "what": "too many", "fix": "close some"})

    browser_page.route("**/events", refused)
    browser_page.goto(f"{viewer.address}runs/beta")
    words = "no longer exists" if is_deleted else "Live updates are not available"
    expect(browser_page.locator(".lost")).to_contain_text(words)


def test_a_server_that_is_gone_is_reported(browser_page: Page, runs: Path, faults: Faults) -> None:
    faults.expect("ERR_")
    # A request that is in flight when the server ends fails in the page's script.
    faults.allow("Failed to fetch")
    with viewing(runs) as viewer:
        browser_page.goto(viewer.address)
        expect(browser_page.locator(".status-line")).to_have_text("3 of 3 runs")
        expect(browser_page.locator(".lost")).to_have_count(0)
    # The browser tries again, and complains of that.
    browser_page.wait_for_event("console", lambda message: "ERR_" in message.text)
    expect(browser_page.locator(".lost")).to_contain_text("does not respond")


def test_a_run_that_is_gone_is_reported(browser_page: Page, viewer: Viewer, faults: Faults) -> None:
    faults.expect("404")
    faults.expect("there is no such run")
    browser_page.goto(f"{viewer.address}runs/nothing")
    expect(browser_page.get_by_role("alert")).to_contain_text("there is no such run")


class TestTokens:
    token = "a-token-of-some-length"

    @pytest.fixture
    def closed(self, runs: Path, browser_page: Page) -> Iterator[Viewer]:
        with shown(browser_page, runs, self.token) as viewer:
            yield viewer

    def test_the_address_that_is_printed_opens_and_loses_its_token(
        self, browser_page: Page, browser_context: BrowserContext, closed: Viewer
    ) -> None:
        assert self.token in closed.address
        browser_page.goto(closed.address)
        expect(browser_page.locator(".status-line")).to_have_text("3 of 3 runs")
        assert self.token not in browser_page.url
        (cookie,) = browser_context.cookies()
        assert cookie.get("httpOnly")
        assert cookie.get("sameSite") == "Strict"
        assert browser_page.evaluate("document.cookie") == ""
        # The way back does not lead to it either.
        assert browser_page.evaluate("history.length") == 2

    def test_without_it_a_page_asks_for_it(self, browser_page: Page, closed: Viewer, faults: Faults) -> None:
        faults.expect("401")
        page = browser_page
        page.goto(f"http://127.0.0.1:{closed.port}/runs/alpha")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("not valid")
        page.get_by_label("Token").fill(self.token)
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".status-line").first).to_contain_text("2 of 2 samples")

    def test_a_link_on_another_site_opens_for_who_has_signed_in(
        self, browser_page: Page, closed: Viewer, tmp_path: Path, faults: Faults
    ) -> None:
        other = tmp_path / "other.html"
        other.write_text(f"<a href='http://127.0.0.1:{closed.port}/runs/alpha'>look</a>", encoding="utf-8")
        faults.expect("request beyond file://")
        browser_page.goto(other.as_uri())
        browser_page.goto(closed.address)
        expect(browser_page.locator(".status-line")).to_have_text("3 of 3 runs")
        browser_page.goto(other.as_uri())
        browser_page.get_by_text("look").click()
        expect(browser_page.locator(".status-line").first).to_contain_text("2 of 2 samples")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of a site on another port, which anybody on this machine may run."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<!doctype html><title>other</title>", encoding="utf-8")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


ATTACK = """async (home) => {
  const read = [];
  const take = (answer) => answer.text().then((text) => text && read.push(text));
  const asJson = { "content-type": "application/json" };
  const tries = [
    ["data/runs", {}],
    ["data/runs", { mode: "no-cors" }],
    ["session", { mode: "no-cors", method: "POST", body: "x" }],
    ["session", { method: "POST", headers: asJson, body: '{"token": "x"}' }],
  ];
  for (const [path, options] of tries) await fetch(home + path, options).then(take, () => null);
  for (const name of ["script", "img", "iframe", "video"]) {
    const node = document.createElement(name);
    const done = new Promise((resolve) => { node.onload = node.onerror = resolve; });
    node.src = home + (name === "iframe" ? "" : "data/runs");
    document.body.append(node);
    await done;
  }
  const events = new EventSource(home + "data/events");
  await new Promise((resolve) => {
    events.onopen = () => { read.push("events"); resolve(); };
    events.onerror = resolve;
  });
  events.close();
  return read;
}"""


def test_another_site_reads_and_changes_nothing(
    browser_page: Page, viewer: Viewer, elsewhere: str, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of another site tries all that a page can; no answer of the viewer gives it anything."""
    statuses: list[int] = []
    answered = Gate.__call__

    async def noted(gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await answered(gate, scope, receive, note)

    monkeypatch.setattr(Gate, "__call__", noted)
    browser_page.goto(elsewhere)
    assert browser_page.evaluate(ATTACK, viewer.address) == []
    # Eight tries and one that the browser asks about beforehand.
    assert len(statuses) == 9
    assert set(statuses) == {403}
    faults.expect(f"request beyond {elsewhere.removesuffix('/index.html')}")
    faults.expect("console: ")


SAFE_NAME = re.compile(r"[/\x00]")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs in which everything that a model, a dataset or a file name says is hostile."""
    folder = tmp_path_factory.mktemp("hostile") / "runs"
    for nth, text in enumerate(HOSTILE):
        short = text[:60]
        write_run(
            folder / f"{nth:02} {SAFE_NAME.sub('_', short[:40])}",
            [text, f"before {text} after"],
            ids=[f"{short}", f"{short} 2"],
            task=short,
            model=short,
            question=text,
            started=f"2026-01-{nth + 1:02}T00:00:00+00:00",
        )
    return folder


def test_what_is_not_seen_is_written_out_as_python_does(browser_page: Page, tmp_path: Path) -> None:
    every = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x10000), *range(0xE0000, 0xE0100))]
    model = "".join(every)
    write_run(tmp_path / "runs" / "one", ["yes"], model=model)
    with shown(browser_page, tmp_path / "runs") as viewer:
        browser_page.goto(viewer.address)
        expect(browser_page.locator(".status-line")).to_have_text("1 of 1 runs")
        assert browser_page.locator("td.model bdi").text_content() == escape_invisible(model)


def test_a_command_that_is_copied_runs_nothing_else(browser_page: Page, tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a b; touch 'x'", ["yes"], ids=["$(touch y)"])
    write_run(tmp_path / "runs" / "plain-1.0", ["yes"])
    with shown(browser_page, tmp_path / "runs") as viewer:
        for name, command in (
            ("a b; touch 'x'", ["assay", "explain", "a b; touch 'x'", "$(touch y)"]),
            ("plain-1.0", ["assay", "explain", "plain-1.0", "s0"]),
        ):
            browser_page.goto(f"{viewer.address}runs/{quote(name)}")
            browser_page.locator(".sample-row").click()
            shown_command = browser_page.locator("[data-part=stored] code").text_content() or ""
            assert shlex.split(shown_command) == command
        assert shown_command == "assay explain plain-1.0 s0"


class TestHostile:
    """The page shows model output as text everywhere; `browser_page` fails on any fault or request."""

    @pytest.fixture
    def viewer(self, hostile: Path, browser_page: Page) -> Iterator[Viewer]:
        with shown(browser_page, hostile) as viewer:
            yield viewer

    def check(self, page: Page) -> None:
        require_text_alone(page)

    def test_in_the_list_of_runs(self, browser_page: Page, viewer: Viewer) -> None:
        browser_page.goto(viewer.address)
        expect(browser_page.locator(".status-line")).to_have_text(f"{len(HOSTILE)} of {len(HOSTILE)} runs")
        expect(browser_page.locator("td.model", has_text="<img src=x onerror=alert(1)>")).to_be_visible()
        self.check(browser_page)
        browser_page.set_viewport_size({"width": 380, "height": 800})
        self.check(browser_page)

    @pytest.mark.parametrize("nth", range(len(HOSTILE)))
    def test_in_a_run_and_a_sample(self, browser_page: Page, viewer: Viewer, nth: int) -> None:
        page = browser_page
        page.goto(viewer.address)
        page.locator("td.name a").nth(len(HOSTILE) - 1 - nth).click()
        expect(page.locator(".status-line").first).to_contain_text("2 of 2 samples")
        self.check(page)
        page.locator(".sample-row").nth(1).click()
        expect(page.locator("#sample")).to_be_visible()
        expect(page.locator("#sample")).to_contain_text("before")
        self.check(page)
        for width in (1280, 380):
            page.set_viewport_size({"width": width, "height": 800})
            self.check(page)

    @pytest.mark.parametrize("nth", range(len(HOSTILE)))
    def test_in_a_comparison(self, browser_page: Page, viewer: Viewer, hostile: Path, nth: int) -> None:
        page = browser_page
        name = sorted(folder.name for folder in hostile.iterdir())[nth]
        page.goto(f"{viewer.address}compare?run={quote(name)}&run={quote(name)}")
        expect(page.locator(".status-line")).to_have_text("2 of 2 samples")
        self.check(page)
        page.set_viewport_size({"width": 360, "height": 800})
        self.check(page)
        page.locator(".sample-row").nth(1).click()
        expect(page.locator("#sample")).to_contain_text("before")
        self.check(page)

    def test_in_the_leaderboard(self, browser_page: Page, viewer: Viewer) -> None:
        page = browser_page
        page.goto(f"{viewer.address}leaderboard")
        expect(page.locator("table.board tbody tr")).to_have_count(len(HOSTILE))
        self.check(page)
        page.set_viewport_size({"width": 360, "height": 800})
        for box in page.get_by_role("checkbox").all()[:4]:
            box.set_checked(True)
        self.check(page)
