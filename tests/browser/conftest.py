"""A real Chromium, and a page in it that lets no fault pass."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from browser.watched import Faults, watched

_FLAGS = (
    # As root in a container there is no other way; what is opened here is our own.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's own Chromium, started once for a file.

    Not once for all: while Playwright is open, its event loop runs, and no other test could run one.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no program `chromium`: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def browser_context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser without a past: no cookies, no storage, nothing cached."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    yield context
    context.close()


@pytest.fixture
def faults() -> Faults:
    """What goes wrong in `browser_page`; a test that provokes something says `faults.expect(...)`."""
    return Faults()


@pytest.fixture
def browser_page(browser_context: BrowserContext, faults: Faults) -> Iterator[Page]:
    """An empty page. The test fails when a script fails, the content policy is broken, a dialog or another
    window opens, or anything is asked for beyond the origin of the first address that is opened.
    """
    page = watched(browser_context.new_page(), faults)
    yield page
    page.close()
    assert faults.unexpected() == []
