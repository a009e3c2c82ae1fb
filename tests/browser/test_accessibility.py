"""axe-core finds nothing wrong on any page; the theme and the keys work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import assay
from assay.app.bench_page import render_bench_page
from assay.faces.web.view import Viewer
from browser.accessibility import find_violations
from browser.watched import Faults
from fakes.bench_pages import PAGES
from fakes.viewers import viewing

_VIEWS = {
    "runs": "/",
    "a run": "/runs/first",
    "a sample by likelihood": "/runs/first#sample=q1",
    "a generated sample": "/runs/first#sample=q1&method=gen",
    "a comparison": "/compare?run=first&run=second",
    "a pair": "/compare?run=first&run=second#sample=q1",
    "samples of two runs": "/samples?run=first&run=second",
    "a leaderboard": "/leaderboard",
    "no such run": "/runs/nothing",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with two methods, groups, wrong and failed samples."""
    folder = tmp_path_factory.mktemp("runs")
    table = folder / "letters.csv"
    lines = ["id,question,A,B,C,answer,category"]
    lines += [f"q{nth},which letter {nth}?,ay,bee,sea,{'ABC'[nth % 3]},group {nth % 2}" for nth in range(40)]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, often in (("first", "9"), ("second", "11")):
        assay.run(
            table, model="mock", model_args={"fail_every": often}, method=("ppl", "gen"),
            table={"ppl_target": "text"}, out=str(folder / "runs" / name), cache=False, allow_failures="50%",
        )  # fmt: skip
    return folder / "runs"


@pytest.fixture
def viewer(folder: Path, browser_page: Page) -> Iterator[Viewer]:
    with viewing(folder) as viewer:
        yield viewer
        browser_page.goto("about:blank")


@pytest.mark.parametrize("name", _VIEWS)
def test_a_page_of_the_viewer(browser_page: Page, viewer: Viewer, name: str, faults: Faults) -> None:
    browser_page.goto(viewer.address.rstrip("/") + _VIEWS[name])
    expect(browser_page.locator("main h1:visible").first).to_be_visible()
    if name == "no such run":
        faults.expect("404")
        faults.allow("no such run")
    assert find_violations(browser_page) == []


def test_the_file_of_a_run(browser_page: Page, folder: Path) -> None:
    browser_page.goto((folder / "first" / "report.html").as_uri())
    expect(browser_page.locator("h1")).to_be_visible()
    assert find_violations(browser_page) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_a_serving_benchmark(browser_page: Page, tmp_path: Path, name: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_bench_page(PAGES[name]()), encoding="utf-8")
    browser_page.goto(file.as_uri())
    expect(browser_page.locator("h1")).to_be_visible()
    assert find_violations(browser_page) == []


def test_the_theme_is_remembered(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.emulate_media(color_scheme="light")
    page.goto(viewer.address)
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_label("Theme").select_option("dark")
    dark = page.evaluate(colour)
    assert dark != light
    page.goto(viewer.address + "leaderboard")
    expect(page.get_by_label("Theme")).to_have_value("dark")
    assert page.evaluate(colour) == dark
    page.get_by_label("Theme").select_option("")
    assert page.evaluate(colour) == light


def test_keys(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address + "runs/first")
    expect(page.locator(".sample-row").first).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("next sample")
    assert find_violations(page) == []
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("a/b?")
    expect(page.get_by_role("searchbox")).to_have_value("a/b?")
    expect(dialog).to_be_hidden()
