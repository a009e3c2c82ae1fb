"""Data inside a single-file page: compressed blocks that its script opens, and media.

A browser stores such a block and never executes it; base64 contains nothing that could end the element.
"""

from __future__ import annotations

import base64
import gzip
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from assay.results.media_store import find_medium, get_media_folder
from assay.results.pages.markup import Markup

MOST_ROWS = 30_000
"""Maximum samples in a page's table, which is kept in memory while writing and in the browser."""
MOST_BYTES = 24 << 20
"""Maximum bytes in the file for complete samples and their media."""
MOST_MEDIA_BYTES = 12 << 20
"""The part of them for media."""
_SHA256 = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_KEY = re.compile(rb'"key":"[0-9a-f]*",')
_TEXT = re.compile(rb'"type":"(?:completion|failure)"')
_DECIMALS = re.compile(rb"(\.\d{5})\d+")
_BLOCK_BYTES = 256 << 10
"""Uncompressed size of a block of samples, which opens in a few milliseconds."""
_LEVEL = 3
"""Twice as fast as the default level, with 10 % larger output."""


def render_block(name: str, content: bytes) -> Markup:
    """Return JSON as a block that the script finds by name."""
    packed = base64.b64encode(gzip.compress(content, _LEVEL, mtime=0)).decode()
    return Markup(f'<script type="application/gzip" id="{name}">{packed}</script>\n')


def shorten_responses(responses: Sequence[bytes]) -> bytes:
    """Join responses with commas, without their keys and with numbers rounded to what a page shows.

    Quotes inside JSON strings are escaped, so the patterns never match a model's output.
    """
    joined = b",".join(responses)
    if _TEXT.search(joined) is None:
        # Of each number, `split` returns only the group: this takes a fifth of the time of `sub`.
        return b"".join(_DECIMALS.split(_KEY.sub(b"", joined)))
    if len(responses) == 1:
        return _KEY.sub(b"", joined, count=1)
    return b",".join(shorten_responses((one,)) for one in responses)


class DetailBlocks:
    """Complete samples in blocks, up to the size limit."""

    def __init__(self, items: Iterable[tuple[int, bytes]], media: MediaBlocks) -> None:
        """Add samples as JSON with their places, most informative first."""
        self.places: list[tuple[int, ...]] = []
        """For each block, the places of its samples."""
        self.parts: list[Markup] = []
        room = MOST_BYTES - media.n_reserved
        for places, content, data in _render_details(_group_into_blocks(items)):
            room -= len(data)
            if room < 0:
                break
            self.places.append(places)
            self.parts.append(data)
            media.take(content)


def _render_details(
    groups: Iterable[tuple[tuple[int, ...], bytes]],
) -> Iterator[tuple[tuple[int, ...], bytes, Markup]]:
    """Yield blocks of samples in order with their places; some are compressed at the same time."""
    n_threads = os.cpu_count() or 1
    waiting: deque[tuple[tuple[int, ...], bytes, Future[Markup]]] = deque()
    with ThreadPoolExecutor(n_threads) as threads:
        for number, (places, content) in enumerate(groups):
            waiting.append((places, content, threads.submit(render_block, f"details-{number}", content)))
            if len(waiting) > n_threads:
                first, text, block = waiting.popleft()
                yield first, text, block.result()
        for places, content, block in waiting:
            yield places, content, block.result()


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
    """The media of the page's samples, up to the size limit."""

    def __init__(self, *runs: Path) -> None:
        self._runs = runs
        folders = {get_media_folder(run) for run in runs}
        files = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
        self.n_reserved = min(
            sum(_count_base64_bytes(file.stat().st_size) for file in files), MOST_MEDIA_BYTES
        )
        """Bytes of the page reserved for media."""
        self._room = self.n_reserved
        self._seen: set[bytes] = set()
        self.parts: list[Markup] = []

    def take(self, content: bytes) -> None:
        """Add the media of some samples."""
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
