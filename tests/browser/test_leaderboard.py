"""The leaderboard's page, opened from a disk in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from assay.results.leaderboard.build import make_board
from assay.results.leaderboard.page import render_board_page
from fakes.board_runs import Shelf, task

HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe"


def share(n: int) -> list[float]:
    return [1.0] * n + [0.0] * (100 - n)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four models on forty datasets, one model on one alone; names that would like to be markup."""
    shelf = Shelf()
    for model, n in (("좋은 모델", 90), ("가까운 모델", 88), (HOSTILE, 40)):
        tasks = {f"자료_{at:02}": share(n) for at in range(39)}
        specs = {name: task(name, about=("추론", "지식", "상식")[at % 3]) for at, name in enumerate(tasks)}
        shelf.add(model, {**tasks, "<b>bold</b>": share(100 - n)}, specs=specs)
    shelf.add("part", {"자료_00": share(95)}, specs={"자료_00": task("자료_00", about="추론")})
    file: Path = tmp_path_factory.mktemp("board") / "board.html"
    file.write_text(render_board_page(make_board(shelf.runs, shelf.values_of)), encoding="utf-8")
    return file.as_uri()


def models(page: Page) -> list[str]:
    return page.locator("tbody th.model bdi").all_inner_texts()


def heading(page: Page, name: str) -> int:
    """Return the place of a column among the cells of a row."""
    return page.locator("thead th.model ~ th .name").all_inner_texts().index(name)


def column(page: Page, name: str) -> list[str]:
    at = heading(page, name)
    return [row.locator("td").nth(at).inner_text() for row in page.locator("tbody tr").all()]


def test_models_stand_in_order_with_ranks_that_say_what_is_real(browser_page: Page, address: str) -> None:
    browser_page.goto(address)
    # By the one dataset that all have.
    assert models(browser_page)[:3] == ["part", "좋은 모델", "가까운 모델"]
    by_dataset = [text.split() for text in column(browser_page, "자료_01")]
    assert by_dataset == [["–"], ["90.0", "#1–2"], ["88.0", "#1–2"], ["40.0", "#3"]]
    bold = browser_page.locator("tbody tr").nth(1).locator(".value.leading")
    assert bold.count() > 30
    assert browser_page.locator("tbody tr").nth(3).locator("td.dataset .value.leading").count() == 1


def test_what_lacks_a_dataset_is_not_ranked_and_says_so(browser_page: Page, address: str) -> None:
    browser_page.goto(address)
    assert column(browser_page, "mean of all 40 datasets")[0].split() == ["95.0", "1", "of", "40"]
    assert "not ranked: no result for" in str(
        browser_page.locator("tbody tr").nth(0).locator("td").nth(1).get_attribute("title")
    )
    expect(browser_page.locator(".notes")).to_contain_text(
        "39 of 40 datasets do not have results for every model"
    )


def test_a_column_sorts_both_ways_and_the_address_keeps_it(browser_page: Page, address: str) -> None:
    page = browser_page
    page.goto(address)
    button = page.locator("thead button", has_text="<b>bold</b>")
    button.click()
    assert models(page)[0].startswith("<img"), "the best first"
    assert models(page)[-1] == "part", "rows without a value come last"
    page.locator("thead button", has_text="<b>bold</b>").click()
    assert models(page)[0] == "좋은 모델"
    assert models(page)[-1] == "part"
    page.goto(f"{address}#sort=d0")
    page.reload()
    assert models(page)[0].startswith("<img")


def test_names_are_text(browser_page: Page, address: str) -> None:
    browser_page.goto(address)
    assert browser_page.locator("main img, main b").count() == 0
    assert any("⟨U+202E⟩" in name for name in models(browser_page))


def test_abilities_and_the_models_that_are_drawn(browser_page: Page, address: str) -> None:
    page = browser_page
    page.goto(address)
    assert page.locator(".radar polygon.outline").count() == 2, "no outline where a spoke is lacking"
    assert page.locator(".radar path.mark").count() == 2 * 3, "a mean over fewer datasets is not drawn"
    page.locator("button[data-by=ability]").click()
    assert sorted(page.locator("thead .name").all_inner_texts()) == ["상식", "지식", "추론"]
    expect(page.locator(".dots-row:not(.dots-axis)")).to_have_count(3)
    page.locator("tbody input[type=checkbox]").nth(0).uncheck()
    assert page.locator(".keys > span").count() == 2
    assert "models=" in page.url
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator(".keys > span")).to_have_count(1)
    assert page.evaluate("document.activeElement.dataset.hold") == "row-1", "the keyboard stays in its row"
    page.locator("tbody input:checked").click()
    expect(page.locator(".radar")).to_have_count(0)


def test_pointing_at_a_value_shows_who_is_really_behind(browser_page: Page, address: str) -> None:
    page = browser_page
    page.goto(address)
    at = heading(page, "자료_01")
    page.locator("tbody tr").nth(1).locator("td").nth(at).hover()
    assert "same" in str(page.locator("tbody tr").nth(2).locator("td").nth(at).get_attribute("class"))
    assert "worse" in str(page.locator("tbody tr").nth(3).locator("td").nth(at).get_attribute("class"))


def test_the_model_stays_in_sight_however_far_one_scrolls(browser_page: Page, address: str) -> None:
    page = browser_page
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "the page itself never scrolls aside"
    )
    page.locator(".board-scroll").evaluate("node => { node.scrollLeft = 2000; node.scrollTop = 60; }")
    first = page.locator("tbody th.model").nth(1).bounding_box()
    frame = page.locator(".board-scroll").bounding_box()
    assert first is not None
    assert frame is not None
    assert abs(first["x"] - frame["x"]) < 3


@pytest.mark.parametrize(
    ("name", "words"), [("csv", "kind,model"), ("Markdown", "| model |"), ("LaTeX", "\\toprule")]
)
def test_files_can_be_taken_away(browser_page: Page, address: str, name: str, words: str) -> None:
    browser_page.goto(address)
    with browser_page.expect_download() as saved:
        browser_page.locator(".board-tools button", has_text=name).click()
    assert words in Path(saved.value.path()).read_text(encoding="utf-8")
