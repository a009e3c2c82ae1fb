"""report.html: a run as a single self-contained HTML file.

It contains compressed samples: the table as one block, complete samples as many blocks, each opened on
demand. For a run over the size limit, the most informative samples are kept: failed, unanswered and wrong
ones. The page shows what is omitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.results.draft_file import replacing_file
from assay.results.pages.data import InFile
from assay.results.pages.file_blocks import MOST_ROWS, DetailBlocks, MediaBlocks, shorten_responses
from assay.results.pages.page_file import render_page_file
from assay.results.run_view import RunView
from assay.results.store import HTML_REPORT

_encode = msgspec.json.Encoder().encode


def write_report_page(folder: Path) -> Path:
    """Write the page of a run into its folder; return its path."""
    view = RunView(folder, MOST_ROWS)
    view.refresh()
    path = folder / HTML_REPORT
    with replacing_file(path) as file:
        file.writelines(part.encode() for part in render_report_page(view))
    return path


def render_report_page(view: RunView) -> Iterator[str]:
    """Yield the page of a run, piece by piece."""
    n_rows = view.n_rows
    media = MediaBlocks(view.path)
    details = DetailBlocks(_details(view, n_rows), media)
    page = msgspec.structs.replace(view.page(), in_file=InFile(n_rows, tuple(details.places)))
    title = ", ".join(dict.fromkeys(task.family or task.name for task in view.manifest.tasks))
    return render_page_file(
        f"{title} · {view.manifest.title}",
        "run",
        "run_file",
        {"run": _encode(page), "table": _encode(view.table(0, n_rows))},
        after=(*details.parts, *media.parts),
        has_media=True,
    )


def _details(view: RunView, n_rows: int) -> Iterator[tuple[int, bytes]]:
    """Yield complete samples with their places, most informative first."""
    with view.all_details(shorten_responses) as details:
        for place in sorted(range(n_rows), key=view.columns.interest):
            yield place, details.json(place)
