"""Tables of results on terminals of any width: no word is broken, and no line is longer than the terminal."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from assay.faces.cli import console as consoles
from assay.faces.cli import tables

HEADINGS = ("task", "method", "counted\n/ n", "score", "95 %\ninterval", "answer off %")
ROWS = [
    ("arithmetic", "ppl", "30/30", "23.3", "11.8–40.9", "0.0"),
    ("arithmetic", "gen", "30/30", "20.0", "9.5–37.3", "0.0"),
    ("물리학", "gen", "8/10", "62.5", "30.6–86.3", "10.0"),
]


def show(monkeypatch: pytest.MonkeyPatch, width: int | None, **how: object) -> str:
    file = io.StringIO()
    is_terminal = width is not None
    console = consoles.Screen(file=file, width=width or 120, force_terminal=is_terminal, color_system=None)
    monkeypatch.setattr(tables, "out", console)
    tables.print_rows(HEADINGS, ROWS, n_left=2, **how)  # type: ignore[arg-type]
    return file.getvalue()


@pytest.mark.parametrize("width", range(24, 80, 2))
def test_no_word_is_broken_and_no_line_is_too_long(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = show(monkeypatch, width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= max(width, 26)
    # Stacked rows need no headings for their two names.
    for cell in (*HEADINGS[2:], *(cell for row in ROWS for cell in row)):
        for word in cell.split():
            assert word in text


def test_a_narrow_terminal_gets_a_line_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = show(monkeypatch, 30).splitlines()
    assert lines[:4] == [
        "arithmetic  ppl",
        "  counted / n    30/30",
        "  score          23.3",
        "  95 % interval  11.8–40.9",
    ]


def test_optional_columns_are_omitted_before_the_rows_are_stacked(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = show(monkeypatch, 44, optional=((5,), (2,))).splitlines()
    assert "answer off %" not in "\n".join(lines)
    assert lines[1].split() == ["task", "method", "/", "n", "score", "interval"]
    assert show(monkeypatch, 80, optional=((5,),)).splitlines()[1].endswith("answer off %")


def test_repeated_names_are_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (None, 100, 30):
        assert show(monkeypatch, width, n_once=1).count("arithmetic") == 1
        assert show(monkeypatch, width).count("arithmetic") == 2


def test_a_pipe_gets_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = show(monkeypatch, None, optional=((5,),)).splitlines()
    assert lines[1].split() == ["task", "method", "/", "n", "score", "interval", "answer", "off", "%"]
    assert len(lines) == 5
