"""The library is offline and quiet inside, and as it was afterwards."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from assay.sources.datasets_library import library, offline

pytest.importorskip("datasets")


def test_the_library_is_offline_inside_and_as_it_was_afterwards() -> None:
    import datasets.config
    import huggingface_hub.constants

    places = (datasets.config, huggingface_hub.constants)
    before = [place.HF_HUB_OFFLINE for place in places]
    bars = datasets.are_progress_bars_disabled()
    with library() as inside:
        assert inside is datasets
        assert [place.HF_HUB_OFFLINE for place in places] == [True, True]
        assert datasets.are_progress_bars_disabled()
        with pytest.raises(ConnectionError):
            inside.load_dataset("org/nowhere_at_all")
    assert [place.HF_HUB_OFFLINE for place in places] == before
    assert datasets.are_progress_bars_disabled() == bars


@pytest.mark.parametrize("known", [None, "1", "0"])
def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch, known: str | None) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    if known is not None:
        monkeypatch.setenv("HF_HUB_OFFLINE", known)
    with suppress(ZeroDivisionError), offline():
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        raise ZeroDivisionError
    assert os.environ.get("HF_HUB_OFFLINE") == known
