"""A team's pages with hostile values in the database: all are shown as text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from assay.core.errors import Problem
from assay.core.origin import Origin
from assay.core.roles import Role
from assay.core.team import JobState, Provenance, RegisteredDataset, RegisteredModel
from assay.ledger.database import open_database
from assay.ledger.datasets import Datasets
from assay.ledger.jobs import JobQueue, JobRequest
from assay.ledger.models import Models
from assay.ledger.tokens import Tokens
from browser.hostile_texts import HOSTILE, require_text_alone
from fakes.team_server import TeamServer

_SHOWN = "<img src=x onerror=alert(1)>"
_PATIENT_MS = 15_000
_TEXTS = [text.replace("\0", "\\0")[:4_000] for text in HOSTILE]
"""As long as the API takes them, and without what no database keeps."""


class Hostile(NamedTuple):
    """A server full of such texts."""

    server: TeamServer
    token: str
    failed: int
    """The number of an evaluation that has failed."""
    waiting: int


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    folder = tmp_path_factory.mktemp("team")
    (folder / "runs").mkdir()
    with (folder / "rows.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "answer", *(f"{nth} {text[:200]}" for nth, text in enumerate(_TEXTS))])
        rows.writerows([text, text, *_TEXTS] for text in _TEXTS[:5])
    with TeamServer(folder, "--workers", "0") as server:
        database = open_database(folder / "assay-team" / "team.db")
        all_texts = "\n".join(_TEXTS)
        Datasets(database).add(
            RegisteredDataset(
                "rows",
                str(folder / "rows.csv"),
                _SHOWN,
                Provenance.UPLOAD,
                all_texts,
                tuple(_TEXTS),
                tuple(_TEXTS),
                _SHOWN,
                {},
                _SHOWN,
            )
        )
        Datasets(database).add(RegisteredDataset("gone", "/nowhere.csv", "table", Provenance.UPLOAD, _SHOWN))
        Models(database).add(
            RegisteredModel("model", _SHOWN, {text: text for text in _TEXTS}, all_texts, registered_by=_SHOWN)
        )
        queue = JobQueue(database)
        message = {"stop": _TEXTS, "cot": all_texts, _SHOWN: _SHOWN}
        failed, waiting = (
            queue.submit(JobRequest(all_texts, tuple(_TEXTS), message, b"{}", "rows-model", _SHOWN)).id
            for _ in range(2)
        )
        claim = queue.claim("worker")
        assert claim is not None
        place = Origin(_SHOWN, 3, 4, _SHOWN)
        problems = [Problem(_SHOWN, text, text, place) for text in _TEXTS]
        queue.finish(claim, JobState.FAILED, problems)
        token = Tokens(database).add(_SHOWN, Role.OWNER)
        database.close()
        yield Hostile(server, token, failed, waiting)


@pytest.mark.parametrize("width", [380, 1280])
@pytest.mark.parametrize(
    "path",
    [
        "/evaluations",
        "/evaluations/FAILED",
        "/evaluations/WAITING",
        "/evaluations/new",
        "/datasets",
        "/datasets/rows",
        "/datasets/gone",
        "/models",
        "/leaderboard",
        "/api",
    ],
)
def test_every_page_shows_texts_as_texts(browser_page: Page, hostile: Hostile, path: str, width: int) -> None:
    page = browser_page
    page.set_viewport_size({"width": width, "height": 800})
    host, port = hostile.server.place
    path = path.replace("FAILED", str(hostile.failed)).replace("WAITING", str(hostile.waiting))
    page.goto(f"http://{host}:{port}{path}?token={hostile.token}")
    expect(page.locator(".visitor")).to_contain_text(_SHOWN)
    expect(page.locator("main h1")).to_be_visible()
    if path in ("/leaderboard", "/api"):
        page.wait_for_load_state("networkidle")
    else:
        expect(page.locator("main")).to_contain_text(_SHOWN, timeout=_PATIENT_MS)
    if path == "/datasets/rows":
        expect(page.get_by_label("First rows of rows")).to_contain_text(_SHOWN, timeout=_PATIENT_MS)
    require_text_alone(page)
