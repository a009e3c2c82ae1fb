"""The page watcher sees every fault: tests that rely on it would otherwise never fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.watched import Faults

_POLICY = "default-src 'none'; script-src 'unsafe-inline'"


def written(folder: Path, body: str, policy: str = "") -> str:
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    file = folder / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{meta}<title>t</title>{body}", encoding="utf-8")
    return file.as_uri()


def test_a_quiet_page_has_no_faults(browser_page: Page, faults: Faults, tmp_path: Path) -> None:
    browser_page.goto(
        written(tmp_path, "<p>한국어</p><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    )
    assert browser_page.inner_text("p") == "한국어"
    assert faults.seen == []


@pytest.mark.parametrize(
    ("body", "policy", "part"),
    [
        ("<script>console.error('oh')</script>", "", "console: oh"),
        ("<script>throw new Error('thrown')</script>", "", "script: "),
        ("<script>alert(1)</script>", "", "dialog: 1"),
        ("<img src='http://127.0.0.1:9/x.png'>", "", "request beyond file://"),
        ("<img src='x.png'>", _POLICY, "Content Security Policy"),
    ],
)
def test_faults_are_seen(
    browser_page: Page, faults: Faults, tmp_path: Path, body: str, policy: str, part: str
) -> None:
    browser_page.goto(written(tmp_path, body, policy))
    browser_page.wait_for_load_state("networkidle")
    assert any(part in fault for fault in faults.seen), faults.seen
    faults.seen.clear()


def test_an_expectation_that_is_not_met_is_a_fault(faults: Faults) -> None:
    faults.note("console: one")
    faults.expect("one")
    assert faults.unexpected() == []
    faults.expect("two")
    assert faults.unexpected() == ["expected, and did not happen: two"]
