"""The `datasets` library without its log output and warnings. The only module that imports it.

The library itself decides whether it may use the network, from HF_HUB_OFFLINE, which `--offline` also sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any

from assay.hub.client import quiet_client

_shows_progress = ContextVar("shows_progress", default=False)


@contextmanager
def showing_downloads(shows: bool = True) -> Iterator[None]:
    """Let the libraries show progress bars on stderr while they download."""
    before = _shows_progress.set(shows)
    try:
        yield
    finally:
        _shows_progress.reset(before)


@contextmanager
def quiet_datasets_library() -> Iterator[Any]:
    """Yield the library; raise ModuleNotFoundError if it is not installed."""
    import datasets

    with ExitStack() as stack:
        stack.enter_context(_progress_bars(datasets))
        stack.enter_context(quiet_client(shows_bars=_shows_progress.get()))
        # The library also raises what it logs, and Assay reports that with its location.
        level = datasets.logging.get_verbosity()
        datasets.logging.set_verbosity(datasets.logging.CRITICAL)
        stack.callback(datasets.logging.set_verbosity, level)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield datasets


@contextmanager
def _progress_bars(datasets: Any) -> Iterator[None]:
    were_hidden = datasets.are_progress_bars_disabled()
    hide, show = datasets.disable_progress_bars, datasets.enable_progress_bars
    if were_hidden == _shows_progress.get():
        (show if were_hidden else hide)()
    try:
        yield
    finally:
        (hide if were_hidden else show)()
