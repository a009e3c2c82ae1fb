"""Work folders of OpenCompass: predictions as one JSON document per dataset, rows by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.results.exchange.formats import LogFormat
from assay.results.exchange.imported import ImportedRun
from assay.results.exchange.log_files import build_log_error, read_json_document
from assay.results.exchange.work_folders import Row, find_predictions, open_work_folder, read_work_folder

NAME = "opencompass"
_SUFFIX = ".json"


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not a work folder of OpenCompass; None if it is one."""
    return None if find_predictions(path, _SUFFIX) else "no predictions/MODEL/DATASET.json"


def read(path: Path) -> ImportedRun:
    """Return the run of the only model in a work folder."""
    return read_work_folder(NAME, open_work_folder(path, _SUFFIX, "OpenCompass"), _read_rows)


def _read_rows(paths: tuple[Path, ...]) -> Iterator[Row]:
    """Yield the rows of a dataset; of a split one, the parts follow one another."""
    n_before = 0
    for path in paths:
        content = read_json_document(path)
        if not isinstance(content, Mapping):
            raise build_log_error(
                "LOG-003",
                "the predictions are not a JSON object with rows by number",
                "name a folder that OpenCompass wrote",
                path,
            )
        n = 0
        for number, row in content.items():
            if isinstance(row, Mapping):
                n += 1
                id_ = str(int(number) + n_before) if str(number).isdecimal() else str(number)
                error = row.get("error")
                yield Row(id_, [row], None, None if error is None else str(error))
        n_before += n


FORMAT = LogFormat(NAME, "OpenCompass (predictions/ and results/)", find_mismatch, read)
