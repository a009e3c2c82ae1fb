from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from assay.app.viewed_runs import ViewedRuns
from assay.core.roles import Bearer, Role
from assay.faces.web.app import WebSettings, make_app
from assay.faces.web.data import data_router
from assay.faces.web.events import Streams
from assay.faces.web.open_runs import RunCache
from assay.faces.web.pages import pages_router
from assay.faces.web.security.gate import Bounds
from assay.faces.web.security.hosts import Hosts
from assay.faces.web.security.sessions import Sessions
from fakes.asgi_client import AsgiClient
from fakes.run_folders import write_run

PORT = 8421
TOKENS = {
    "a-readers-token-1": Bearer("rene", Role.READER),
    "an-owners-token-1": Bearer("ola", Role.OWNER),
}
_USUAL = Bounds()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two runs."""
    folder = tmp_path / "runs"
    write_run(folder / "one", ["yes", "no"])
    write_run(folder / "둘", ["예"], task="질문")
    return folder


@pytest.fixture
def viewer(runs: Path) -> Iterator[Callable[..., AsgiClient]]:
    """Return what makes a client of the viewer: open to this machine, unless `without_token` is None."""

    def make(*, without_token: Role | None = Role.READER, bounds: Bounds = _USUAL) -> AsgiClient:
        sessions = Sessions(TOKENS.get, "assay_8421")
        settings = WebSettings(Hosts("127.0.0.1", PORT), sessions, without_token, bounds)
        routers = [pages_router(sessions), data_router(RunCache(ViewedRuns([runs])), Streams())]
        return opened.enter_context(AsgiClient(make_app(settings, routers), f"127.0.0.1:{PORT}"))

    with ExitStack() as opened:
        yield make


@pytest.fixture
def client(viewer: Callable[..., AsgiClient]) -> AsgiClient:
    return viewer()
