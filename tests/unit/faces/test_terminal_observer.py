from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from assay.core.tally import Tally
from assay.faces.cli.progress import TerminalObserver


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_packages_are_frozen_when_the_first_requests_are_built() -> None:
    observer = TerminalObserver("none")
    observer.on_progress(Tally(n_samples=9))
    assert not gc.get_freeze_count()
    observer.on_progress(Tally(n_samples=9, n_begun=1))
    assert gc.get_freeze_count()


def test_weights_that_may_have_been_read_are_not_frozen() -> None:
    observer = TerminalObserver("none")
    observer.on_progress(Tally(n_samples=9, n_begun=2, n_answered=1))
    observer.on_preparation(Tally(n_samples=1))
    observer.on_progress(Tally(n_samples=9, n_begun=1))
    assert not gc.get_freeze_count()


def test_packages_are_frozen_once() -> None:
    TerminalObserver("none").on_progress(Tally(n_samples=9, n_begun=1))
    n = gc.get_freeze_count()
    kept: list[list[int]] = [[] for _ in range(1000)]
    TerminalObserver("none").on_progress(Tally(n_samples=9, n_begun=1))
    assert gc.get_freeze_count() <= n
    assert len(kept) == 1000
