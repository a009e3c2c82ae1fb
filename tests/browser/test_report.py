"""report.html, opened from a disk in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import assay


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with two methods, groups, failures, and texts that would like to be markup."""
    folder = tmp_path_factory.mktemp("report")
    table = folder / "letters.csv"
    lines = ["id,question,A,B,C,D,answer,category"]
    for nth in range(200):
        question = (
            f"<img src=x onerror=alert({nth})> which letter {nth}?" if nth % 3 == 0 else f"plain {nth}?"
        )
        lines.append(f"q{nth:03},{question},ay {nth},bee,sea,dee {nth},{'ABCD'[nth % 4]},g{nth % 3}")
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = assay.run(
        table, model="mock", model_args={"fail_every": "60"}, method=("ppl", "gen"),
        table={"ppl_target": "text"}, out=str(folder / "run"), cache=False,
    )  # fmt: skip
    return (result.folder / "report.html").as_uri()


def count_shown(page: Page) -> int:
    return int(page.locator(".status-line").inner_text().split(" of ")[0].replace(",", ""))


def test_the_score_has_error_bars_and_counts(browser_page: Page, report: str) -> None:
    browser_page.goto(report)
    cards = browser_page.locator(".score")
    expect(cards).to_have_count(2)
    card = cards.nth(0).inner_text()
    assert "95 % interval" in card
    assert "of 200 counted" in card
    for word in ("unanswered", "truncated", "failed"):
        assert word in card


def test_filters_sort_and_search(browser_page: Page, report: str) -> None:
    page = browser_page
    page.goto(report)
    expect(page.locator(".status-line")).to_have_text("200 of 200 samples")
    counts = {}
    for name in ("right", "wrong", "failed"):
        chip = page.locator(f".chip.{name}")
        counts[name] = int(chip.locator("span").inner_text())
        chip.click()
        expect(chip).to_have_attribute("aria-pressed", "true")
        assert count_shown(page) == counts[name] > 0
        outcomes = page.locator(".sample-row .worth").all_inner_texts()
        assert set(outcomes) == {name}
        chip.click()
    assert sum(counts.values()) == 200
    page.locator("input[type=search]").fill("q007")
    assert count_shown(page) == 1
    page.locator("input[type=search]").fill("")
    page.locator(".head .margin").click()
    margins = [float(text) for text in page.locator(".sample-row .margin").all_inner_texts()]
    assert margins == sorted(margins)
    page.locator(".selects").get_by_label("Group").select_option("g1")
    assert count_shown(page) == 67
    page.locator(".selects").get_by_label("Method").select_option("gen")
    assert count_shown(page) == 67


def test_only_rows_in_sight_are_elements(browser_page: Page, report: str) -> None:
    browser_page.goto(report)
    assert browser_page.locator(".sample-row").count() < 60
    browser_page.locator(".scroller").evaluate("one => one.scrollTo(0, one.scrollHeight)")
    expect(browser_page.get_by_text("q199")).to_be_visible()


def test_a_link_shows_the_same_to_another(browser_page: Page, report: str) -> None:
    browser_page.goto(report)
    browser_page.locator(".chip.wrong").click()
    browser_page.locator("input[type=search]").fill("plain 1")
    shown = count_shown(browser_page)
    address = browser_page.url
    assert "show=wrong" in address
    browser_page.goto("about:blank")
    browser_page.goto(address)
    expect(browser_page.locator(".chip.wrong")).to_have_attribute("aria-pressed", "true")
    assert count_shown(browser_page) == shown < 200


def test_a_sample_opens_and_the_way_back_leads_back(browser_page: Page, report: str) -> None:
    page = browser_page
    page.goto(report)
    page.locator(".chip.wrong").click()
    page.locator(".sample-row").nth(2).click()
    expect(page.locator("#sample")).to_be_visible()
    expect(page.locator("#whole")).to_be_hidden()
    page.go_back()
    expect(page.locator("#whole")).to_be_visible()
    expect(page.locator(".chip.wrong")).to_have_attribute("aria-pressed", "true")


def test_markup_in_questions_is_text(browser_page: Page, report: str) -> None:
    browser_page.goto(report)
    expect(browser_page.get_by_text("<img src=x onerror=alert(0)> which letter 0?").first).to_be_visible()
    assert browser_page.locator("img").count() == 0


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_makes_the_page_scroll_sideways(browser_page: Page, report: str, width: int) -> None:
    browser_page.set_viewport_size({"width": width, "height": 800})
    browser_page.goto(report)
    expect(browser_page.locator(".sample-row").first).to_be_visible()
    wide = browser_page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width


def test_a_scoring_says_what_was_chosen(browser_page: Page, tmp_path: Path) -> None:
    table = tmp_path / "letters.csv"
    table.write_text("question,A,B,answer\n1+1=,1,2,B\n2+2=,4,5,A\n", encoding="utf-8")
    result = assay.run(table, model="mock", method="gen", out=str(tmp_path / "run"))
    result.rescore(extract="regex:<b>", name="tags")
    browser_page.goto((result.folder / "report.html").as_uri())
    expect(browser_page.locator(".kicker")).to_have_text("run, 002-tags")
    expect(browser_page.get_by_role("heading", name="Rescored")).to_be_visible()
    expect(browser_page.get_by_text("regex:<b>", exact=True)).to_be_visible()
