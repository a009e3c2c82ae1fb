"""A benchmark from its plan to its folder, in virtual time except one test against a server."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay.app.bench import BenchObserver, BenchPlan, FinishedBench, Ladder, Target, bench
from assay.backends.openai.timed_client import OpenAITimedClient
from assay.bench.arrivals import Arrivals
from assay.bench.folder import BenchManifest, BenchResult, read_records
from assay.bench.item_stream import Items
from assay.bench.items import LoadItem
from assay.bench.limits import LoadLimits
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.rounds import Rounds
from assay.bench.search import SearchPlan
from assay.bench.sweep import TrialLength
from assay.core.errors import BackendError, StoreError
from assay.core.prompt import Message
from assay.core.request import Generate
from assay.core.timing import LoadProgress, TimedCall
from fakes.openai_server import serving, streaming_model
from fakes.timed_client import FakeTimedClient
from fakes.virtual_time import now, run_virtually


def items_of(n: int, *, n_source: int | None = None, ends: str = "") -> Items:
    source = [LoadItem(f"i{number}", f"p{number}{ends}") for number in range(n_source or n)]
    return Items(Rounds(lambda: source, n), n, {"source": "here"}, ("a note of the items",))


def benched(
    client: FakeTimedClient,
    items: Items,
    plan: BenchPlan,
    out: Path,
    observer: BenchObserver | None = None,
) -> FinishedBench:
    target = Target(client, "openai:m@http://127.0.0.1:1/v1")
    return bench(target, items, plan, out=str(out), observer=observer, run=run_virtually, clock=now)


def stored(out: Path) -> BenchResult:
    return msgspec.json.decode((out / "summary.json").read_bytes(), type=BenchResult)


class Sharing(FakeTimedClient):
    """A server that works on four calls at a time for 0.1 s each; more of them share it."""

    def __init__(self) -> None:
        super().__init__(lambda number: 0.1 * max(1.0, self.n_under_way / 4))


def test_a_load_becomes_a_folder(tmp_path: Path) -> None:
    plan = BenchPlan(Load(ClosedLoad(4)), n_warm_up=2, seed=5)
    client = FakeTimedClient(lambda number: 0.5)
    finished = benched(client, items_of(40, n_source=42), plan, tmp_path / "out")
    # Two others than the forty, before them.
    assert [prompt for _, prompt in client.sent[:4]] == ["p40", "p41", "p0", "p1"]
    records = list(read_records(tmp_path / "out" / "requests.jsonl"))
    assert sorted(record.item for record in records) == sorted(f"i{number}" for number in range(40))
    result = stored(tmp_path / "out")
    assert result == finished.result
    assert result.summary is not None
    assert result.summary.n_succeeded == 40
    assert result.summary.value("e2el", "p99") == pytest.approx(0.5)
    assert result.summary.value("requests_per_s") == pytest.approx(8)
    assert result.driven is not None
    assert result.driven.seconds == pytest.approx(5)
    assert result.steady is not None
    assert result.steady.value("requests_per_s") == pytest.approx(8)
    assert result.notes == ("a note of the items",)
    manifest = msgspec.json.decode((tmp_path / "out" / "bench.json").read_bytes(), type=BenchManifest)
    assert manifest == finished.manifest
    assert (manifest.model, manifest.seed) == ("openai:m@http://127.0.0.1:1/v1", 5)
    assert manifest.items == {"source": "here", "n": 40}
    assert set(manifest.versions) >= {"assay", "python"}


def test_a_folder_is_named_by_model_and_time_and_never_taken_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.app.bench.utc_now", lambda: "2026-11-16T12:00:05+00:00")
    target = Target(FakeTimedClient(), "openai:org/my model@http://127.0.0.1:1/v1")
    plan = BenchPlan(Load(ClosedLoad(1)))
    found = [
        bench(target, items_of(1), plan, runs_dir=str(tmp_path), run=run_virtually, clock=now).folder.name
        for _ in range(2)
    ]
    assert found == ["bench-my-model-2026-11-16-120005", "bench-my-model-2026-11-16-120005-2"]


def test_a_folder_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", encoding="utf-8")
    client = FakeTimedClient()
    with pytest.raises(StoreError, match="STORE-002"):
        benched(client, items_of(1), BenchPlan(Load(ClosedLoad(1))), tmp_path)
    assert client.sent == []


def test_warm_up_with_the_same_items_is_reported(tmp_path: Path) -> None:
    finished = benched(FakeTimedClient(), items_of(3), BenchPlan(Load(ClosedLoad(1))), tmp_path / "out")
    assert "the warm-up sent items that are also measured: there are no others" in finished.result.notes
    without = BenchPlan(Load(ClosedLoad(1)), n_warm_up=0)
    client = FakeTimedClient()
    finished = benched(client, items_of(3), without, tmp_path / "without")
    assert finished.result.notes == ("a note of the items",)
    assert len(client.sent) == 3


def test_nothing_is_measured_of_a_server_that_answers_nothing(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="LOAD-004"):
        benched(FakeTimedClient(), items_of(3, ends="!"), BenchPlan(Load(ClosedLoad(1))), tmp_path / "out")
    assert not (tmp_path / "out" / "summary.json").exists()


def test_failed_calls_are_written_and_counted(tmp_path: Path) -> None:
    plan = BenchPlan(Load(ClosedLoad(2)), n_warm_up=0)
    finished = benched(FakeTimedClient(), items_of(3, ends="!"), plan, tmp_path / "out")
    assert finished.result.summary is not None
    assert finished.result.summary.n_failed == 3
    lines = (tmp_path / "out" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["failure"]["kind"] for line in lines] == ["injected"] * 3


def test_no_steady_window_has_a_reason(tmp_path: Path) -> None:
    finished = benched(FakeTimedClient(), items_of(3), BenchPlan(Load(ClosedLoad(9))), tmp_path / "out")
    assert finished.result.steady is None
    assert "the peak was 3 concurrent requests" in finished.result.not_steady


def test_a_face_hears_of_it(tmp_path: Path) -> None:
    heard: list[str] = []

    class Listening(BenchObserver):
        def on_start(self, server: str, requests: str) -> None:
            heard.append(f"started on {server} with {requests}")

        def on_load(self, level: float | None) -> None:
            heard.append(f"load at {level}")

        def on_progress(self, progress: LoadProgress) -> None:
            # What ended is on the disk by now.
            path = next((tmp_path / "out").rglob("requests.jsonl"))
            assert len(list(read_records(path))) == progress.n_done
            heard.append("progress")

        def on_level(self, row: Sequence[str]) -> None:
            heard.append(f"tried {row[0]}")

    ladder = Ladder("concurrency", (1,))
    plan = BenchPlan(Load(ClosedLoad(1)), n_warm_up=2, sweep=ladder, trial=TrialLength(2, 0))
    benched(FakeTimedClient(), items_of(9), plan, tmp_path / "out", Listening())
    assert [one for one in heard if one != "progress"] == [
        "started on openai:m@http://127.0.0.1:1/v1 with here, 9",
        "load at 1",
        "tried 1",
    ]
    assert heard.count("progress") > 10


def test_a_ladder_shows_where_a_server_is_full(tmp_path: Path) -> None:
    client = Sharing()
    ladder = Ladder("concurrency", (1, 2, 4, 8, 16))
    plan = BenchPlan(Load(ClosedLoad(1)), n_warm_up=0, sweep=ladder, trial=TrialLength(40, 2))
    finished = benched(client, items_of(1000), plan, tmp_path / "out")
    swept = stored(tmp_path / "out").swept
    assert swept is not None
    assert swept == finished.result.swept
    through = {trial.level: trial.summary.value("requests_per_s") or 0 for trial in swept.trials}
    assert through[1] == pytest.approx(10)
    assert through[2] == pytest.approx(20)
    assert through[4] == pytest.approx(40)
    assert all(38 < through[level] < 42 for level in (8, 16))
    # No prompt was sent twice, though five loads were sent; each has its calls in a folder of its own.
    prompts = [prompt for _, prompt in client.sent]
    assert len(set(prompts)) == len(prompts)
    folders = sorted(path.name for path in (tmp_path / "out" / "trials").iterdir())
    assert folders == ["01-1", "02-2", "03-4", "04-8", "05-16"]
    written = list(read_records(tmp_path / "out" / "trials" / "03-4" / "requests.jsonl"))
    assert len(written) == swept.trials[2].driven.n_done >= 80


def test_prompts_that_come_again_in_a_sweep_are_reported(tmp_path: Path) -> None:
    ladder = Ladder("rate", (10, 20))
    plan = BenchPlan(Load(OpenLoad(Arrivals(rate=1))), n_warm_up=0, sweep=ladder, trial=TrialLength(30, 1))
    finished = benched(FakeTimedClient(), items_of(50), plan, tmp_path / "out")
    assert any("50 different prompts were sent 60 times" in note for note in finished.result.notes)


def test_a_search_finds_the_most_clients_that_keep_a_limit(tmp_path: Path) -> None:
    # C clients take 0.1 * C / 4 s for each call, so 12 of them reach 300 ms and 11 do not.
    limits = LoadLimits.parse(["p99 e2el < 299ms", "failed < 1%"])
    plan = BenchPlan(
        Load(ClosedLoad(1)),
        n_warm_up=1,
        limits=limits,
        sweep=SearchPlan("concurrency", 2, tolerance=0.01),
        trial=TrialLength(100, 1),
    )
    finished = benched(Sharing(), items_of(5000), plan, tmp_path / "out")
    swept = finished.result.swept
    assert swept is not None
    assert [trial.level for trial in swept.trials] == [2, 4, 8, 16, 12, 10, 11]
    assert swept.best == 11
    assert swept.limits == ("p99 e2el < 299ms", "failed < 1%")
    (broken,) = {trial.level: trial.broken for trial in swept.trials}[12]
    assert broken == "p99 e2el < 299ms: measured 300ms"


def test_a_search_finds_the_highest_rate_of_good_calls(tmp_path: Path) -> None:
    # Forty calls a second are the most that such a server can do; above, calls pile up.
    plan = BenchPlan(
        Load(OpenLoad(Arrivals(rate=1))),
        limits=LoadLimits.parse(["e2el < 150ms", "goodput > 95%"]),
        sweep=SearchPlan("rate", 5, tolerance=0.02),
        trial=TrialLength(200, 10),
    )
    finished = benched(Sharing(), items_of(50_000), plan, tmp_path / "out")
    assert finished.result.swept is not None
    assert finished.result.swept.best == pytest.approx(40, rel=0.05)


class Interrupting(FakeTimedClient):
    """The person presses Ctrl-C while the tenth call is under way."""

    async def call(self, ask: Generate) -> TimedCall:
        if len(self.sent) == 9:
            signal.raise_signal(signal.SIGINT)
        return await super().call(ask)


def test_ctrl_c_keeps_what_is_complete(tmp_path: Path) -> None:
    plan = BenchPlan(Load(ClosedLoad(2)), n_warm_up=0)
    finished = benched(Interrupting(), items_of(100), plan, tmp_path / "out")
    result = stored(tmp_path / "out")
    assert result.is_partial
    assert result == finished.result
    assert result.driven is not None
    assert (result.driven.n_done, result.driven.n_cut) == (8, 2)
    assert len(list(read_records(tmp_path / "out" / "requests.jsonl"))) == 8
    assert any("stopped early" in note for note in result.notes)


def test_ctrl_c_ends_a_sweep_with_the_trials_made(tmp_path: Path) -> None:
    ladder = Ladder("concurrency", (1, 2, 4))
    plan = BenchPlan(Load(ClosedLoad(1)), n_warm_up=0, sweep=ladder, trial=TrialLength(6, 0))
    finished = benched(Interrupting(), items_of(100), plan, tmp_path / "out")
    assert finished.result.is_partial
    assert finished.result.swept is not None
    assert [trial.driven.is_partial for trial in finished.result.swept.trials] == [False, True]


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    plan = BenchPlan(Load(ClosedLoad(2)), n_warm_up=0)
    benched(FakeTimedClient(), items_of(3), plan, tmp_path / "out")
    path = tmp_path / "out" / "requests.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert len(list(read_records(path))) == 2


def test_items_that_are_made_too_slowly_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.bench.item_prefetch.MAX_PREFETCHED_CHARS", 0)
    finished = benched(FakeTimedClient(), items_of(30), BenchPlan(Load(ClosedLoad(2))), tmp_path / "out")
    assert finished.result.driven is not None
    (note,) = finished.result.driven.notes
    assert note == "30 items were not ready in time: creating them takes too long"


@pytest.mark.parametrize(
    "load", [Load(ClosedLoad(8)), Load(OpenLoad(Arrivals(rate=500, burstiness=1)))], ids=["closed", "open"]
)
def test_a_server_is_asked_and_timed_on_a_real_clock(tmp_path: Path, load: Load) -> None:
    talks = [
        LoadItem(f"t{number}", (Message("user", f"{number}?"),), max_tokens=3, turns=("and then?",))
        for number in range(40)
    ]
    items = Items(Rounds(lambda: talks, 40), 40, {})
    with serving(streaming_model) as server:
        target = Target(OpenAITimedClient(f"m@{server.url}", {}), f"openai:m@{server.url}")
        finished = bench(target, items, BenchPlan(load), out=str(tmp_path / "out"))
    # Forty conversations of two turns, and one before them to warm up.
    assert len(server.bodies) == 82
    records = list(read_records(tmp_path / "out" / "requests.jsonl"))
    assert sorted((record.item, record.turn) for record in records) == sorted(
        (talk.id, turn) for talk in talks for turn in (0, 1)
    )
    assert sorted(record.number for record in records) == list(range(80))
    assert all(record.failure is None and record.n_output == 3 for record in records)
    for record in records:
        times = record.times
        assert times.began <= times.text_at[0] <= times.text_at[-1] <= times.ended
        if isinstance(load.shape, OpenLoad):
            assert (record.due is None) == (record.turn == 1)
            assert record.due is None or record.due <= times.began
    message = {json.dumps(body["messages"]) for body in server.bodies}
    assert len([one for one in message if "and then?" in one and '"assistant"' in one]) == 40
    assert finished.result.summary is not None
    assert (finished.result.summary.n_succeeded, finished.result.summary.n_failed) == (80, 0)
    assert finished.result.summary.value("ttft", "p50") is not None


@pytest.mark.parametrize(
    ("load", "n_connected"),
    [
        (Load(ClosedLoad(4)), 4),
        (Load(ClosedLoad(4), n=2), 2),
        (Load(OpenLoad(Arrivals(rate=5))), 1),
    ],
)
def test_connections_that_a_load_surely_needs_are_open_before_it(
    load: Load, n_connected: int, tmp_path: Path
) -> None:
    client = FakeTimedClient()
    benched(client, items_of(6), BenchPlan(load, n_warm_up=0), tmp_path / "out")
    assert client.n_connected == n_connected
