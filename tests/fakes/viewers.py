"""A real viewer that listens, in a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.faces.web.view import Viewer, ViewSettings


@contextmanager
def viewing(*runs: Path, host: str = "127.0.0.1", token: str | None = None) -> Iterator[Viewer]:
    """Show runs on a free port."""
    viewer = Viewer(ViewSettings(runs, host, 0, token))
    thread = threading.Thread(target=viewer.serve)
    thread.start()
    try:
        yield viewer
    finally:
        viewer.server.stop()
        thread.join(10)
        assert not thread.is_alive(), "the viewer did not end"
