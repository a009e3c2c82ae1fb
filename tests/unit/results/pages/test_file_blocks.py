"""The share of a run's media and samples that fits a single-file page."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from assay.results.media_store import MEDIA_FOLDER
from assay.results.pages import file_blocks
from assay.results.pages.file_blocks import DetailBlocks, MediaBlocks


def with_media(run: Path, *contents: bytes) -> list[str]:
    """Keep these with a run; return their hashes."""
    (run / MEDIA_FOLDER).mkdir(parents=True)
    names = [hashlib.sha256(content).hexdigest() for content in contents]
    for name, content in zip(names, contents, strict=True):
        (run / MEDIA_FOLDER / f"{name}.png").write_bytes(content)
    return names


def showing(*names: str) -> bytes:
    return b"".join(b'{"sha256":"%b"}' % name.encode() for name in names)


def shown(media: MediaBlocks) -> list[bytes]:
    return [base64.b64decode(re.findall(r">([^<]*)<", str(part))[0]) for part in media.parts]


def test_there_is_room_for_all_media_where_that_is_not_much(tmp_path: Path) -> None:
    """Base64 writes three bytes as four characters, and fewer as four too."""
    contents = [b"1", b"22", b"333", b"4444"]
    names = with_media(tmp_path, *contents)
    media = MediaBlocks(tmp_path)
    assert media.n_reserved == 4 + 4 + 4 + 8
    media.take(showing(*names, *names))
    assert shown(media) == contents, "each once"
    assert sum(len(re.findall(r">([^<]*)<", str(part))[0]) for part in media.parts) == media.n_reserved


def test_media_beyond_the_room_are_left_out_and_smaller_ones_still_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_blocks, "MOST_MEDIA_BYTES", 12)
    first, large, small, last = b"1" * 6, b"2" * 4, b"3" * 3, b"4"
    names = with_media(tmp_path, first, large, small, last)
    media = MediaBlocks(tmp_path)
    assert media.n_reserved == 12
    media.take(showing(*names))
    assert shown(media) == [first, small]


def test_what_is_left_for_media_is_taken_from_the_room_of_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (name,) = with_media(tmp_path, b"12345")
    sample = showing(name)
    size = len(file_blocks.render_block("details-0", b"[" + sample + b"]"))
    for room, n in ((size + 8, 1), (size + 7, 0)):
        monkeypatch.setattr(file_blocks, "MOST_BYTES", room)
        media = MediaBlocks(tmp_path)
        details = DetailBlocks([(3, sample)], media)
        assert details.places == [(3,)] * n
        assert shown(media) == [b"12345"] * n, "media of samples that are not in the page are not either"
