"""Tags and notes in the viewer, and the samples of several runs in one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from assay.app.annotations import annotate
from assay.core.annotation import MOST_NOTE_CHARS
from assay.faces.web.view import Viewer
from assay.results.read import StoredRun
from browser.accessibility import find_violations
from browser.hostile_texts import HOSTILE, require_text_alone
from browser.watched import Faults
from fakes.run_folders import write_run
from fakes.viewers import viewing


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "alpha", ["yes", "no", "maybe"], model="model-a")
    write_run(folder / "beta", ["no", "yes"], model="model-b", is_right=False)
    return folder


@pytest.fixture
def viewer(runs: Path, browser_page: Page) -> Iterator[Viewer]:
    with viewing(runs) as viewer:
        yield viewer
        browser_page.goto("about:blank")


def test_a_run_is_tagged_found_by_its_tag_and_cleared(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address + "runs/alpha")
    page.get_by_role("button", name="Add tags or a note").click()
    page.get_by_label("Tags").fill("baseline, with shots")
    page.get_by_label("Note").fill("two\nlines j k /")
    assert find_violations(page) == []
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".user-tag")).to_have_text(["baseline", "with shots"])
    expect(page.locator(".user-note")).to_have_text("two\nlines j k /")
    page.goto(viewer.address)
    expect(page.locator("td.name .user-tag")).to_have_text(["baseline", "with shots"])
    page.locator(".selects").get_by_label("Tag").select_option("with shots")
    expect(page.locator("td.name a")).to_have_text(["alpha"])
    page.goto(viewer.address + "runs/alpha")
    page.get_by_role("button", name="Edit tags and note").click()
    page.get_by_label("Tags").fill("")
    page.get_by_label("Note").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Add tags or a note")).to_be_visible()


def test_a_rejected_tag_stays_in_the_form(browser_page: Page, viewer: Viewer, faults: Faults) -> None:
    page = browser_page
    page.goto(viewer.address + "runs/alpha")
    page.get_by_role("button", name="Add tags or a note").click()
    page.get_by_label("Tags").fill('say "hi"')
    faults.expect("400")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("a quote")
    expect(page.get_by_label("Tags")).to_have_value('say "hi"')
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add tags or a note")).to_be_visible()


def test_a_sample_is_tagged_and_filtered(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address + "runs/alpha#sample=s1")
    page.get_by_role("button", name="Add tags or a note").last.click()
    page.get_by_label("Tags").fill("odd")
    page.get_by_label("Note").focus()
    # Keys that step through samples belong to the text here.
    page.keyboard.type("jk")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#sample .user-tag")).to_have_text(["odd"])
    page.keyboard.press("Escape")
    page.get_by_role("searchbox").fill("tag:odd note:jk")
    expect(page.locator(".sample-row")).to_have_count(1)
    expect(page.locator(".sample-row .id")).to_have_text("s1")


def test_a_hostile_note_is_text(browser_page: Page, viewer: Viewer, runs: Path) -> None:
    for text in HOSTILE:
        if "\0" not in text and len(text) <= MOST_NOTE_CHARS:
            annotate(StoredRun(runs / "alpha"), note=text)
            browser_page.goto(viewer.address + "runs/alpha")
            expect(browser_page.locator(".user-note")).to_be_visible()
            require_text_alone(browser_page)


def test_samples_of_several_runs_in_one_table(browser_page: Page, viewer: Viewer) -> None:
    page = browser_page
    page.goto(viewer.address)
    for name in ("alpha", "beta"):
        page.get_by_label(f"compare {name}").check()
    page.get_by_role("link", name="Show samples").click()
    rows = page.locator(".sample-row")
    expect(rows).to_have_count(5)
    page.get_by_role("searchbox").fill("run:beta outcome:wrong")
    expect(rows).to_have_count(2)
    page.get_by_text("Columns").click()
    expect(page.locator(".head .model")).to_have_count(0)
    page.get_by_label("Model", exact=True).check()
    expect(page.locator(".sample-row .model").first).to_have_text("model-b")
    page.locator(".head .answer button").click()
    expect(page.locator(".sample-row .answer")).to_have_text(["no", "yes"])
    page.reload()
    expect(page.locator(".sample-row .model").first).to_have_text("model-b")
    rows.first.click()
    expect(page.locator("#sample h1")).to_have_text("s0")
    assert "/runs/beta#" in page.url


def test_an_address_without_runs_says_what_to_do(browser_page: Page, viewer: Viewer) -> None:
    browser_page.goto(viewer.address + "samples")
    expect(browser_page.locator("main")).to_contain_text("Select runs in the list of runs")
