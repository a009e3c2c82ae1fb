"""What a large dataset takes of memory and of processor time, run once and gone on with.

    python -m benchmarks.streaming                       # prints the table
    python -m benchmarks.streaming --write               # puts it into RESULTS.md
    python -m benchmarks.streaming --rows 10000 100000   # fewer rows

The mock model answers at once. Each command runs in a process of its own, whose memory is looked up twice a
second. `again` is the same command once more: every answer is in the journal, is found there, scored and
written anew. Bar: memory does not grow with the rows but for some bytes of each, and stays below 1,500 MiB at
ten million of them; the run's own process takes below 150 microseconds for a request.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

if not __package__:  # run by its path
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from assay.results.rows import markdown_table
from benchmarks.record import add_output_options, hand_over, setting
from benchmarks.scale import REQUESTS
from benchmarks.workers import Measured, measured

CHUNK = 50_000
"""Rows of a row group and of a record batch."""
SMALL = 100_000
HEADINGS = (
    "dataset", "asked", "rows", "requests", "seconds", "own CPU µs/request", "own MiB at quarters",
    "peak MiB", "again: seconds", "again: peak MiB",
)  # fmt: skip


def rows(n: int) -> Iterator[dict[str, str]]:
    """Make questions with four options, all different."""
    draw = random.Random("streaming")
    for nth in range(n):
        one, other = draw.randrange(1000), draw.randrange(1000)
        options = [one + other, one + other + 1, one + other + 10, one - other - 1]
        right = draw.randrange(4)
        options[0], options[right] = options[right], options[0]
        named = zip("ABCD", map(str, options), strict=True)
        yield {"question": f"Number {nth}: what is {one} + {other}?", **dict(named), "answer": "ABCD"[right]}


def written(folder: Path, n: int, kind: str) -> Path:
    """Write a dataset, a part at a time."""
    path = folder / f"rows-{n}.{kind}"
    if kind in ("parquet", "arrow"):
        _write_columns(path, n, kind)
        return path
    with open(path, "w", newline="", encoding="utf-8") as file:
        if kind == "csv":
            table = csv.DictWriter(file, next(rows(1)).keys())
            table.writeheader()
            table.writerows(rows(n))
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows(n))
    return path


def _write_columns(path: Path, n: int, kind: str) -> None:
    import pyarrow
    import pyarrow.parquet

    source = rows(n)
    schema = pyarrow.Table.from_pylist([next(rows(1))]).schema
    writing = pyarrow.parquet.ParquetWriter if kind == "parquet" else pyarrow.ipc.new_file
    with writing(str(path), schema) as file:
        while chunk := list(islice(source, CHUNK)):
            file.write_table(pyarrow.Table.from_pylist(chunk, schema))


def line(kind: str, method: str, n: int, folder: Path, *more: str) -> tuple[str, ...]:
    """Return a line of the table."""
    table = written(folder, n, kind)
    n_requests = n * REQUESTS[method]
    first = measured(table, folder, *more, method=method)
    again = measured(table, folder, *more, method=method, fresh=False)
    shutil.rmtree(folder / "run")
    table.unlink()
    found = (
        kind,
        " ".join((method, *more)),
        f"{n:,}",
        f"{n_requests:,}",
        f"{first.wall_s:.0f}",
        f"{first.cpu_s / n_requests * 1e6:.0f}",
        _quarters(first),
        f"{first.peak_mib:.0f}",
        f"{again.wall_s:.0f}",
        f"{again.peak_mib:.0f}",
    )
    print(" | ".join(found), file=sys.stderr)
    return found


def _quarters(one: Measured) -> str:
    return " / ".join(f"{mib:.0f}" for mib in one.quarters_mib)


def main() -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sizes = [10_000, SMALL, 1_000_000, 5_000_000]
    parser.add_argument("--rows", type=int, nargs="*", default=sizes, help="of parquet files, for gen")
    parser.add_argument("--rows-of-others", type=int, default=SMALL, help="of other files, methods and shots")
    add_output_options(parser)
    options = parser.parse_args()
    n = options.rows_of_others
    with tempfile.TemporaryDirectory(prefix="assay-streaming-") as name:
        folder = Path(name)
        lines = [line("parquet", "gen", size, folder) for size in options.rows]
        lines += [line(kind, "gen", n, folder) for kind in ("arrow", "jsonl", "csv")]
        lines += [line("jsonl", "ppl,prob", size, folder) for size in (n // 10, n)]
        lines += [line("jsonl", "gen", size, folder, "--shots", "5") for size in (n // 10, n)]
    said = (
        "Mock model, journal on, no cache; the whole command in its own process, the reading of the file and "
        "the writing of the report included. `again`: the same command once more, all answers in the journal."
    )
    hand_over("streaming", "\n\n".join((setting(), said, markdown_table(HEADINGS, lines))), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
