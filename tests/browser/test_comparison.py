"""The page of a comparison, opened from a disk in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import assay
from cli import assay as command
from fakes.viewers import viewing

HOSTILE = "<script>alert(1)</script><svg onload=alert(2)>\u202e{}"
LONG = "다음 중 조선 시대의 사건에 대한 설명으로 옳은 것을 고르시오. " * 4


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs over Korean, Arabic and hostile questions; one says B, one C, and one fails at times."""
    folder = tmp_path_factory.mktemp("comparison")
    lines = ["id,question,A,B,C,D,answer"]
    for nth in range(120):
        question = (HOSTILE.format(nth), f"{LONG}{nth}", f"ما هي عاصمة البلد رقم {nth}؟")[nth % 3]
        lines.append(f"q{nth:03},{question},ay,bee,sea,dee,{'BBBCA'[nth % 5]}")
    table = folder / "mixed.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    args = {
        "bees": {"answer": "the answer is B"},
        "seas": {"answer": "C"},
        "some": {"answer": "A", "fail_every": "20"},
    }
    for name, model_args in args.items():
        assay.run(
            table,
            model="mock",
            model_args=model_args,
            method=("ppl", "gen"),
            out=str(folder / name),
            cache=False,
        )
    return folder


@pytest.fixture(scope="module")
def two(runs: Path) -> str:
    page = runs / "two.html"
    assert command("compare", str(runs / "bees"), str(runs / "seas"), "--html", str(page)).status == 0
    return page.as_uri()


@pytest.fixture(scope="module")
def three(runs: Path) -> str:
    page = runs / "three.html"
    names = [str(runs / name) for name in ("bees", "seas", "some")]
    assert command("compare", *names, "--html", str(page)).status == 0
    return page.as_uri()


def count_shown(page: Page) -> int:
    return int(page.locator(".status-line").inner_text().split(" of ")[0].replace(",", ""))


def test_the_head_says_who_is_better(browser_page: Page, two: str) -> None:
    browser_page.goto(two)
    expect(browser_page.locator("h1")).to_have_text("bees vs seas")
    count_shown = browser_page.locator(".sentences li.real").inner_text()
    assert count_shown.startswith(
        "mixed · gen: B scores 40.0 points lower than A (B - A = -40.0, 95 % interval"
    )
    expect(browser_page.locator(".forest-row.series-0")).to_have_count(1)


def test_cells_of_the_fourfold_table_show_their_samples(browser_page: Page, two: str) -> None:
    page = browser_page
    page.goto(two)
    # 72 rows are B, 24 are C, 24 are A, which neither says.
    for show, n in (("first", 72), ("second", 24), ("both", 0)):
        expect(page.locator(f".cell.{show}")).to_have_text(str(n))
    page.locator(".cell.second").click()
    assert count_shown(page) == 24
    assert set(page.locator(".sample-row .target").all_inner_texts()) == {"C"}
    expect(page.locator(".chip.second")).to_have_attribute("aria-pressed", "true")
    page.locator(".chip.second").click()
    page.locator(".chip.different").click()
    assert count_shown(page) == 24
    assert page.locator(".sample-row").first.locator(".answer").all_inner_texts() == ["✗ B", "✗ C"]


def test_a_link_shows_the_same_to_another(browser_page: Page, two: str) -> None:
    browser_page.goto(two)
    browser_page.locator(".chip.first").click()
    browser_page.locator("input[type=search]").fill("q00")
    n = count_shown(browser_page)
    address = browser_page.url
    browser_page.goto("about:blank")
    browser_page.goto(address)
    expect(browser_page.locator(".chip.first")).to_have_attribute("aria-pressed", "true")
    assert count_shown(browser_page) == n == 6


def test_answers_stand_side_by_side(browser_page: Page, two: str) -> None:
    page = browser_page
    page.goto(two)
    page.locator(".chip.first").click()
    page.locator(".sample-row").nth(1).click()
    columns = page.locator(".answer-of")
    expect(columns).to_have_count(2)
    expect(columns.nth(0).locator(".worth").first).to_have_text("right")
    expect(columns.nth(1).locator(".worth").first).to_have_text("wrong")
    expect(columns.nth(0).locator("mark")).to_have_text("answer is B")
    expect(page.get_by_text("Same prompt on all sides")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#sample h1")).to_have_text("q002")
    page.get_by_role("button", name="ppl").click()
    expect(columns.nth(0).locator(".is-deciding [role=listitem]")).to_have_count(4)
    page.go_back()
    expect(page.locator("#whole")).to_be_visible()


def test_three_sides_have_every_pair(browser_page: Page, three: str) -> None:
    page = browser_page
    page.goto(three)
    expect(page.locator(".matrix tbody tr")).to_have_count(3)
    expect(page.locator(".matrix tbody tr").nth(0)).to_contain_text("+40.0 *")
    page.get_by_label("Sides").select_option("1-2")
    expect(page.locator(".chip.first")).to_contain_text("Only B right")
    page.locator(".chip.missing").click()
    assert count_shown(page) > 0
    page.locator(".sample-row").first.click()
    expect(page.locator(".answer-of").nth(2).locator(".failure").first).to_be_visible()


def test_what_models_and_datasets_say_is_text(browser_page: Page, two: str) -> None:
    browser_page.goto(two)
    expect(browser_page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
    # A character that would turn the rest of the line round is written out.
    expect(browser_page.get_by_text("⟨U+202E⟩").first).to_be_visible()
    browser_page.locator(".sample-row").first.click()
    expect(browser_page.locator("[data-part=prompt] pre")).to_contain_text("<svg onload=alert(2)>")
    assert browser_page.locator("main svg").count() == 0


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_width_makes_the_page_scroll_sideways(browser_page: Page, three: str, width: int) -> None:
    browser_page.set_viewport_size({"width": width, "height": 800})
    browser_page.goto(three)
    expect(browser_page.locator(".sample-row").first).to_be_visible()
    assert browser_page.evaluate("document.documentElement.scrollWidth") <= width
    browser_page.locator(".sample-row").first.click()
    expect(browser_page.locator(".answers")).to_be_visible()
    assert browser_page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_server_shows_the_same(browser_page: Page, runs: Path) -> None:
    with viewing(runs) as viewer:
        browser_page.goto(f"{viewer.address}compare?run=bees&run=seas")
        expect(browser_page.locator("h1")).to_have_text("bees vs seas")
        browser_page.locator(".cell.second").click()
        assert count_shown(browser_page) == 24
        browser_page.locator(".sample-row").first.click()
        expect(browser_page.locator(".answer-of .big-worth .worth").nth(1)).to_have_text("right")
        browser_page.goto(f"{viewer.address}compare?run=bees&methods=ppl,gen")
        expect(browser_page.locator("h1")).to_have_text("ppl vs gen")
        browser_page.close()
