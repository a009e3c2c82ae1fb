"""Media stored with a run: complete, once, and within the size limit."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import os
import struct
import wave
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from assay.core.media import MEDIA, AnyMedia, Image, Medium, Text, Video
from assay.core.prompt import Message
from assay.core.request import Generate, Request, Sampling, make_request
from assay.results.media_store import EXTENSIONS, MEDIA_FOLDER, MediaStore, find_medium
from assay.sources.media_files import read_media_data, read_media_file
from assay.sources.media_formats import detect_media_type

ROOM = 1_000_000


def picture(form: str = "PNG", shade: int = 0, side: int = 8) -> bytes:
    pictures = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    pictures.new("RGB", (side, side), (200, 30, shade)).save(stream, form)
    return stream.getvalue()


def sound() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8000)
        writer.writeframes(bytes(4000))
    return stream.getvalue()


def box(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(content), name) + content


def film(brand: bytes = b"isom") -> bytes:
    return box(b"ftyp", brand + b"\0\0\2\0isomiso2") + box(b"moov", bytes(40)) + box(b"mdat", bytes(99))


def make_requests(*parts: AnyMedia) -> list[Request]:
    prompt = (Message("user", (Text("What is this?"), *parts)),)
    return [make_request("t", "s", "gen", "answer", 0, Generate(prompt, Sampling()))]


def in_file(path: Path, content: bytes, medium: Medium = Medium.IMAGE) -> AnyMedia:
    path.write_bytes(content)
    return read_media_file(path, medium)


def in_base64(content: bytes, medium: Medium = Medium.IMAGE) -> AnyMedia:
    return read_media_data("", base64.b64encode(content).decode(), medium)


def unexamined(content: bytes, medium: Medium = Medium.IMAGE) -> AnyMedia:
    """A part that says of anything that it is a picture, as no source of Assay would."""
    sha256 = hashlib.sha256(content).hexdigest()
    data = base64.b64encode(content).decode()
    return MEDIA[medium]("image/png", sha256=sha256, n_bytes=len(content), data=data)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def store(run: Path, most_bytes: int = ROOM) -> MediaStore:
    return MediaStore(run, most_bytes, detect_media_type)


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / MEDIA_FOLDER).iterdir())


@pytest.mark.parametrize(
    ("content", "medium", "extension"),
    [
        (lambda: picture("PNG"), Medium.IMAGE, "png"),
        (lambda: picture("JPEG"), Medium.IMAGE, "jpg"),
        (lambda: picture("GIF"), Medium.IMAGE, "gif"),
        (lambda: picture("WEBP"), Medium.IMAGE, "webp"),
        (lambda: picture("BMP"), Medium.IMAGE, "bmp"),
        (sound, Medium.AUDIO, "wav"),
        (lambda: b"ID3\4" + bytes(50), Medium.AUDIO, "mp3"),
        (lambda: b"fLaC" + bytes(50), Medium.AUDIO, "flac"),
        (lambda: b"OggS" + bytes(50), Medium.AUDIO, "ogg"),
        (lambda: film(b"M4A "), Medium.AUDIO, "m4a"),
        (film, Medium.VIDEO, "mp4"),
        (lambda: b"\x1a\x45\xdf\xa3" + bytes(50), Medium.VIDEO, "webm"),
    ],
)
@pytest.mark.parametrize("is_file", [True, False])
def test_what_browsers_show_is_kept_by_its_hash(
    run: Path, tmp_path: Path, content: Any, medium: Medium, extension: str, is_file: bool
) -> None:
    held = content()
    # The name of a file says nothing about what is in it.
    part = in_file(tmp_path / "page.html", held, medium) if is_file else in_base64(held, medium)
    kept = store(run)
    kept.keep(make_requests(part))
    assert kept.notes() == ()
    assert names(run) == [f"{hashlib.sha256(held).hexdigest()}.{extension}"]
    found = find_medium(run, part.sha256)
    assert found is not None
    assert found.path.read_bytes() == held
    assert found.media_type == part.media_type
    assert EXTENSIONS[found.media_type] == extension


@pytest.mark.parametrize(
    ("content", "medium"),
    [
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>', Medium.IMAGE),
        (b"<!doctype html><script>alert(1)</script>", Medium.IMAGE),
        (b"%PDF-1.7 ...", Medium.IMAGE),
        (b"II*\0" + bytes(60), Medium.IMAGE),
        (b"RIFF\0\0\0\0AVI " + bytes(60), Medium.VIDEO),
        (b"", Medium.IMAGE),
    ],
)
def test_what_a_browser_would_run_or_cannot_show_is_never_kept(
    run: Path, content: bytes, medium: Medium
) -> None:
    kept = store(run)
    kept.keep(make_requests(unexamined(content, medium)))
    assert not (run / MEDIA_FOLDER).exists()
    assert kept.notes() == (
        "1 of 1 media are not stored with the run: 1 of a type that browsers do not show",
    )


def test_addresses_and_films_in_frames_are_counted_and_nothing_is_fetched(run: Path) -> None:
    frame = base64.b64encode(picture("JPEG")).decode()
    frames = read_media_data("video/jpeg", f"{frame},{frame}", Medium.VIDEO)
    kept = store(run)
    kept.keep(
        make_requests(Image(url="http://127.0.0.1:9/a.png"), Video(url="http://127.0.0.1:9/a.mp4"), frames)
    )
    assert kept.notes() == (
        "3 of 3 media are not stored with the run: "
        "2 known only by their address, 1 videos given as single frames",
    )


def test_each_content_is_kept_once_wherever_it_is(run: Path, tmp_path: Path) -> None:
    content = picture()
    parts = [in_file(tmp_path / "a.png", content), in_file(tmp_path / "b.png", content), in_base64(content)]
    kept = store(run, len(content))
    kept.keep(make_requests(*parts))
    kept.keep(make_requests(*parts))
    assert len(names(run)) == 1
    assert kept.notes() == ()


def test_what_is_kept_does_not_change_with_the_file(run: Path, tmp_path: Path) -> None:
    part = in_file(tmp_path / "a.png", picture(shade=1))
    store(run).keep(make_requests(part))
    (tmp_path / "a.png").write_bytes(picture(shade=2))
    found = find_medium(run, part.sha256)
    assert found is not None
    assert found.path.read_bytes() == picture(shade=1)


def test_there_is_no_more_than_there_is_room_for(run: Path, tmp_path: Path) -> None:
    small = [in_file(tmp_path / f"{n}.png", picture(shade=n)) for n in range(3)]
    large = in_file(tmp_path / "large.bmp", picture("BMP", side=100))
    room = sum(part.n_bytes for part in small[:2])
    kept = store(run, room)
    kept.keep(make_requests(small[0], large, small[1], small[2]))
    assert sorted(names(run)) == sorted(f"{part.sha256}.png" for part in small[:2])
    assert kept.notes() == (
        f"2 of 4 media are not stored with the run: 2 over the limit of --keep-media {room} B",
    )


def test_without_room_nothing_is_looked_at_or_reported(run: Path, tmp_path: Path) -> None:
    part = in_file(tmp_path / "a.png", picture())
    (tmp_path / "a.png").unlink()
    kept = store(run, 0)
    kept.keep(make_requests(part))
    assert not (run / MEDIA_FOLDER).exists()
    assert kept.notes() == ()


def test_a_later_start_copies_nothing_again_and_counts_what_is_there(run: Path, tmp_path: Path) -> None:
    first, second = (in_file(tmp_path / f"{n}.png", picture(shade=n)) for n in range(2))
    room = first.n_bytes + second.n_bytes - 1
    store(run, room).keep(make_requests(first))
    kept_path = run / MEDIA_FOLDER / f"{first.sha256}.png"
    os.utime(kept_path, (1, 1))
    (run / MEDIA_FOLDER / ".new").write_bytes(b"what a process was writing when it was killed")
    (tmp_path / "0.png").unlink()
    again = store(run, room)
    again.keep(make_requests(first, second))
    assert names(run) == [kept_path.name]
    assert kept_path.stat().st_mtime == 1
    assert "1 of 2 media" in again.notes()[0]
    # With more room, what was left out then is kept now.
    store(run).keep(make_requests(first, second))
    assert len(names(run)) == 2


@pytest.mark.parametrize("becomes", ["gone", "changed", "longer", "shorter", "folder", "pipe"])
def test_a_file_that_is_not_what_it_was_is_reported_and_fails_nothing(
    run: Path, tmp_path: Path, becomes: str
) -> None:
    path = tmp_path / "a.png"
    part, other = in_file(path, picture(side=20)), in_file(tmp_path / "b.png", picture(shade=9))
    content = path.read_bytes()
    path.unlink()
    if becomes == "changed":
        path.write_bytes(content[:-20] + bytes(8) + content[-12:])
    elif becomes == "longer":
        path.write_bytes(content + b"more")
    elif becomes == "shorter":
        path.write_bytes(picture(side=19))
    elif becomes == "folder":
        path.mkdir()
    elif becomes == "pipe":
        os.mkfifo(path)
    kept = store(run)
    kept.keep(make_requests(part, other))
    assert names(run) == [f"{other.sha256}.png"]
    assert kept.notes() == ("1 of 2 media are not stored with the run: 1 missing or changed since",)


def test_a_disk_that_cannot_be_read_is_reported_and_one_that_is_full_is_an_error(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(stream: BinaryIO, medium: Medium) -> str:
        raise OSError(errno.EIO, "damaged")

    part = in_file(tmp_path / "a.png", picture())
    kept = MediaStore(run, ROOM, damaged)
    kept.keep(make_requests(part))
    assert "changed since" in kept.notes()[0]

    def full(self: Path, *args: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="full"):
        store(run).keep(make_requests(part))


@pytest.mark.parametrize("sha256", ["", "..", "../manifest", "a" * 63, "A" * 64, "0" * 63 + "/", "é" * 64])
def test_what_is_no_hash_finds_nothing(run: Path, sha256: str) -> None:
    (run / MEDIA_FOLDER).mkdir()
    assert find_medium(run, sha256) is None


def test_what_was_not_kept_is_not_found(run: Path) -> None:
    assert find_medium(run, "0" * 64) is None


def test_links_are_not_followed(run: Path, tmp_path: Path) -> None:
    part = in_file(tmp_path / "secret.png", picture())
    (run / MEDIA_FOLDER).mkdir()
    (run / MEDIA_FOLDER / f"{part.sha256}.png").symlink_to(tmp_path / "secret.png")
    assert find_medium(run, part.sha256) is None
    store(tmp_path).keep(make_requests(part))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / MEDIA_FOLDER).symlink_to(tmp_path / MEDIA_FOLDER)
    assert find_medium(tmp_path / "other", part.sha256) is None
    # A folder of runs may itself be reached by a link.
    (tmp_path / "alias").symlink_to(tmp_path)
    assert find_medium(tmp_path / "alias", part.sha256) is not None
