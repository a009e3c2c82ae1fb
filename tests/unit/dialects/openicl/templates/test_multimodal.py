"""`MMPromptTemplate`: rows with media become messages, over hand-made rows and real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import AuthorError
from assay.core.media import Image, Medium, Text
from assay.core.origin import Origin
from assay.core.prompt import Message
from assay.dialects.openicl.templates.multimodal import MediaSurvey, MultimodalTemplate

TEXT = {"type": "text", "text": "{question}"}
IMAGE = {"type": "image_url", "image_url": {"url": "{image}"}}
AUDIO = {"type": "audio_url", "audio_url": {"url": "file://{audio}"}}


def template(*, begin: Any = None, **prompt_mm: Any) -> dict[str, Any]:
    written: dict[str, Any] = {"round": [{"role": "HUMAN", "prompt_mm": prompt_mm}]}
    if begin is not None:
        written["begin"] = begin
    return {"template": written}


def marked(*parts: tuple[str, str]) -> str:
    return "".join(f"<AIS_{kind}_START>{value}<AIS_CONTENT_TAG>" for kind, value in parts)


def render_multimodal(arguments: dict[str, Any], row: dict[str, Any], **settings: Any) -> tuple[Message, ...]:
    return MultimodalTemplate(arguments, **settings).messages(row)


ROW = {
    "content": marked(("IMAGE", "https://a/1.png"), ("IMAGE", "https://a/2.png"), ("TEXT", "Same {shape}?")),
    "answer": "GOLD",
    "shape": "circle",
    "image": "A" * 999,
}


def test_a_row_says_which_parts_there_are_and_in_which_order() -> None:
    assert render_multimodal(template(text=TEXT, image=IMAGE), ROW) == (
        Message("user", (Image(url="https://a/1.png"), Image(url="https://a/2.png"), Text("Same {shape}?"))),
    )


@pytest.mark.parametrize(
    ("is_faithful", "text"),
    [
        (False, "Same {shape}? A circle, {image}? [] {x}"),
        (True, "Same {shape}? A {shape}, {image}? [{answer}] {x}"),
    ],
)
def test_columns_are_filled_once_and_never_with_the_answer(is_faithful: bool, text: str) -> None:
    way = {"type": "text", "text": "{question} A {shape}, {image}? [{answer}] {x}"}
    (message,) = render_multimodal(
        template(text=way, image=IMAGE), ROW, output_column="answer", is_faithful=is_faithful
    )
    assert message.text == text


def test_what_is_before_the_round() -> None:
    begin = [{"role": "SYSTEM", "prompt": "You see a {shape}."}, "Look closely."]
    first, second = render_multimodal(template(begin=begin, text=TEXT, image=IMAGE), ROW)
    assert first == Message("system", "You see a circle.")
    assert second.role == "user"
    assert second.content[0] == Text("Look closely.")
    faithful = render_multimodal(template(begin=begin, text=TEXT, image=IMAGE), ROW, is_faithful=True)
    assert faithful[0].content == "You see a {shape}."


def test_text_alone_is_plain_text() -> None:
    row = {"content": marked(("TEXT", "What is 1 + 1?"))}
    assert render_multimodal(template(text=TEXT, image=IMAGE), row) == (Message("user", "What is 1 + 1?"),)


def test_the_turn_that_the_model_writes_is_left_to_it() -> None:
    written = template(text=TEXT, image=IMAGE)
    written["template"]["round"].append({"role": "BOT", "prompt": ""})
    assert [message.role for message in render_multimodal(written, ROW)] == ["user"]


def test_an_address_may_stand_without_a_dict() -> None:
    bare = {"type": "image_url", "image_url": "{image}"}
    assert render_multimodal(template(text=TEXT, image=bare), ROW) == render_multimodal(
        template(text=TEXT, image=IMAGE), ROW
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the template of MMPromptTemplate is None, expected a dict with a list 'round'"),
        ({"template": {"round": []}}, "expected a dict with a list 'round'"),
        ({"template": {"round": [{"role": "HUMAN", "prompt": "a"}]}}, "no item of 'round' has a 'prompt_mm'"),
        (template(text=TEXT, imgae=IMAGE), "unknown key 'imgae' (did you mean 'image'?)"),
        (template(text="{question}"), "prompt_mm['text'] is '{question}', expected a part with 'text'"),
        (template(image={"type": "image", "image": "{image}"}), "expected a part with 'image_url'"),
        (template(image={**IMAGE, "detail": "low"}), "unknown key 'detail', which would have no effect"),
        ({"template": {"round": [{"role": "HUMAM", "prompt_mm": {"text": TEXT}}]}}, "did you mean 'HUMAN'"),
        ({"template": {"round": [{"role": "HUMAN", "prompt_mm": [TEXT]}]}}, "expected a dict"),
        (template(begin=[{"role": "SYSTEM"}], text=TEXT), "the prompt of an item is None, expected a text"),
    ],
)
def test_what_is_wrong_with_a_template(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(AuthorError) as caught:
        MultimodalTemplate(arguments, where=Origin("shapes.py"))
    assert "MEDIA-001 shapes.py: " in str(caught.value)
    assert message in str(caught.value)


def test_all_that_is_wrong_with_all_rows_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    (tmp_path / "page.png").write_text("<html>", encoding="utf-8")
    rows: list[dict[str, Any]] = [
        {"content": marked(("IMAGE", "gone.png"), ("IMAGE", "empty.png"), ("TEXT", "?"))},
        {"content": marked(("IMAGE", "page.png"), ("TEXT", "?"))},
        {"content": marked(("AUDIO", "a.wav"), ("TEXT", "?"))},
        {"content": None},
        {"question": "?"},
        {"content": marked(("IMAGE", "data:image/png;base64," + "A" * 4000))},
    ]
    ready = MultimodalTemplate(template(text=TEXT, image=IMAGE), roots=[tmp_path])
    with pytest.raises(AuthorError) as caught:
        ready.survey((row, Origin("shapes.jsonl", row=n)) for n, row in enumerate(rows, 1))
    problems = [str(problem) for problem in caught.value.problems]
    for problem, message in zip(
        problems,
        [
            "MEDIA-003 shapes.jsonl row 1, column 'content': image 'gone.png': the file does not exist",
            "row 1, column 'content': image 'empty.png': it is empty",
            "row 2, column 'content': image 'page.png': it is not in a known image format",
            "MEDIA-002 shapes.jsonl row 3, column 'content': the row contains audio, but prompt_mm only "
            "has 'text', 'image'",
            "MEDIA-002 shapes.jsonl row 4, column 'content': the column 'content' is None",
            "the column 'content' is missing; the columns are 'question'",
            "row 6, column 'content': image 'data:image/png;base64,AAAA",
        ],
        strict=True,
    ):
        assert message in problem
    assert max(map(len, problems)) < 400


def test_more_problems_than_can_be_read_are_counted() -> None:
    ready = MultimodalTemplate(template(text=TEXT, image=IMAGE))
    row = {"content": marked(("IMAGE", "gone.png"))}
    with pytest.raises(AuthorError, match="and 30 more"):
        ready.survey((row, Origin("a", row=n)) for n in range(50))


def easy_vqa(folder: Path) -> Iterator[tuple[dict[str, Any], Origin]]:
    rows = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    for n, (question, answer, image) in enumerate(rows, 1):
        content = marked(("IMAGE", f"images/{image}.png"), ("TEXT", question))
        yield {"content": content, "answer": answer}, Origin("questions.json", row=n)


def test_easy_vqa(shared_data: Path) -> None:
    folder = shared_data / "easy_vqa"
    local = {"type": "image_url", "image_url": {"url": "file://{image}"}}
    ready = MultimodalTemplate(template(text=TEXT, image=local), output_column="answer", roots=[folder])
    rows = list(easy_vqa(folder))
    survey = ready.survey(rows)
    assert survey == MediaSurvey(frozenset({Medium.IMAGE}), has_addresses=False)
    assert survey.settings() == {"media": ["image"]}
    (message,) = ready.messages(rows[0][0])
    assert message.display_text == f"[image {folder}/images/0.png 64x64]\nwhat is the red shape?"


def test_spoken_digits(shared_data: Path) -> None:
    clips = sorted((shared_data / "spoken_digits").glob("*.wav"))
    ready = MultimodalTemplate(template(text=TEXT, audio=AUDIO))
    rows = [
        ({"content": marked(("AUDIO", str(clip)), ("TEXT", "Which digit?"))}, Origin(clip.name))
        for clip in clips
    ]
    assert ready.survey(rows).media == {Medium.AUDIO}
    keys = {part.sha256 for row, _ in rows for part in ready.messages(row)[0].media}
    assert len(keys) == len(clips) == 10


def test_what_addresses_mean_for_the_plan() -> None:
    survey = MultimodalTemplate(template(text=TEXT, image=IMAGE)).survey([(ROW, Origin("a"))])
    assert survey.settings() == {"media": ["image"], "has_media_addresses": True}
    assert MediaSurvey(frozenset(), has_addresses=False).settings() == {}
