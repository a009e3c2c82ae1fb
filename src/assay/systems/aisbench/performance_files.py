"""The files of AISBench's performance mode, written from the requests that a benchmark recorded.

performances/MODEL/
    LOAD.csv  LOAD.json                     the two tables
    DATASET_details.jsonl                   every request with its times and tokens
    DATASET_failed.jsonl                    the failed requests, and why they failed
    LOAD_plot.html                          the same page as `assay bench` writes

As in the original, a load of several datasets has its own tables, and the other files for each dataset. The
original's database of all times is not written: Assay's own request file contains them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

from assay.app.bench_page import StoredBench, compute_aisbench_numbers, write_page
from assay.bench.aisbench_profile import STATS, NoResult, ProfileResult
from assay.bench.folder import BenchManifest, get_records_path, read_records
from assay.bench.item_stream import split_item_id
from assay.bench.records import CallRecord
from assay.core.run import Setting
from assay.dialects.openicl.performance_summary import PerformanceSummary
from assay.systems.opencompass.result_files import to_relative_path

PERFORMANCES = "performances"
SOURCE = "config"
"""The source of the settings of such a benchmark."""


class LoadNames(NamedTuple):
    """The original's names for a benchmark; stored with it."""

    model: str
    load: str
    datasets: tuple[str, ...]
    batch_size: int

    def settings(self) -> dict[str, Setting]:
        """Return the names for the manifest, as they are read back from it."""
        plain = {**self._asdict(), "datasets": list(self.datasets)}
        return {name: Setting(value, SOURCE) for name, value in plain.items()}

    @classmethod
    def of(cls, manifest: BenchManifest) -> LoadNames:
        """Return the names in a manifest."""
        values = {name: manifest.settings[name].value for name in cls._fields}
        return cls(**{**values, "datasets": tuple(values["datasets"])})


class Performance(NamedTuple):
    """The results of a load, with the original's names."""

    names: LoadNames
    numbers: ProfileResult | NoResult
    page: Path


def write_performance(bench: StoredBench, work: Path, summary: PerformanceSummary) -> Performance:
    """Write the files of one benchmark into a work folder."""
    names = LoadNames.of(bench.manifest)
    folder = work / PERFORMANCES / to_relative_path(names.model.replace("/", "_"))
    place = folder / to_relative_path(names.load)
    place.parent.mkdir(parents=True, exist_ok=True)
    _write_calls(get_records_path(bench.folder), folder, names.datasets)
    numbers = compute_aisbench_numbers(
        bench,
        is_stable=summary.is_stable,
        batch_size=names.batch_size,
        stats=summary.stats or STATS,
    )
    # Remove earlier tables, which could be mistaken for the new ones.
    for suffix in (".csv", ".json"):
        _append_suffix(place, suffix).unlink(missing_ok=True)
    if isinstance(numbers, ProfileResult):
        _append_suffix(place, ".csv").write_text(numbers.csv(), encoding="utf-8", newline="")
        _append_suffix(place, ".json").write_text(numbers.json() + "\n", encoding="utf-8")
    page = write_page(bench, _append_suffix(place, "_plot.html"))
    return Performance(names, numbers, page)


def _write_calls(calls: Path, folder: Path, datasets: Sequence[str]) -> None:
    """Write all requests, and the failed ones to a second file."""
    with ExitStack() as files:
        details: dict[str, IO[str]] = {}
        for name in datasets:
            place = folder / to_relative_path(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            _append_suffix(place, "_failed.jsonl").unlink(missing_ok=True)
            details[name] = files.enter_context(
                open(_append_suffix(place, "_details.jsonl"), "w", encoding="utf-8")
            )
        failed: dict[str, IO[str]] = {}
        for dataset, row in _rows(calls, datasets):
            line = json.dumps(row, ensure_ascii=False) + "\n"
            details[dataset].write(line)
            if not row["success"]:
                if dataset not in failed:
                    path = _append_suffix(folder / to_relative_path(dataset), "_failed.jsonl")
                    failed[dataset] = files.enter_context(open(path, "w", encoding="utf-8"))
                failed[dataset].write(line)


def _rows(calls: Path, datasets: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for record in read_records(calls):
        dataset, item = (datasets[0], record.item)
        if len(datasets) > 1:
            dataset, item = split_item_id(record.item, datasets)
        yield dataset, _row(record, dataset, item)


def _row(record: CallRecord, dataset: str, item: str) -> dict[str, Any]:
    """Return a request with the original's names; times are seconds on a clock with an arbitrary zero."""
    times = record.times
    row: dict[str, Any] = {
        "data_abbr": dataset,
        "id": item,
        "turn_id": record.turn,
        "success": record.failure is None,
    }
    if record.failure is not None:
        return {**row, "error_info": f"{record.failure.kind}: {record.failure.message}"}
    # The original's end time is that of the last event.
    ended = times.event_at[-1] if times.event_at else times.ended
    latency = ended - times.began
    ttft = times.event_at[0] - times.began if times.event_at else 0.0
    further = record.n_output - 1
    return {
        **row,
        "input_tokens": record.n_input,
        "output_tokens": record.n_output,
        "start_time": times.began,
        "end_time": ended,
        "latency": latency,
        "ttft": ttft,
        "tpot": (latency - ttft) / further if times.event_at and further > 0 else 0.0,
        "generate_tokens_speed": record.n_output / latency if latency > 0 else 0.0,
    }


def _append_suffix(place: Path, suffix: str) -> Path:
    """Return a path with a suffix appended; its name may contain dots."""
    return place.with_name(place.name + suffix)
