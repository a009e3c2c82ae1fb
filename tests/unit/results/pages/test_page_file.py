"""A page in a single file: complete, without requests, and closed to other scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from assay.results.pages.page_file import render_page_file
from fakes.page_blocks import read_blocks

HOSTILE = (
    "</title></script><script>alert(1)</script><svg onload=alert(2)>\"'><img src=//evil.example/x> \u202e"
)


class Page(HTMLParser):
    """A page as a browser would take it apart; an element that is not closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and not any("type" in attributes for tag, attributes in self.tags[-1:]):
            self.inside[self._open[-1]] = self.inside.get(self._open[-1], "") + data


def page_of(title: str = "a title", *, has_media: bool = False) -> str:
    data = {"board": b'{"a":"</script>"}'}
    return "".join(render_page_file(title, "leaderboard", "board_file", data, has_media=has_media))


def test_a_page_is_whole_and_asks_for_nothing() -> None:
    page = Page(page_of())
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("html", "head", "body", "main", "style", "script")] == [1] * 5 + [2]
    for _, attributes in page.tags:
        assert set(attributes).isdisjoint({"src", "href", "style"})
        assert not any(name.startswith("on") for name in attributes)
    assert read_blocks(page_of()) == {"board": {"a": "</script>"}}


@pytest.mark.parametrize("has_media", [False, True])
def test_the_policy_lets_this_script_and_this_style_run_and_nothing_else(has_media: bool) -> None:
    page = Page(page_of(has_media=has_media))
    policy = next(
        attributes["content"] or ""
        for _, attributes in page.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.inside[kind].encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    media = {"img-src": "data:", "media-src": "data:"} if has_media else {}
    nothing = dict.fromkeys(("default-src", "base-uri", "form-action", "trusted-types"), "'none'")
    assert rules == {**nothing, **media, "require-trusted-types-for": "'script'"}


def test_a_title_is_text() -> None:
    text = page_of(HOSTILE)
    page = Page(text)
    assert page.inside["title"] == HOSTILE.replace("\u202e", "⟨U+202E⟩")
    assert not re.search("<(img|svg)", text)
