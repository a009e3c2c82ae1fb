"""What a page may not do while a test looks at it."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Dialog, Error, Page, Request

_INSIDE = ("about", "blob", "data")
"""Addresses that lead nowhere outside the page."""


class Faults:
    """What went wrong in a page, and what a test said would."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._expected: list[str] = []
        self._allowed: list[str] = []
        self._home: str | None = None

    def expect(self, part: str) -> None:
        """Let faults pass in whose words `part` occurs; there must be at least one."""
        self._expected.append(part)

    def allow(self, part: str) -> None:
        """Let faults pass in whose words `part` occurs; there may be none."""
        self._allowed.append(part)

    def unexpected(self) -> list[str]:
        """Return the faults that nobody expected, and the expectations that nothing met."""
        known = (*self._expected, *self._allowed)
        wrong = [fault for fault in self.seen if not any(part in fault for part in known)]
        unmet = [part for part in self._expected if not any(part in fault for fault in self.seen)]
        return wrong + [f"expected, and did not happen: {part}" for part in unmet]

    def note(self, fault: str) -> None:
        """Take one more fault."""
        self.seen.append(fault)

    def check_address(self, address: str) -> None:
        """Take an address that the page asked for: the first decides where the others may lead."""
        parts = urlsplit(address)
        if parts.scheme in _INSIDE:
            return
        origin = f"{parts.scheme}://{parts.netloc}"
        if self._home is None:
            self._home = origin
        elif origin != self._home:
            self.note(f"request beyond {self._home}: {address[:200]}")


def watched(page: Page, faults: Faults) -> Page:
    """Return the page, with everything that may go wrong in it noted."""

    def console(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.note(f"console: {message.text} ({message.location.get('url', '')})")

    def raised(error: Error) -> None:
        faults.note(f"script: {error}")

    def dialog(box: Dialog) -> None:
        faults.note(f"dialog: {box.message}")
        box.dismiss()

    def request(asked: Request) -> None:
        faults.check_address(asked.url)

    def popup(other: Page) -> None:
        faults.note(f"another window: {other.url}")

    page.on("console", console)
    page.on("pageerror", raised)
    page.on("dialog", dialog)
    page.on("request", request)
    page.on("popup", popup)
    return page
