"""Formats of images, audio and video: type, extent and completeness, read from headers.

Reads headers and the structure of the format, and decodes nothing. Detects a file that is empty, truncated or
of another type than its name says. Does not detect damage in the middle of an image: `media_files` uses
Pillow for that, if it is installed.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from assay.core.media import Medium

_HEAD_BYTES = 64
_ENDLESS = 0xFFFFFFFF
"""The length that a writer stores if it does not know the real one."""


class BrokenMedia(Exception):
    """The bytes are not a valid medium; the message says what they are."""


class MediaFacts(NamedTuple):
    """The type and extent of a medium."""

    media_type: str
    extent: str = ""
    """`64x64` or `0.6 s`; empty if the header does not say."""


def examine_media(stream: BinaryIO, medium: Medium) -> MediaFacts:
    """Return the facts of a stream; raise BrokenMedia if it is empty, truncated or not such a medium."""
    size = stream.seek(0, io.SEEK_END)
    if not size:
        raise BrokenMedia("it is empty")
    stream.seek(0)
    head = stream.read(_HEAD_BYTES)
    for kind in _KINDS:
        if kind.begins(head):
            if medium not in kind.types:
                raise BrokenMedia(f"it is {' or '.join(sorted(kind.types.values()))}, not {medium}")
            return MediaFacts(kind.types[medium], kind.extent(stream, size))
    raise BrokenMedia(f"it is not in a known {medium} format; it begins with {head[:8]!r}")


def detect_media_type(stream: BinaryIO, medium: Medium) -> str:
    """Return the media type of a stream; empty if it is not such a medium, or incomplete."""
    try:
        return examine_media(stream, medium).media_type
    except BrokenMedia:
        return ""


class _Kind(NamedTuple):
    begins: Callable[[bytes], bool]
    types: dict[Medium, str]
    """The media type for each medium that the format can contain."""
    extent: Callable[[BinaryIO, int], str]
    """Reads the rest of the headers; raises BrokenMedia if the end is missing."""


def _extent_of_png(stream: BinaryIO, size: int) -> str:
    """Follow the chunks to the last one. Each has a length, a name, the data and a checksum."""
    width, height = _unpack(stream, 16, ">II")
    at, name = 8, b""
    while name != b"IEND":
        length, name = _unpack(stream, at, ">I4s")
        at += 12 + length
    if at > size:
        raise BrokenMedia(f"it is truncated: {size:,} of {at:,} bytes")
    return f"{width}x{height}"


def _extent_of_gif(stream: BinaryIO, _: int) -> str:
    width, height = _unpack(stream, 6, "<HH")
    return f"{width}x{height}"


def _extent_of_bmp(stream: BinaryIO, _: int) -> str:
    width, height = _unpack(stream, 18, "<ii")
    return f"{width}x{abs(height)}"


def _extent_of_jpeg(stream: BinaryIO, _: int) -> str:
    """Follow the segments to the frame header, which contains the size."""
    at = 2
    while True:
        mark, kind, length = _unpack(stream, at, ">BBH")
        if mark != 0xFF:
            raise BrokenMedia("it is damaged: the JPEG segments are not contiguous")
        if kind == 0xFF:  # Padding between segments.
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = _unpack(stream, at + 5, ">HH")
            return f"{width}x{height}"
        else:
            at += 2 + length


def _extent_of_webp(stream: BinaryIO, size: int) -> str:
    (length,) = _unpack(stream, 4, "<I")
    if length + 8 > size:
        raise BrokenMedia(f"it is truncated: {size:,} of {length + 8:,} bytes")
    (form,) = _unpack(stream, 12, "4s")
    if form == b"VP8X":
        low = _unpack(stream, 24, "<6B")
        width, height = (1 + sum(byte << 8 * n for n, byte in enumerate(low[i : i + 3])) for i in (0, 3))
    elif form == b"VP8L":
        (packed,) = _unpack(stream, 21, "<I")
        width, height = 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
    else:
        width, height = (side & 0x3FFF for side in _unpack(stream, 26, "<HH"))
    return f"{width}x{height}"


def _extent_of_wav(stream: BinaryIO, size: int) -> str:
    """Follow the chunks: `fmt ` gives the bytes per second, `data` the number of bytes."""
    per_second, at = 0, 12
    while at + 8 <= size:
        name, length = _unpack(stream, at, "<4sI")
        if name == b"fmt ":
            (per_second,) = _unpack(stream, at + 16, "<I")
        elif name == b"data":
            n_present = size - at - 8
            if not n_present or not length:
                raise BrokenMedia("it contains no sound")
            if length != _ENDLESS and length > n_present:
                raise BrokenMedia(f"it is truncated: {n_present:,} of {length:,} bytes of sound")
            return f"{min(length, n_present) / per_second:.1f} s" if per_second else ""
        at += 8 + length + length % 2
    raise BrokenMedia("it is truncated: the WAV file has no data chunk")


def _extent_of_flac(stream: BinaryIO, _: int) -> str:
    (packed,) = _unpack(stream, 18, ">Q")
    rate, n_samples = packed >> 44, packed & 0xFFFFFFFFF
    return f"{n_samples / rate:.1f} s" if rate and n_samples else ""


def _extent_of_mp4(stream: BinaryIO, size: int) -> str:
    """Follow the boxes: `mdat` contains the content, and `moov` describes it."""
    names = []
    for name, end in _boxes(stream, size):
        if end > size:
            raise BrokenMedia(f"it is truncated: {size:,} of {end:,} bytes")
        names.append(name)
    for needed in ("moov", "mdat"):
        if needed.encode() not in names:
            raise BrokenMedia(f"it is truncated: it has no {needed} box")
    return ""


def _boxes(stream: BinaryIO, size: int) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at + 8 <= size:
        length, name = _unpack(stream, at, ">I4s")
        if length == 1:
            (length,) = _unpack(stream, at + 8, ">Q")
        elif length == 0:  # It extends to the end.
            length = size - at
        if length < 8:
            raise BrokenMedia(f"it is damaged: a box of {length} bytes at {at:,}")
        at += length
        yield name, at


def _unknown_extent(_: BinaryIO, __: int) -> str:
    return ""


def _unpack(stream: BinaryIO, at: int, form: str) -> tuple[Any, ...]:
    stream.seek(at)
    data = stream.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise BrokenMedia("it is truncated within its header")
    return struct.unpack(form, data)


def _starts(*signatures: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(signatures)


def _riff(form: bytes) -> Callable[[bytes], bool]:
    return lambda head: head[:4] == b"RIFF" and head[8:12] == form


def _brand(*brands: bytes) -> Callable[[bytes], bool]:
    return lambda head: head[4:8] == b"ftyp" and head[8:12].startswith(brands)


def _image(name: str) -> dict[Medium, str]:
    return {Medium.IMAGE: f"image/{name}"}


def _audio(name: str) -> dict[Medium, str]:
    return {Medium.AUDIO: f"audio/{name}"}


def _audio_or_video(name: str) -> dict[Medium, str]:
    """Return the types of a container format, which can contain either medium."""
    return {Medium.AUDIO: f"audio/{name}", Medium.VIDEO: f"video/{name}"}


_KINDS = (
    _Kind(_starts(b"\x89PNG\r\n\x1a\n"), _image("png"), _extent_of_png),
    _Kind(_starts(b"\xff\xd8\xff"), _image("jpeg"), _extent_of_jpeg),
    _Kind(_starts(b"GIF87a", b"GIF89a"), _image("gif"), _extent_of_gif),
    _Kind(_riff(b"WEBP"), _image("webp"), _extent_of_webp),
    _Kind(_starts(b"BM"), _image("bmp"), _extent_of_bmp),
    _Kind(_starts(b"II*\0", b"MM\0*"), _image("tiff"), _unknown_extent),
    _Kind(_brand(b"avif", b"avis"), _image("avif"), _unknown_extent),
    _Kind(_brand(b"heic", b"heix", b"mif1"), _image("heic"), _unknown_extent),
    _Kind(_riff(b"WAVE"), _audio("wav"), _extent_of_wav),
    _Kind(_starts(b"fLaC"), _audio("flac"), _extent_of_flac),
    _Kind(_brand(b"M4A"), _audio("mp4"), _extent_of_mp4),
    _Kind(_brand(b"qt"), {Medium.VIDEO: "video/quicktime"}, _extent_of_mp4),
    _Kind(lambda head: head[4:8] == b"ftyp", _audio_or_video("mp4"), _extent_of_mp4),
    _Kind(_starts(b"\x1a\x45\xdf\xa3"), _audio_or_video("webm"), _unknown_extent),
    _Kind(_starts(b"OggS"), _audio_or_video("ogg"), _unknown_extent),
    _Kind(_riff(b"AVI "), {Medium.VIDEO: "video/x-msvideo"}, _unknown_extent),
    _Kind(_starts(b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3"), {Medium.VIDEO: "video/mpeg"}, _unknown_extent),
    _Kind(
        _starts(b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa"), _audio("mpeg"), _unknown_extent
    ),
)
"""The known formats; the first that fits is used."""
