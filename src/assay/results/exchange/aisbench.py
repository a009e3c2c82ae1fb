"""Work folders of AISBench: predictions as JSON lines, one per text; failed rows in files of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.results.exchange.formats import LogFormat
from assay.results.exchange.imported import ImportedRun
from assay.results.exchange.log_files import iter_json_lines
from assay.results.exchange.work_folders import Row, find_predictions, open_work_folder, read_work_folder

NAME = "aisbench"
_SUFFIX = ".jsonl"


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not a work folder of AISBench; None if it is one."""
    return None if find_predictions(path, _SUFFIX) else "no predictions/MODEL/DATASET.jsonl"


def read(path: Path) -> ImportedRun:
    """Return the run of the only model in a work folder."""
    return read_work_folder(NAME, open_work_folder(path, _SUFFIX, "AISBench"), _read_rows)


def _read_rows(paths: tuple[Path, ...]) -> Iterator[Row]:
    """Yield the rows of a dataset in the order of their numbers; repeats of a row follow one another."""
    found: dict[str, list[tuple[Path, int, Mapping[str, Any]]]] = {}
    for path in paths:
        for number, line in iter_json_lines(path):
            if isinstance(line, Mapping) and "id" in line:
                found.setdefault(str(line["id"]), []).append((path, number, line))
    for id_ in sorted(found, key=lambda one: (not one.isdecimal(), int(one) if one.isdecimal() else 0, one)):
        lines = found[id_]
        answered = [line for _, _, line in lines if line.get("success", True) and "error_info" not in line]
        errors = [str(line["error_info"]) for _, _, line in lines if line.get("error_info")]
        failure = None if answered else next(iter(errors), "the request failed")
        yield Row(id_, answered or [line for _, _, line in lines], lines[0][1], failure)


FORMAT = LogFormat(NAME, "AISBench (predictions/*.jsonl and results/)", find_mismatch, read)
