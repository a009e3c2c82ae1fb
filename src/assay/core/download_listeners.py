"""Listeners that downloads report to. Imports nothing heavy, so that every command can listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from assay.core.download import Download

Listener: TypeAlias = "Callable[[Download], None]"
_listeners: list[Listener] = []


@contextmanager
def reporting_downloads(listener: Listener) -> Iterator[None]:
    """Report every download inside the block to a listener."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report_download(download: Download) -> None:
    """Report a download's progress to the innermost listener."""
    if _listeners:
        _listeners[-1](download)
