"""The page of a serving benchmark, opened from a disk in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Locator, Page, expect

from assay.app.bench_page import render_bench_page
from assay.bench.page_data import PageData, SearchView
from assay.bench.records import CallRecord
from assay.core.response import Failure
from assay.core.timing import CallTimes
from browser.hostile_texts import require_text_alone
from fakes.bench_pages import PAGES, one_load, several
from fakes.simulated_load import closed_load, page_head

HOSTILE = (
    "</script><script>alert(1)</script><svg onload=alert(2)>\"'><img src=//evil.example/x> \u202e txt.exe"
)
STOPS = """() => [...document.querySelectorAll("svg.plot[tabindex]")].map((plot) => {
    const found = [];
    const press = (key) => plot.dispatchEvent(new KeyboardEvent("keydown", { key }));
    press("ArrowLeft");
    for (let n = 0, same = 0; n < 400 && same < 3; n++) {
        const line = document.querySelector(".cross");
        const stop = [parseFloat(line.getAttribute("x1")), document.querySelector(".tip").textContent];
        // At the last point, the arrow key stays where it is.
        same = String(stop) === String(found.at(-1)) ? same + 1 : 0;
        found.push(stop);
        press("ArrowRight");
    }
    return found;
})"""


def opened(page: Page, data: PageData, folder: Path) -> Page:
    """Open the page of a benchmark, with all its parts unfolded."""
    file = folder / "report.html"
    file.write_text(render_bench_page(data), encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_be_visible()
    for summary in page.locator("details > summary").all():
        summary.click()
    return page


def point_at(plot: Locator) -> None:
    """Move the pointer over a plot, after the page has scrolled there: scrolling hides a tooltip."""
    plot.scroll_into_view_if_needed()
    plot.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    plot.hover()


def text_of(page: Page) -> str:
    return page.locator("main").text_content() or ""


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_drawn_with_numbers_and_without_outside_points(
    browser_page: Page, tmp_path: Path, name: str
) -> None:
    page = opened(browser_page, PAGES[name](), tmp_path)
    assert page.locator("h1").count() == page.locator("main").count() == 1
    markup = page.locator("main").evaluate("one => one.outerHTML")
    assert not re.search(r"\bNaN\b|Infinity|undefined|\bnull\b", markup)
    for place in re.findall(r'\b(?:x|y|x1|x2|y1|y2|cx|cy)="(-?[\d.]+)%"', markup):
        assert 0 <= float(place) <= 100
    for stops in page.evaluate(STOPS):
        for x, words in stops:
            assert 0 <= x <= 100
            assert words
            assert not re.search(r"NaN|Infinity|undefined|null", words)


def test_tables_hold_every_statistic(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, PAGES["closed"](), tmp_path)
    data = PAGES["closed"]()
    table = page.get_by_role("group", name="Latency", exact=True)
    assert table.locator("thead tr > *").all_inner_texts() == [
        "",
        "TTFT, ms",
        "ITL, ms",
        "TPOT, ms",
        "E2EL, ms",
    ]
    names = ["mean", "min", "p50", "p75", "p90", "p95", "p99", "max", "std", "n"]
    assert table.locator("tbody th").all_inner_texts() == names
    stats = data.loads[0].whole.latencies[0].stats
    assert stats is not None
    first = [row.locator("td").first.inner_text() for row in table.locator("tbody tr").all()]
    assert first[:-1] == [f"{1000 * getattr(stats, name):#.3g}".rstrip(".") for name in names[:-1]]
    assert first[-1] == str(stats.n)
    assert {"Request throughput", "Output token throughput", "http_500", "timeout"} <= set(
        page.locator("tbody th").all_inner_texts()
    )


def test_the_plots_of_a_load_have_axes_marks_and_legends(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, PAGES["closed"](), tmp_path)
    figures = {
        one.locator("figcaption").inner_text().split("\n")[0]: one for one in page.locator("figure").all()
    }
    assert list(figures) == [
        "Time to first token (TTFT)",
        "Time between output chunks (ITL)",
        "Time per output token after the first (TPOT)",
        "End-to-end latency (E2EL)",
        "Throughput over time",
        "Concurrency over time",
        "Timeline of requests",
    ]
    names = figures["Time to first token (TTFT)"].locator(".name").all_text_contents()
    assert [name.split(" ")[0] for name in names] == ["p50", "p90", "p99"]
    assert figures["Concurrency over time"].locator(".band-name").text_content() == "steady window"
    ticks = figures["Concurrency over time"].locator(".tick").all_text_contents()
    assert {"0", "4", "0 s", "10 s"} <= set(ticks)
    assert figures["Timeline of requests"].locator(".keys span").all_inner_texts() == [
        "waiting for the first text",
        "receiving text",
        "failed",
    ]


def test_a_point_is_shown_on_hover_and_with_the_arrow_keys(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, PAGES["closed"](), tmp_path)
    plot = page.get_by_role("img", name=re.compile("^requests.s over time"))
    tip = page.get_by_role("status")
    point_at(plot)
    expect(tip).to_be_visible()
    expect(tip).to_have_text(re.compile(r"s to .* s\n.* requests/s$"))
    inside, window = tip.bounding_box(), page.viewport_size
    assert inside is not None
    assert window is not None
    assert inside["x"] >= 0
    assert inside["x"] + inside["width"] <= window["width"]
    plot.focus()
    before = tip.text_content()
    page.keyboard.press("ArrowRight")
    assert tip.text_content() != before
    page.keyboard.press("ArrowLeft")
    assert tip.text_content() == before
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_a_timeline_shows_a_tooltip_for_the_nearest_of_many(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, one_load(closed_load(4, 1000)), tmp_path)
    expect(page.get_by_text("A random sample of 300 of 1,000 conversations.")).to_be_visible()
    point_at(page.get_by_role("img", name="Timeline of 300 requests."))
    expect(page.get_by_role("status")).to_have_text(
        re.compile(r"^request \d+\nstarted at .*\nfirst text after .*\nended after .*$")
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no stream", "were not streamed"),
        ("all failed", "No request succeeded."),
        ("no calls", "No requests were sent."),
        ("nothing", "No requests were sent."),
        ("closed", "so there is no schedule"),
        ("one call", "All values are "),
        ("no rungs", "No level was finished."),
        ("no rungs", "No tested level met all limits."),
        ("open", "(p99), at most 1.00 ms."),
    ],
)
def test_what_is_absent_is_said_in_words(browser_page: Page, tmp_path: Path, name: str, words: str) -> None:
    assert words in text_of(opened(browser_page, PAGES[name](), tmp_path))


def test_the_chosen_level_is_named(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, several(), tmp_path)
    expect(page.get_by_text("The highest level that met all limits: 4 concurrent.")).to_be_visible()
    assert "chosen: 4 concurrent" in page.locator("#search .name").all_text_contents()
    verdicts = [row.locator("td").first.inner_text() for row in page.locator("#search tbody tr").all()]
    assert verdicts == ["met", "met", "chosen", "p99 ttft 600 ms > 500 ms"]
    assert page.locator("#search .dot.hollow").count() == 1
    nothing = msgspec.structs.replace(several(), search=SearchView("rate", ("failed < 1 %",), (), None))
    assert "No tested level met all limits." in text_of(opened(page, nothing, tmp_path))


def test_a_sweep_has_a_curve_of_each_latency_and_a_row_of_each_level(
    browser_page: Page, tmp_path: Path
) -> None:
    page = opened(browser_page, several(), tmp_path)
    sweep = page.locator("#sweep")
    assert sweep.locator("figure").count() == 5
    assert sweep.locator("tbody th").all_inner_texts() == ["1", "2", "4", "8"]
    assert sweep.locator("figure").first.locator(".tick.middle, .tick.last").all_text_contents()[-4:] == list(
        "1248"
    )


def test_many_loads_are_bounded_and_it_is_said(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, msgspec.structs.replace(several(), n_earlier_loads=36), tmp_path)
    assert page.locator("details").count() == 4
    expect(page.get_by_text("The last 4 of 40 loads.")).to_be_visible()


def test_hostile_names_and_messages_are_shown_as_text(browser_page: Page, tmp_path: Path) -> None:
    head = page_head(HOSTILE, address=HOSTILE, dataset=HOSTILE, load=HOSTILE, date=HOSTILE)
    head = msgspec.structs.replace(
        head, notes=(HOSTILE,), settings=((HOSTILE, HOSTILE),), versions=((HOSTILE, HOSTILE),)
    )
    records = [
        CallRecord(HOSTILE, number, CallTimes(1.0, 2.0 + number), failure=Failure(HOSTILE, HOSTILE))
        for number in range(3)
    ]
    page = opened(browser_page, one_load(records, head), tmp_path)
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    assert page.title() == f"{shown} · serving benchmark"
    # Model, address, dataset, load, date, note, setting and its name, kind, message, version and its name.
    assert text_of(page).count(shown) == 12
    assert page.locator("main img").count() == 0
    require_text_alone(page)


def test_hostile_names_of_loads_limits_and_notes_are_shown_as_text(
    browser_page: Page, tmp_path: Path
) -> None:
    data: Any = several()
    trials = tuple(msgspec.structs.replace(trial, broken=(HOSTILE,)) for trial in data.search.trials)
    loads = tuple(
        msgspec.structs.replace(load, name=HOSTILE, notes=(HOSTILE,), steady_note=HOSTILE)
        for load in data.loads
    )
    search = msgspec.structs.replace(data.search, note=HOSTILE, limits=(HOSTILE,), trials=trials)
    sweep = msgspec.structs.replace(data.sweep, note=HOSTILE)
    page = opened(browser_page, PageData(data.head, loads, sweep=sweep, search=search), tmp_path)
    shown = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    # Three in each load, and in the search its note, its limit and a verdict for each trial.
    n_shown = 3 * len(loads) + 1 + 2 + len(trials)
    for _ in range(100):  # Parts of the page are drawn when the browser has measured it.
        if text_of(page).count(shown) >= n_shown:
            break
        page.wait_for_timeout(50)
    assert text_of(page).count(shown) == n_shown
    point_at(page.locator("#search svg.plot"))
    assert shown in (page.get_by_role("status").text_content() or "")
    assert page.locator("main img").count() == 0
    require_text_alone(page)


def test_names_in_any_script_are_kept(browser_page: Page, tmp_path: Path) -> None:
    page = opened(browser_page, PageData(page_head("한국어-모델", dataset="بيانات الاختبار")), tmp_path)
    assert page.locator("h1 bdi").inner_text() == "한국어-모델"
    # Text that runs the other way turns nothing around it.
    assert "بيانات الاختبار" in page.locator("dd bdi").all_inner_texts()


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", ["closed", "open", "several"])
def test_no_width_makes_the_page_scroll_sideways(
    browser_page: Page, tmp_path: Path, name: str, width: int
) -> None:
    browser_page.set_viewport_size({"width": width, "height": 800})
    page = opened(browser_page, PAGES[name](), tmp_path)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
