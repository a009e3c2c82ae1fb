"""Messages as OpenAI-style servers take them."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from assay.backends.local.media_bytes import MediaTrouble
from assay.backends.openai.protocol import build_content
from assay.core.media import Audio, Image, Text, Video
from assay.core.prompt import Message

BYTES = b"not really a picture"
HASH = hashlib.sha256(BYTES).hexdigest()
IN_BASE64 = base64.b64encode(BYTES).decode()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "0.png"
    path.write_bytes(BYTES)
    return str(path)


def test_text_is_a_text() -> None:
    assert build_content(Message("user", "Is it red?")) == "Is it red?"


def test_parts_keep_their_order(file: str) -> None:
    image = Image("image/png", path=file, sha256=HASH)
    content = build_content(
        Message("user", (Text("One:"), image, Text("Two:"), Image(url="https://a/2.png")))
    )
    assert content == [
        {"type": "text", "text": "One:"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IN_BASE64}"}},
        {"type": "text", "text": "Two:"},
        {"type": "image_url", "image_url": {"url": "https://a/2.png"}},
    ]


@pytest.mark.parametrize(("media_type", "name"), [("audio/wav", "wav"), ("audio/mpeg", "mp3")])
def test_common_sounds_go_as_openai_takes_them(file: str, media_type: str, name: str) -> None:
    sound = Audio(media_type, path=file, sha256=HASH)
    assert build_content(Message("user", (sound,))) == [
        {"type": "input_audio", "input_audio": {"data": IN_BASE64, "format": name}}
    ]


def test_other_sounds_and_films_go_by_address(file: str) -> None:
    sound = Audio("audio/flac", path=file, sha256=HASH)
    film = Video("video/jpeg", sha256="0", data="AAAA,BBBB")
    assert build_content(Message("user", (sound, Audio("audio/wav", url="https://a/b.wav"), film))) == [
        {"type": "audio_url", "audio_url": {"url": f"data:audio/flac;base64,{IN_BASE64}"}},
        {"type": "audio_url", "audio_url": {"url": "https://a/b.wav"}},
        {"type": "video_url", "video_url": {"url": "data:video/jpeg;base64,AAAA,BBBB"}},
    ]


def test_a_file_that_changed_is_not_sent(file: str) -> None:
    Path(file).write_bytes(b"another picture")
    with pytest.raises(MediaTrouble, match=r"0\.png.* has changed"):
        build_content(Message("user", (Image("image/png", path=file, sha256=HASH),)))


def test_a_file_that_is_gone_is_named(file: str) -> None:
    Path(file).unlink()
    with pytest.raises(MediaTrouble, match=r"0\.png.*No such file"):
        build_content(Message("user", (Image("image/png", path=file, sha256=HASH),)))
