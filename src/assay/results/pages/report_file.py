"""report.html: a run in one file that opens from a disk and needs nothing else.

Its samples lie in it compressed: the table as one block, the samples in full as many, each opened when one
of its samples is looked at. A run that is larger than the file may be keeps the samples that say most: those
that failed, were not answered or are wrong. The page tells what is left out.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay.core.markup import Markup, one_file_parts, tag
from assay.results.media_store import kept_medium, media_folder
from assay.results.pages.bundle import script, style
from assay.results.pages.data import InFile
from assay.results.pages.packed import packed_block
from assay.results.run_view import RunView
from assay.results.store import HTML_REPORT

MOST_ROWS = 30_000
"""Samples of the table: it is held in memory while it is written, and by the browser."""
MOST_BYTES = 24 << 20
"""Of all samples in full and what they show, as they lie in the file."""
MOST_MEDIA_BYTES = 12 << 20
"""Of them, those of pictures and sounds."""
_SHA256 = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_KEY = re.compile(rb'"key":"[0-9a-f]*",')
_NUMBERS = re.compile(rb'"type":"(?:likelihood|label_probs)"')
_DECIMALS = re.compile(rb"(\.\d{5})\d+")
_BLOCK_BYTES = 256 << 10
"""Of the samples of one block, before they are compressed: a block is opened in some milliseconds."""

_encode = msgspec.json.Encoder().encode


def write_report_page(folder: Path) -> Path:
    """Write the page of a run into its folder; return its path."""
    view = RunView(folder, MOST_ROWS)
    view.refresh()
    path = folder / HTML_REPORT
    draft = path.with_name(f".{path.name}.new")
    with open(draft, "w", encoding="utf-8") as file:
        file.writelines(report_page(view))
    draft.replace(path)
    return path


def report_page(view: RunView) -> Iterator[str]:
    """Yield the page of a run, piece by piece."""
    n_rows = view.n_rows
    media = _Media(view.path)
    blocks: list[tuple[int, ...]] = []
    parts: list[Markup] = []
    room = MOST_BYTES - media.n_reserved
    for places, content in _blocks(view, n_rows):
        data = packed_block(f"details-{len(blocks)}", content)
        room -= len(data)
        if room < 0:
            break
        blocks.append(places)
        parts.append(data)
        media.take(content)
    page = msgspec.structs.replace(view.page(), in_file=InFile(n_rows, tuple(blocks)))
    title = ", ".join(dict.fromkeys(task.family or task.name for task in view.manifest.tasks))
    return one_file_parts(
        f"{title} · {view.manifest.model.name}",
        style(),
        script(),
        (
            tag("main", id="page"),
            packed_block("run", _encode(page)),
            packed_block("table", _encode(view.table(0, n_rows))),
        ),
        after=(*parts, *media.parts),
        media=True,
        page="run",
    )


class _Media:
    """Pictures and sounds that samples of the page show, as far as there is room for them."""

    def __init__(self, run: Path) -> None:
        self._run = run
        folder = media_folder(run)
        files = folder.iterdir() if folder.is_dir() else ()
        self.n_reserved = min(sum(_in_base64(file.stat().st_size) for file in files), MOST_MEDIA_BYTES)
        """Bytes of the page that are left for them."""
        self._room = self.n_reserved
        self._seen: set[bytes] = set()
        self.parts: list[Markup] = []

    def take(self, content: bytes) -> None:
        """Take what some samples show."""
        if not self.n_reserved:
            return
        for sha256 in _SHA256.findall(content):
            if sha256 not in self._seen:
                self._seen.add(sha256)
                self._add(sha256.decode())

    def _add(self, sha256: str) -> None:
        found = kept_medium(self._run, sha256)
        if found is None or (size := _in_base64(found.path.stat().st_size)) > self._room:
            return
        self._room -= size
        data = base64.b64encode(found.path.read_bytes()).decode()
        self.parts.append(
            Markup(
                f'<script type="application/octet-stream" id="media-{sha256}" '
                f'data-type="{found.media_type}">{data}</script>\n'
            )
        )


def _in_base64(n_bytes: int) -> int:
    return 4 * ((n_bytes + 2) // 3)


def _blocks(view: RunView, n_rows: int) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """Yield the samples in full, some at a time, with their places; what says most comes first."""
    places: list[int] = []
    contents: list[bytes] = []
    size = 0
    with view.details(_shortened) as details:
        for place in _order(view, n_rows):
            content = details.json(place)
            places.append(place)
            contents.append(content)
            size += len(content)
            if size >= _BLOCK_BYTES:
                yield tuple(places), b"[" + b",".join(contents) + b"]"
                places, contents, size = [], [], 0
    if places:
        yield tuple(places), b"[" + b",".join(contents) + b"]"


def _shortened(response: bytes) -> bytes:
    """Return a response without its key, its numbers with as many decimals as a page shows.

    Inside a text of JSON a quote stands behind a backslash: neither pattern is found in what a model wrote.
    """
    response = _KEY.sub(b"", response, count=1)
    return _DECIMALS.sub(rb"\1", response) if _NUMBERS.search(response) else response


def _order(view: RunView, n_rows: int) -> Sequence[int]:
    return sorted(range(n_rows), key=view.columns.interest)
