"""The serving benchmarks that a viewer lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.app.bench import BenchPlan, Target, bench
from assay.app.viewed_benches import ViewedBenches
from assay.bench.item_stream import Items
from assay.bench.items import LoadItem
from assay.bench.load import ClosedLoad, Load
from assay.bench.rounds import Rounds
from assay.core.errors import StoreError
from fakes.timed_client import FakeTimedClient
from fakes.virtual_time import now, run_virtually


def write_bench(folder: Path) -> None:
    items = Items(Rounds(lambda: [LoadItem("i", "p")], 8), 8, {"source": "here"}, ())
    bench(
        Target(FakeTimedClient(), "openai:m@http://127.0.0.1:1/v1"),
        items,
        BenchPlan(Load(ClosedLoad(2), n=8)),
        out=str(folder),
        run=run_virtually,
        clock=now,
    )


def test_benchmarks_are_listed_and_read_by_name(tmp_path: Path) -> None:
    root, outside = tmp_path / "runs", tmp_path / "outside"
    root.mkdir()
    write_bench(root / "fast")
    write_bench(outside / "secret")
    (root / "link").symlink_to(outside / "secret")
    (root / "unfinished").mkdir()
    (root / "unfinished" / "bench.json").write_text("{}", encoding="utf-8")
    benches = ViewedBenches((root,))
    found = {one.name: one for one in benches.list_benches()}
    assert set(found) == {"fast", "unfinished"}
    assert (found["fast"].model, found["fast"].n_calls, found["fast"].n_failed) == ("m", 8, 0)
    assert "did not finish" in (found["unfinished"].fault or "")
    page = benches.read_page("fast")
    assert page is not None
    assert page.head.load == found["fast"].load
    assert [benches.read_page(name) for name in ("link", "../outside/secret", "none", "")] == [None] * 4
    with pytest.raises(StoreError):
        benches.read_page("unfinished")
