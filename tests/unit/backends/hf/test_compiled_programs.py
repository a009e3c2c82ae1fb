"""Where compiled kernels are kept, and how they are counted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.backends.hf import compile_timing
from assay.backends.hf.compiled_programs import prepare_kernels
from assay.backends.hf.work_counters import Counters
from assay.core.time_profile import recording_time


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "")  # Restored after the test, whatever it sets.
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))


def test_compiled_kernels_stay_in_the_cache_folder(tmp_path: Path) -> None:
    prepare_kernels("cpu")
    assert Path(os.environ["TRITON_CACHE_DIR"]).is_relative_to(tmp_path)


def test_the_users_own_folder_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "/mine")
    prepare_kernels("cpu")
    assert os.environ["TRITON_CACHE_DIR"] == "/mine"


def test_compilations_are_counted_and_are_a_phase_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    knobs = pytest.importorskip("triton.knobs", reason="Triton is installed with torch for GPUs")
    monkeypatch.setattr(knobs.runtime, "jit_cache_hook", None)
    monkeypatch.setattr(knobs.runtime, "jit_post_compile_hook", None)
    compile_timing.watch_compilations()
    counters = Counters()
    with recording_time() as recorder:
        for is_finished in (True, False, True):  # The second fails.
            assert not knobs.runtime.jit_cache_hook(key="", fn=None)  # A true value would cancel it.
            if is_finished:
                knobs.runtime.jit_post_compile_hook(key="", fn=None)
    assert counters.as_dict()["compilations"] == 3
    assert set(recorder.compute_seconds()) == {"compile", "other"}
