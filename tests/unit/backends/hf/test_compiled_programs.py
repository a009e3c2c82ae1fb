"""Where torch keeps what it compiled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.backends.hf.compiled_programs import keep_compiled_programs

NAMES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # Restored after the test, whatever it sets.
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))


def test_compiled_programs_stay_in_the_cache_folder(tmp_path: Path) -> None:
    keep_compiled_programs()
    folders = [Path(os.environ[name]) for name in NAMES]
    assert all(folder.is_relative_to(tmp_path) for folder in folders)
    assert len(set(folders)) == 2


def test_the_users_own_folder_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/mine")
    keep_compiled_programs()
    assert [os.environ[name] for name in NAMES] == ["/mine", ""]
