"""Data inside a page of one file: compressed blocks that its script opens, and pictures and sounds.

A browser keeps such a block and never runs it; base64 holds nothing that could end the element.
"""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.core.markup import Markup
from assay.results.media_store import find_medium, get_media_folder

MOST_ROWS = 30_000
"""Samples of a page's table: it is held in memory while it is written, and by the browser."""
MOST_BYTES = 24 << 20
"""Of all samples in full and what they show, as they lie in the file."""
MOST_MEDIA_BYTES = 12 << 20
"""Of them, those of pictures and sounds."""
_SHA256 = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_KEY = re.compile(rb'"key":"[0-9a-f]*",')
_TEXT = re.compile(rb'"type":"(?:completion|failure)"')
_DECIMALS = re.compile(rb"(\.\d{5})\d+")
_BLOCK_BYTES = 256 << 10
"""Of the samples of one block, before they are compressed: a block is opened in some milliseconds."""
_LEVEL = 3
"""Twice as quick as the usual level, and a tenth larger."""


def render_block(name: str, content: bytes) -> Markup:
    """Return JSON as a block that the script finds by its name."""
    packed = base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()
    return Markup(f'<script type="application/gzip" id="{name}">{packed}</script>\n')


def shorten_responses(responses: Sequence[bytes]) -> bytes:
    """Return responses with commas between, without their keys, numbers with the decimals that a page shows.

    Inside a text of JSON a quote stands behind a backslash: no pattern is found in what a model wrote.
    """
    joined = b",".join(responses)
    if _TEXT.search(joined) is None:
        return _DECIMALS.sub(rb"\1", _KEY.sub(b"", joined))
    if len(responses) == 1:
        return _KEY.sub(b"", joined, count=1)
    return b",".join(shorten_responses((one,)) for one in responses)


class DetailBlocks:
    """Samples in full, some at a time, as far as there is room for them."""

    def __init__(self, items: Iterable[tuple[int, bytes]], media: MediaBlocks) -> None:
        """Take samples, those first that say most, each with its place and as JSON."""
        self.places: list[tuple[int, ...]] = []
        """For each block, the places of its samples."""
        self.parts: list[Markup] = []
        room = MOST_BYTES - media.n_reserved
        for places, content in _group_into_blocks(items):
            data = render_block(f"details-{len(self.places)}", content)
            room -= len(data)
            if room < 0:
                break
            self.places.append(places)
            self.parts.append(data)
            media.take(content)


def _group_into_blocks(items: Iterable[tuple[int, bytes]]) -> Iterator[tuple[tuple[int, ...], bytes]]:
    places: list[int] = []
    contents: list[bytes] = []
    size = 0
    for place, content in items:
        places.append(place)
        contents.append(content)
        size += len(content)
        if size >= _BLOCK_BYTES:
            yield tuple(places), b"[" + b",".join(contents) + b"]"
            places, contents, size = [], [], 0
    if places:
        yield tuple(places), b"[" + b",".join(contents) + b"]"


class MediaBlocks:
    """Pictures and sounds that samples of the page show, as far as there is room for them."""

    def __init__(self, *runs: Path) -> None:
        self._runs = runs
        folders = {get_media_folder(run) for run in runs}
        files = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
        self.n_reserved = min(
            sum(_count_base64_bytes(file.stat().st_size) for file in files), MOST_MEDIA_BYTES
        )
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
        found = next((one for run in self._runs if (one := find_medium(run, sha256)) is not None), None)
        if found is None or (size := _count_base64_bytes(found.path.stat().st_size)) > self._room:
            return
        self._room -= size
        data = base64.b64encode(found.path.read_bytes()).decode()
        self.parts.append(
            Markup(
                f'<script type="application/octet-stream" id="media-{sha256}" '
                f'data-type="{found.media_type}">{data}</script>\n'
            )
        )


def _count_base64_bytes(n_bytes: int) -> int:
    return 4 * ((n_bytes + 2) // 3)
