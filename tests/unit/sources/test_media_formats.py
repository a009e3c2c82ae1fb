"""Detection of image, audio and video formats, against Pillow, the standard library and real files."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import struct
import wave
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.media import Medium
from assay.sources.media_files import read_media_data, read_media_file
from assay.sources.media_formats import BrokenMedia, MediaFacts, examine_media

sides = st.integers(1, 300)


def picture(form: str, width: int = 7, height: int = 5, **more: object) -> bytes:
    pictures = pytest.importorskip("PIL.Image")
    stream = io.BytesIO()
    pictures.new("RGB", (width, height), (200, 30, 30)).save(stream, form, **more)
    return stream.getvalue()


def sound(n_frames: int = 4000, rate: int = 8000) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(bytes(2 * n_frames))
    return stream.getvalue()


def box(name: bytes, content: bytes = b"") -> bytes:
    return struct.pack(">I4s", 8 + len(content), name) + content


FILM = box(b"ftyp", b"isom\0\0\2\0isomiso2") + box(b"moov", bytes(40)) + box(b"mdat", bytes(100))


def look(content: bytes, medium: Medium) -> MediaFacts:
    return examine_media(io.BytesIO(content), medium)


@pytest.mark.parametrize(
    ("form", "more"),
    [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("GIF", {}), ("BMP", {}),
     ("WEBP", {}), ("WEBP", {"lossless": True}), ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"})],
)  # fmt: skip
@given(width=sides, height=sides)
def test_pictures_have_the_size_they_were_drawn_with(
    form: str, more: dict[str, object], width: int, height: int
) -> None:
    found = look(picture(form, width, height, **more), Medium.IMAGE)
    assert found == MediaFacts(f"image/{form.lower()}", f"{width}x{height}")


def test_sounds_and_films() -> None:
    assert look(sound(), Medium.AUDIO) == MediaFacts("audio/wav", "0.5 s")
    # 44,100 samples at 22,050 in a second; 20, 3, 5 and 36 bits of a STREAMINFO.
    flac = b"fLaC\0\0\0\x22" + bytes(10) + (22050 << 44 | 1 << 41 | 15 << 36 | 44100).to_bytes(8) + bytes(16)
    assert look(flac, Medium.AUDIO) == MediaFacts("audio/flac", "2.0 s")
    assert look(b"ID3\4" + bytes(50), Medium.AUDIO) == MediaFacts("audio/mpeg")
    assert look(FILM, Medium.VIDEO) == MediaFacts("video/mp4")
    assert look(FILM, Medium.AUDIO) == MediaFacts("audio/mp4")


@pytest.mark.parametrize(
    ("content", "medium", "why"),
    [
        (b"", Medium.IMAGE, "it is empty"),
        (b"<html>not found</html>", Medium.IMAGE, "not in a known image format; it begins with b'<html>no'"),
        (sound(), Medium.IMAGE, "it is audio/wav, not image"),
        (sound(0), Medium.AUDIO, "it contains no sound"),
        (box(b"ftyp", b"isom") + box(b"mdat", bytes(9)), Medium.VIDEO, "it has no moov box"),
        (b"\xff\xd8\xff\xe0\x00\x04ab" + bytes(40), Medium.IMAGE, "segments are not contiguous"),
    ],
)
def test_what_is_broken_is_said(content: bytes, medium: Medium, why: str) -> None:
    with pytest.raises(BrokenMedia, match=why):
        look(content, medium)


@pytest.mark.parametrize(
    ("content", "medium"),
    [
        (sound(), Medium.AUDIO),
        (FILM, Medium.VIDEO),
        (picture("PNG"), Medium.IMAGE),
        (picture("WEBP"), Medium.IMAGE),
    ],
)
@given(data=st.data())
def test_a_file_that_is_cut_off_is_never_whole(content: bytes, medium: Medium, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(BrokenMedia):
        look(content[:n], medium)


HEADS = (
    b"",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"RIFF\0\0\0\0WEBP",
    b"RIFF\0\0\0\0WAVE",
    b"\0\0\0\x10ftyp",
)


@given(head=st.sampled_from(HEADS), content=st.binary(max_size=80), medium=st.sampled_from(list(Medium)))
def test_noise_is_broken_and_raises_nothing_else(head: bytes, content: bytes, medium: Medium) -> None:
    with contextlib.suppress(BrokenMedia):
        look(head + content, medium)


def test_a_picture_with_a_damaged_middle_is_reported_by_pillow(tmp_path: Path) -> None:
    content = bytearray(picture("PNG", 40, 40))
    content[60] ^= 0xFF
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(BrokenMedia, match="it is damaged"):
        read_media_file(tmp_path / "a.png", Medium.IMAGE)


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    for name in ("a.wav", "b.bin"):
        (tmp_path / name).write_bytes(sound())
    one, other = (read_media_file(tmp_path / name, Medium.AUDIO) for name in ("a.wav", "b.bin"))
    in_base64 = read_media_data("audio/x-wav", base64.b64encode(sound()).decode(), Medium.AUDIO)
    assert one.content() == other.content() == in_base64.content()
    assert (one.media_type, one.n_bytes, one.extent) == ("audio/wav", len(sound()), "0.5 s")
    # Written again, it is looked at again.
    (tmp_path / "a.wav").write_bytes(sound(8000))
    assert read_media_file(tmp_path / "a.wav", Medium.AUDIO).extent == "1.0 s"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BrokenMedia, match="the file does not exist"):
        read_media_file(tmp_path / "none.png", Medium.IMAGE)
    with pytest.raises(BrokenMedia, match="it is a folder"):
        read_media_file(tmp_path, Medium.IMAGE)
    locked = tmp_path / "locked.wav"
    locked.write_bytes(sound())
    locked.chmod(0)
    if not os.access(locked, os.R_OK):
        with pytest.raises(BrokenMedia, match="it cannot be read: Permission denied"):
            read_media_file(locked, Medium.AUDIO)


def test_frames_of_a_film_in_base64() -> None:
    frame = base64.b64encode(picture("JPEG", 8, 6)).decode()
    film = read_media_data("video/jpeg", f"{frame},{frame},{frame}", Medium.VIDEO)
    assert (film.media_type, film.extent) == ("video/jpeg", "3 frames of 8x6")
    with pytest.raises(BrokenMedia, match="comma in its base64"):
        read_media_data("image/jpeg", f"{frame},{frame}", Medium.IMAGE)
    with pytest.raises(BrokenMedia, match="it is not valid base64"):
        read_media_data("image/jpeg", "a path.png", Medium.IMAGE)


def test_the_real_files(shared_data: Path) -> None:
    for path in (shared_data / "easy_vqa" / "images").glob("*.png"):
        assert read_media_file(path, Medium.IMAGE).extent == "64x64"
    for path in (shared_data / "spoken_digits").glob("*.wav"):
        with wave.open(str(path)) as reader:
            seconds = reader.getnframes() / reader.getframerate()
        assert read_media_file(path, Medium.AUDIO).extent == f"{seconds:.1f} s"
