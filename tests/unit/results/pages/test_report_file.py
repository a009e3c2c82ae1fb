from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.results.pages import file_blocks, report_file
from assay.results.pages.report_file import render_report_page, write_report_page
from assay.results.run_view import RunView
from assay.results.store import HTML_REPORT
from fakes.page_blocks import read_blocks


def opened(folder: Path) -> RunView:
    view = RunView(folder)
    view.refresh()
    return view


def page_of(view: RunView) -> str:
    return "".join(render_report_page(view))


def nearly(shown: Any, stored: Any) -> bool:
    """Whether two documents are alike but for decimals that no page shows."""
    if isinstance(stored, float):
        return bool(abs(shown - stored) < 1e-5)
    if isinstance(stored, dict):
        return shown.keys() == stored.keys() and all(nearly(shown[key], stored[key]) for key in stored)
    if isinstance(stored, list):
        return len(shown) == len(stored) and all(map(nearly, shown, stored))
    return bool(shown == stored)


def test_numbers_in_what_a_model_wrote_are_left_alone() -> None:
    text = json.dumps('pi is 3.14159265358979 "key":"0a","type":"likelihood"')
    message = b'{"request_id":"t/1","key":"0a","outcome":{"type":"completion","outputs":[{"text":%b}]}}'
    written = message % text.encode()
    assert json.loads(file_blocks.shorten_responses((written,)))["outcome"] == json.loads(written)["outcome"]


def test_a_run_writes_its_page(mock_run: Path) -> None:
    page = (mock_run / HTML_REPORT).read_text(encoding="utf-8")
    assert page == page_of(opened(mock_run))
    assert page.startswith("<!doctype html>")
    assert "<title>letters · mock</title>" in page


def test_all_samples_lie_in_it_in_full(mock_run: Path) -> None:
    view = opened(mock_run)
    found = read_blocks(page_of(view))
    run = found["run"]
    assert run["n_samples"] == found["table"]["n"] == 60
    seen = {}
    for block, places in enumerate(run["in_file"]["blocks"]):
        for nth, place in enumerate(places):
            seen[place] = found[f"details-{block}"][nth]
    with view.details() as details:
        for place in range(60):
            stored, shown = json.loads(details.json(place)), seen[place]
            assert shown["record"] == stored["record"]
            assert shown["scores"] == stored["scores"]
            for response in stored["responses"]:
                del response["key"]
            assert nearly(shown["responses"], stored["responses"])


def test_what_does_not_fit_is_what_says_least(mock_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_blocks, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(file_blocks, "MOST_BYTES", 20_000)
    view = opened(mock_run)
    run = read_blocks(page_of(view))["run"]
    kept = [place for places in run["in_file"]["blocks"] for place in places]
    assert 0 < len(kept) < 60
    left = set(range(60)) - set(kept)
    assert max(map(view.columns.interest, kept)) <= min(map(view.columns.interest, left))
    assert view.columns.interest(kept[0]) == 0
    tracks = view.table().tracks
    assert any(track.outcomes[kept[0]] == "F" for track in tracks)


def test_a_table_is_bounded_too(mock_run: Path) -> None:
    view = RunView(mock_run, 10)
    view.refresh()
    found = read_blocks(page_of(view))
    assert found["table"]["n"] == found["run"]["in_file"]["n_rows"] == 10
    assert found["run"]["n_samples"] == 60


def test_a_page_is_replaced_as_a_whole(mock_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (mock_run / HTML_REPORT).read_bytes()

    def fail(view: RunView) -> Iterator[str]:
        yield "<!doctype html>"
        raise KeyboardInterrupt

    monkeypatch.setattr(report_file, "render_report_page", fail)
    with pytest.raises(KeyboardInterrupt):
        write_report_page(mock_run)
    assert (mock_run / HTML_REPORT).read_bytes() == before
