"""The leaderboard as `assay view` serves it, in a real browser."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import assay
from assay.faces.web.view import Viewer, ViewSettings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models, one of which is right nine times in ten."""
    rows = [f"{at}?,yes,no,{'A' if at else 'B'}" for at in range(10)]
    (tmp_path / "day.csv").write_text("\n".join(["question,A,B,answer", *rows]), encoding="utf-8")
    for name in "AB":
        evaluate(tmp_path, name)
    return tmp_path


def evaluate(folder: Path, answer: str, name: str = "day.csv") -> None:
    assay.run(
        folder / name,
        model=f"mock:says-{answer}",
        model_args={"answer": answer},
        method=("gen",),
        runs_dir=str(folder / "runs"),
        cache=False,
    )


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    viewer = Viewer(ViewSettings((folder / "runs",), port=0))
    thread = threading.Thread(target=viewer.serve)
    thread.start()
    yield viewer.address
    viewer.server.handle_exit(signal.SIGTERM, None)
    thread.join()


def test_a_value_leads_to_its_run_and_a_new_run_appears(
    address: str, browser_page: Page, folder: Path
) -> None:
    page = browser_page
    page.goto(f"{address}leaderboard")
    expect(page.locator("tbody th.model bdi")).to_have_text(["mock:says-A", "mock:says-B"])
    expect(page.locator("tbody td.dataset")).to_have_text(["90.0#1", "10.0#2"])
    assert str(folder) not in page.content(), "the page does not show folders"
    evaluate(folder, "yes")
    page.reload()
    expect(page.locator("tbody th.model")).to_have_count(3)
    page.locator("tbody tr", has_text="says-A").locator("td.dataset a").click()
    page.wait_for_url("**/runs/*")
    expect(page.locator(".run-head")).to_contain_text("mock:says-A")
