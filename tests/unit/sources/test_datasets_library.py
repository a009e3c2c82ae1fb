"""The imported library prints nothing and restores what it changes; only the user enables the network."""

from __future__ import annotations

import pytest

from assay.sources.datasets_library import quiet_datasets_library, showing_downloads

pytest.importorskip("datasets")


@pytest.mark.parametrize("is_offline", [True, False])
def test_the_library_is_quiet_inside_and_as_it_was_afterwards(
    monkeypatch: pytest.MonkeyPatch, is_offline: bool
) -> None:
    import datasets.config
    import huggingface_hub.constants

    for place in (datasets.config, huggingface_hub.constants):
        monkeypatch.setattr(place, "HF_HUB_OFFLINE", is_offline)
    bars, level = datasets.are_progress_bars_disabled(), datasets.logging.get_verbosity()
    with quiet_datasets_library() as inside:
        assert inside is datasets
        assert datasets.config.HF_HUB_OFFLINE is is_offline
        assert datasets.are_progress_bars_disabled()
    assert datasets.are_progress_bars_disabled() == bars
    assert datasets.logging.get_verbosity() == level


def test_progress_bars_are_shown_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    from huggingface_hub.utils import are_progress_bars_disabled

    monkeypatch.delenv("HF_HUB_DISABLE_PROGRESS_BARS", raising=False)
    with showing_downloads(), quiet_datasets_library():
        assert not datasets.are_progress_bars_disabled()
        assert not are_progress_bars_disabled()
    with quiet_datasets_library():
        assert datasets.are_progress_bars_disabled()
        assert are_progress_bars_disabled()
