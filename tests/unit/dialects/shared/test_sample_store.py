from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.dialects.shared import sample_store
from assay.dialects.shared.sample_store import StoredSamples


def sample(nth: int) -> Sample:
    fields = {"q": f"question {nth}", "when": datetime(2026, 1, 1 + nth % 28, tzinfo=UTC), "n": Decimal(nth)}
    return Sample(str(nth), fields, Origin("f", nth), choices=("a", "b"), labels=("A", "B"), gold=(nth % 2,))


@given(n=st.integers(0, 40), room=st.integers(0, 30))
def test_samples_come_back_as_they_were_wherever_they_lie(n: int, room: int) -> None:
    every = [sample(nth) for nth in range(n)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample_store, "_MEMORY_CHARS", room * 1_010)
        kept = StoredSamples(iter(every))
    assert len(kept) == n
    assert list(kept) == every
    assert [kept[at] for at in reversed(range(-n, n))] == [*reversed(every), *reversed(every)]
    assert kept[1:30:3] == every[1:30:3]
    with pytest.raises(IndexError):
        kept[n]


def test_the_file_goes_with_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_store, "_MEMORY_CHARS", 1)
    before = len(os.listdir("/proc/self/fd"))
    kept = StoredSamples(map(sample, range(10)))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del kept
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_grows_by_the_places_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_store, "_MEMORY_CHARS", 100_000)
    monkeypatch.setattr(sample_store, "_WRITE_BUFFER_BYTES", 10_000)

    def make_samples(n: int) -> Iterator[Sample]:
        return (sample(nth) for nth in range(n))

    def peak(n: int) -> int:
        tracemalloc.start()
        kept = StoredSamples(make_samples(n))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(kept) == n
        return found

    peak(500)
    assert peak(10_000) - peak(2_000) < 8_000 * 20
