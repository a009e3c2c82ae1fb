"""Messages with media: their names, cache keys and stored form."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.media import Audio, Image, Medium, Part, Text, Video
from assay.core.prompt import Message, Prompt, final_text, find_media, replace_final_text, strip_media_data
from assay.core.request import Generate, Request, Sampling, make_request

CAT = Image("image/png", path="/pets/cat.png", sha256="c0", n_bytes=120, extent="64x64")


def make_ask(*parts: Part) -> Request:
    return make_request("t", "s", "gen", "answer", 0, Generate((Message("user", parts),), Sampling()))


def test_the_key_of_a_text_is_what_it_was_before_there_were_media() -> None:
    plain = make_request("t", "s", "gen", "answer", 0, Generate((Message("user", "Is it red?"),), Sampling()))
    assert plain.key == "43f3a4a088cf480da51abeb792dd38c7"


def test_the_key_follows_the_content_and_not_the_place() -> None:
    key = make_ask(CAT, Text("What?")).key
    moved = msgspec.structs.replace(CAT, path="/elsewhere/tom.png")
    in_base64 = Image("image/png", sha256="c0", n_bytes=120, data="AAAA")
    assert make_ask(moved, Text("What?")).key == make_ask(in_base64, Text("What?")).key == key
    changed = msgspec.structs.replace(CAT, sha256="d1")
    assert len({key, make_ask(changed, Text("What?")).key, make_ask(Text("What?"), CAT).key}) == 3


def test_an_address_is_known_by_itself() -> None:
    one, other = Image(url="https://a/1.png"), Image(url="https://a/2.png")
    assert make_ask(one).key != make_ask(other).key


def test_the_medium_is_part_of_the_key() -> None:
    assert make_ask(Audio("x/y", sha256="c0")).key != make_ask(Video("x/y", sha256="c0")).key


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (CAT, "[image /pets/cat.png 64x64]"),
        (Audio("audio/wav", path="a.wav", sha256="0", extent="0.6 s"), "[audio a.wav 0.6 s]"),
        (Video(url="https://a/b.mp4"), "[video https://a/b.mp4]"),
        (
            Image("image/png", sha256="0", n_bytes=1234, data="AA=="),
            "[image image/png of 1,234 bytes in base64]",
        ),
    ],
)
def test_a_medium_has_a_name(part: Part, shown: str) -> None:
    message = Message("user", (Text("Look:"), part))
    assert str(part) == shown
    assert message.display_text == f"Look:\n{shown}"
    assert message.text == "Look:"


def test_what_is_stored_holds_no_data() -> None:
    part = Image("image/png", sha256="c0", n_bytes=120, data="QUJD")
    stored = strip_media_data((Message("user", (Text("a"), part)),))
    encoded = msgspec.json.encode(stored)
    assert b"QUJD" not in encoded
    assert msgspec.json.decode(encoded, type=Prompt) == (
        Message("user", (Text("a"), Image("image/png", sha256="c0", n_bytes=120))),
    )


def test_text_alone_is_the_same_object() -> None:
    prompt = (Message("user", "a"), Message("assistant", "b"))
    assert strip_media_data(prompt) is prompt
    assert find_media(prompt) == find_media("a") == frozenset()
    assert find_media((Message("user", (CAT,)),)) == {Medium.IMAGE}


def test_the_final_text_is_the_last_part() -> None:
    prompt: Prompt = (Message("user", (CAT, Text("What?"))),)
    assert final_text(prompt) == "What?"
    assert replace_final_text(prompt, "Who?") == (Message("user", (CAT, Text("Who?"))),)
    ending: Prompt = (Message("user", (Text("What?"), CAT)),)
    assert final_text(ending) == ""
    assert replace_final_text(ending, "") == ending
    assert replace_final_text(ending, "So?") == (Message("user", (Text("What?"), CAT, Text("So?"))),)
