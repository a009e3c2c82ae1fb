"""Media as AISBench's rows name them."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from assay.core.errors import AuthorError
from assay.core.media import Audio, Image, Medium
from assay.dialects.openicl.media import ContentPart, split_content
from assay.dialects.openicl.templates.multimodal import MultimodalTemplate
from assay.dialects.shared.messages import build_media_part, clip_address
from assay.sources.media_formats import BrokenMedia

# The smallest PNG: one pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "images" / "one pixel.png"
    path.parent.mkdir()
    path.write_bytes(PIXEL)
    return path


def test_the_parts_keep_the_order_of_the_data() -> None:
    content = (
        "<AIS_TEXT_START>First:<AIS_CONTENT_TAG><AIS_IMAGE_START>a.png<AIS_CONTENT_TAG>"
        "<AIS_IMAGE_START>b.png<AIS_CONTENT_TAG><AIS_AUDIO_START>c.wav<AIS_CONTENT_TAG>"
        "<AIS_VIDEO_START>d.mp4<AIS_CONTENT_TAG><AIS_TEXT_START>Same?"
    )
    expected = [
        ContentPart(None, "First:"),
        ContentPart(Medium.IMAGE, "a.png"),
        ContentPart(Medium.IMAGE, "b.png"),
        ContentPart(Medium.AUDIO, "c.wav"),
        ContentPart(Medium.VIDEO, "d.mp4"),
        ContentPart(None, "Same?"),
    ]
    assert split_content(content) == split_content(content, is_faithful=True) == expected


def test_text_without_a_mark_is_text_unless_the_original_is_followed() -> None:
    content = "What is this?<AIS_CONTENT_TAG>\n<AIS_CONTENT_TAG><AIS_IMAGE_START>a.png"
    assert split_content(content) == [ContentPart(None, "What is this?"), ContentPart(Medium.IMAGE, "a.png")]
    assert split_content(content, is_faithful=True) == [ContentPart(Medium.IMAGE, "a.png")]


@pytest.mark.parametrize("spell", ["{}", "file://{}"])
def test_a_path_with_and_without_its_scheme(picture: Path, spell: str) -> None:
    part = build_media_part(Medium.IMAGE, spell.format(picture))
    assert (part.path, part.media_type, part.extent) == (str(picture), "image/png", "1x1")
    assert build_media_part(Medium.IMAGE, f"file://{picture}".replace(" ", "%20")) == part


def test_a_relative_path_is_looked_for_here_and_beside_the_data(
    picture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = picture.parents[1]
    with pytest.raises(BrokenMedia, match="the file does not exist"):
        build_media_part(Medium.IMAGE, "images/one pixel.png")
    part = build_media_part(Medium.IMAGE, "images/one pixel.png", roots=[root])
    assert Path(part.path) == picture
    monkeypatch.chdir(root)
    assert build_media_part(Medium.IMAGE, "images/one pixel.png").sha256 == part.sha256


def test_addresses_and_data(picture: Path) -> None:
    assert build_media_part(Medium.AUDIO, "https://a/b.wav") == Audio(url="https://a/b.wav")
    payload = base64.b64encode(PIXEL).decode()
    written = build_media_part(Medium.IMAGE, f"data:image/jpeg;base64,{payload}", is_faithful=True)
    part = build_media_part(Medium.IMAGE, f"data:image/jpeg;base64,{payload}")
    assert isinstance(part, Image)
    assert (part.media_type, written.media_type) == ("image/png", "image/jpeg")
    assert part.data == payload
    assert part.content() == build_media_part(Medium.IMAGE, str(picture)).content()


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("", "it has no path"),
        ("file://", "it has no path"),
        ("none.png", "the file does not exist"),
        ("data:image/png,abc", "not base64"),
        ("data:image/png;base64,abc", "it is not valid base64"),
        ("A" * 5000, "it is not a path; base64 data needs the prefix data:TYPE;base64,"),
        ("a\0b.png", "it is not a valid path"),
    ],
)
def test_what_is_no_medium(where: str, why: str) -> None:
    with pytest.raises(BrokenMedia, match=why):
        build_media_part(Medium.IMAGE, where)


def test_errors_show_the_beginning_of_data() -> None:
    assert clip_address("a.png") == "a.png"
    assert clip_address("A" * 5000) == "A" * 120 + "... (5,000 characters)"


def test_the_column_of_marked_parts_is_no_text_of_a_media_template() -> None:
    parts = {"text": {"type": "text", "text": "{content} Answer in one word."}}
    arguments = {"template": {"round": [{"role": "HUMAN", "prompt_mm": parts}]}}
    with pytest.raises(AuthorError, match=r"MEDIA-001.*uses \{content\}.*write prompt_mm=") as caught:
        MultimodalTemplate(arguments)
    assert '"image_url": {"url": "file://{image}"}' in str(caught.value)
    # The original leaves it in the prompt.
    MultimodalTemplate(arguments, is_faithful=True)


def test_a_media_template_without_parts_is_shown_their_shape() -> None:
    arguments = {"template": {"round": [{"role": "HUMAN", "prompt": "{content}"}]}}
    with pytest.raises(AuthorError, match=r"no item of 'round' has a 'prompt_mm'.*write prompt_mm="):
        MultimodalTemplate(arguments)
