"""Benchmark folders: read them back, write their page, compute AISBench's numbers from their requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from assay.bench.aisbench_profile import STATS, AISBenchProfile, NoResult, ProfileResult
from assay.bench.arrivals import Arrivals, TraceArrivals
from assay.bench.folder import MANIFEST, SUMMARY, BenchManifest, BenchResult, get_records_path, read_records
from assay.bench.load import ClosedLoad, Load, OpenLoad
from assay.bench.page_data import LoadView, PageData, PageHead
from assay.bench.page_records import build_load_view
from assay.bench.page_summary import build_search_view, build_sweep_view
from assay.bench.summary import BenchSummary
from assay.core.errors import Problem, StoreError
from assay.core.origin import Origin
from assay.results.pages.page_file import render_page_file

T = TypeVar("T")
PAGE = "report.html"
N_LOADS = 12
"""Maximum number of loads with details; if there are more, the last ones."""
_SHOWN_ELSEWHERE = {"model", "dataset", "out", "runs_dir"}
"""Settings that the page shows by other names, or that do not help its reader."""


class StoredBench(NamedTuple):
    """A finished benchmark."""

    folder: Path
    manifest: BenchManifest
    result: BenchResult


def is_bench(folder: Path) -> bool:
    """Return whether a folder contains a benchmark."""
    return (folder / MANIFEST).is_file()


def bench_folders(root: Path) -> list[Path]:
    """Return the benchmarks in a folder, sorted by name."""
    return sorted(filter(is_bench, root.iterdir())) if root.is_dir() else []


def read_bench(folder: Path) -> StoredBench:
    """Read a benchmark from its folder."""
    if not (folder / SUMMARY).is_file():
        raise StoreError(
            Problem(
                "STORE-010",
                f"the benchmark has no {SUMMARY}: it did not finish",
                "run it again; its requests so far are in requests.jsonl",
                Origin(str(folder)),
            )
        )
    return StoredBench(folder, _read(folder / MANIFEST, BenchManifest), _read(folder / SUMMARY, BenchResult))


def read_summary_json(folder: Path) -> bytes:
    """Return the summary of a finished benchmark as JSON."""
    return (folder / SUMMARY).read_bytes()


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as error:
        what = f"the file cannot be decoded: {error}"
        problem = Problem("STORE-010", what, "run the benchmark again", Origin(str(path)))
        raise StoreError(problem) from None


def write_page(bench: StoredBench, path: Path | None = None) -> Path:
    """Write the page of a benchmark, into its folder or to `path`; return the path."""
    path = path or bench.folder / PAGE
    path.write_text(render_bench_page(build_page_data(bench)), encoding="utf-8")
    return path


def render_bench_page(data: PageData) -> str:
    """Return the page as a single HTML file; equal data gives equal text."""
    title = f"{data.head.model} · serving benchmark"
    return "".join(render_page_file(title, "bench", "bench_file", {"bench": msgspec.json.encode(data)}))


def compute_aisbench_numbers(
    bench: StoredBench,
    *,
    is_stable: bool = False,
    batch_size: int | None = None,
    stats: tuple[str, ...] = STATS,
) -> ProfileResult | NoResult:
    """Return AISBench's numbers for the whole load or its stable stage.

    `batch_size`: the maximum number of concurrent requests; None: the load's own limit, or the maximum seen.
    """
    shape = bench.manifest.load.shape
    if bench.result.swept is not None:
        return NoResult("AISBench measures one load, not several levels")
    if batch_size is None:
        batch_size = shape.concurrency if isinstance(shape, ClosedLoad) else shape.at_most_under_way
    if batch_size is None:
        batch_size = _find_max_concurrency(bench.result.summary)
    whole = AISBenchProfile(batch_size, stats=stats)
    for record in read_records(get_records_path(bench.folder)):
        whole.add(record)
    if not is_stable:
        return whole.result()
    stage = whole.stable_stage()
    if isinstance(stage, NoResult):
        return stage
    inside = AISBenchProfile(batch_size, stage=stage, stats=stats)
    for record in read_records(get_records_path(bench.folder)):
        inside.add(record)
    return inside.result()


def _find_max_concurrency(summary: BenchSummary | None) -> int:
    return summary.concurrency.max if summary is not None and summary.concurrency is not None else 1


def build_page_data(bench: StoredBench) -> PageData:
    """Return the data of the page, with details of the last loads only if there are many."""
    swept = bench.result.swept
    views = tuple(_views(bench))
    if swept is None:
        return PageData(build_bench_head(bench), views)
    n_earlier = len(swept.trials) - len(views)
    if swept.limits:
        return PageData(build_bench_head(bench), views, n_earlier, search=build_search_view(swept))
    return PageData(build_bench_head(bench), views, n_earlier, sweep=build_sweep_view(swept))


def _views(bench: StoredBench) -> Iterator[LoadView]:
    result, limits = bench.result, bench.manifest.limits.of_each
    swept = result.swept
    if swept is None:
        shape = bench.manifest.load.shape
        level = shape.concurrency if isinstance(shape, ClosedLoad) else None
        parts = [("load", level, get_records_path(bench.folder), result.steady)]
    else:
        parts = [
            (
                f"{swept.of} {trial.level:g}",
                int(trial.level) if swept.of == "concurrency" else None,
                path,
                None,
            )
            for trial, path in zip(swept.trials, trial_records(bench.folder), strict=True)
        ]
    for name, level, path, steady in parts[-N_LOADS:]:
        yield build_load_view(read_records(path), name, limits=limits, level=level, in_window=steady)


def trial_records(folder: Path) -> list[Path]:
    """Return the request file of each level of a sweep, in the order in which the levels ran."""
    return [get_records_path(trial) for trial in sorted((folder / "trials").iterdir())]


def build_bench_head(bench: StoredBench) -> PageHead:
    """Return what was measured: the model, the load, and counts."""
    manifest, result = bench.manifest, bench.result
    summaries = [trial.summary for trial in result.swept.trials] if result.swept else [result.summary]
    known_summaries = [summary for summary in summaries if summary is not None]
    name, _, address = manifest.model.partition("@")
    return PageHead(
        model=name.removeprefix("openai:"),
        address=address,
        dataset=str(manifest.items.get("source", manifest.items.get("kind", ""))),
        load=describe_load(manifest.load) if result.swept is None else f"levels of {result.swept.of}",
        date=manifest.started[:16].replace("T", " ") + " UTC",
        duration_s=sum(summary.duration_s for summary in known_summaries),
        n_calls=sum(summary.n_calls for summary in known_summaries),
        n_failed=sum(summary.n_failed for summary in known_summaries),
        n_input=_total([summary.input_tokens for summary in known_summaries]),
        n_output=_total([summary.output_tokens for summary in known_summaries]),
        versions=tuple(manifest.versions.items()),
        settings=tuple(
            (name.replace("_", " "), _format_setting(setting.value))
            for name, setting in manifest.settings.items()
            if name not in _SHOWN_ELSEWHERE
        ),
        notes=(*(("The benchmark was stopped early.",) if result.is_partial else ()), *result.notes),
    )


def _format_setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def describe_load(load: Load) -> str:
    """Describe a load for a person, such as `64 concurrent requests, 1,000 in total`."""
    shape = load.shape
    words = (
        f"{shape.concurrency:,} concurrent requests"
        if isinstance(shape, ClosedLoad)
        else _describe_open_load(shape)
    )
    if load.n is not None:
        words += f", {load.n:,} in total"
    if load.seconds is not None:
        words += f", for {load.seconds:g} s"
    return words


def _describe_open_load(shape: OpenLoad) -> str:
    arrivals = shape.arrivals
    words = (
        "at the times of the trace" if isinstance(arrivals, TraceArrivals) else _describe_arrivals(arrivals)
    )
    if shape.at_most_under_way is not None:
        words += f", at most {shape.at_most_under_way:,} concurrent"
    return words


def _describe_arrivals(arrivals: Arrivals) -> str:
    ramp = arrivals.ramp
    if ramp is not None:
        words = f"from {ramp.start:g} to {ramp.end:g} requests/s, {ramp.form}"
    else:
        words = f"{arrivals.rate:g} requests/s"
    gaps = {0.0: "even gaps", 1.0: "Poisson"}.get(arrivals.burstiness, f"burstiness {arrivals.burstiness:g}")
    return f"{words}, {gaps}"
