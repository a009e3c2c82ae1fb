"""Results as HTML and text, and progress where it can be seen."""

from __future__ import annotations

import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import assay
from assay.app.api import progress

HOSTILE = "<script>alert('x')</script> & <b>"
ROWS = [{"question": f"{HOSTILE} {n}", "answer": str(n), "topic": f"<i>{n % 2}"} for n in range(8)]


class Checker(HTMLParser):
    """Collects tags, and checks that they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def check(self, html: str) -> None:
        self.feed(html)
        assert self._open == []


@pytest.fixture(autouse=True)
def folder(workdir: Path) -> Path:
    return workdir


def evaluate(reply: str) -> assay.RunResult:
    return assay.run(ROWS, model=lambda prompt: reply, name="<quiz>", group_by="topic")


def test_a_result_is_escaped_static_html() -> None:
    html = evaluate(f"3 {HOSTILE}")._repr_html_()
    checker = Checker()
    checker.check(html)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert {"table", "svg", "details"} <= set(checker.tags)
    assert "First 5 of 7 samples that are not right" in html
    assert "2 groups" in html
    # Only half-transparent grey and the page's own colour: readable on light and dark pages.
    assert not re.search(r"(?<![-\w])color:(?!inherit)", html)
    assert not re.search(r"background(?:-color)?:(?!none)", html)
    assert "http" not in html


def test_a_comparison_shows_what_changed() -> None:
    compared = evaluate("3").compare(evaluate("4"))
    html = compared._repr_html_()
    Checker().check(html)
    assert "<script" not in html
    assert html.count("is right: ") == 2
    assert "A and B score the same" in repr(compared)
    assert compared.difference.n == 8
    assert compared.difference.value == 0
    assert not compared.difference.is_worse
    assert [flip.first.answer for flip in compared.flips[0].only_first] == ["3"]
    assert compared.to_markdown().startswith("# ")


def test_a_run_without_scores_says_why() -> None:
    result = assay.run(ROWS, model=lambda prompt: "3", no_answers=True)
    Checker().check(result._repr_html_())
    assert "not scored" in repr(result)
    with pytest.raises(assay.AssayError, match="USAGE-007"):
        result.accuracy  # noqa: B018


class Shell:
    """A shell of IPython in a kernel, as far as progress looks at it."""

    kernel = object()


class Display:
    """Records what a notebook shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, html: Any, *, display_id: bool) -> Display:
        assert display_id
        self.shown.append(html)
        return self

    def update(self, html: Any) -> None:
        self.shown.append(html)


def test_a_notebook_shows_a_bar_and_then_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    display = Display()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Shell))
    monkeypatch.delitem(sys.modules, "IPython.core.getipython", raising=False)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    evaluate("3")
    assert "<progress" in display.shown[0]
    assert "8 samples in 0:0" in display.shown[-1]
    for html in display.shown:
        Checker().check(html)
    n = len(display.shown)
    assay.run(ROWS, model=lambda prompt: "3", progress=False)
    assert len(display.shown) == n


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_line_and_other_output_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stderr", plain)
    evaluate("3")
    assert plain.getvalue() == ""
    assay.run(ROWS, model=lambda prompt: "3", progress=True)
    assert "8 samples in 0:0" in plain.getvalue()
    monkeypatch.setattr(sys, "stderr", terminal)
    evaluate("4")
    assert "waiting for the model" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_a_failed_run_ends_the_display(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(RuntimeError, match="broken"), progress.open_observer(None):
        raise RuntimeError("broken")
    assert terminal.getvalue().endswith("\r\x1b[2K")
