"""Models that see or hear, made on the spot: tiny ones with random weights and processors of their own."""

from __future__ import annotations

import base64
import math
import shutil
import sys
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from assay.backends.hf.backend import HfBackend
from assay.backends.hf.media_prompts import decode_audio, resample_audio
from assay.core.errors import BackendError
from assay.core.media import Audio, Image, Medium, Part, Text
from assay.core.prompt import Message
from assay.core.request import Ask, Generate, Sampling, Span, make_request
from assay.core.response import Completion, Failure, Likelihood, Outcome
from assay.sources.media_files import read_media_file
from fakes.tiny_vlm import TEMPLATE, write_tiny_llava, write_tiny_qwen2_audio

pytest.importorskip("PIL")
COLORS = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (200, 200, 30), (10, 10, 10), (250, 250, 250)]
SHORT = Sampling(max_tokens=8)


@pytest.fixture(scope="session")
def llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llava(tmp_path_factory.mktemp("tiny") / "llava")


@pytest.fixture(scope="session")
def hears(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_qwen2_audio(tmp_path_factory.mktemp("tiny") / "qwen2_audio")


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Image]:
    """Pictures of one colour with a black corner, each another."""
    from PIL import Image as Pictures

    folder = tmp_path_factory.mktemp("images")
    found: list[Image] = []
    for n, color in enumerate(COLORS):
        picture = Pictures.new("RGB", (24 + 8 * n, 32), color)
        picture.paste((0, 0, 0), (0, 0, 8, 8))
        picture.save(folder / f"{n}.png")
        part = read_media_file(folder / f"{n}.png", Medium.IMAGE)
        assert isinstance(part, Image)
        found.append(part)
    return found


def shows(*parts: Part, sampling: Sampling = SHORT) -> Generate:
    return Generate((Message("user", parts),), sampling)


def ask_all(backend: HfBackend, asks: Sequence[Ask]) -> list[Outcome]:
    requests = [make_request("t", str(n), "gen", "answer", 0, ask) for n, ask in enumerate(asks)]
    answers = {response.request_id: response.outcome for response in backend.run(requests)}
    return [answers[one.id] for one in requests]


def text_of(outcome: Outcome) -> str:
    assert isinstance(outcome, Completion), outcome
    return outcome.outputs[0].text


def opened(folder: Path, **args: str) -> HfBackend:
    return HfBackend(str(folder), args)


def test_the_card_says_what_it_takes(llava: Path, hears: Path) -> None:
    assert opened(llava).card.media == {Medium.IMAGE}
    assert opened(hears).card.media == {Medium.AUDIO}
    assert opened(llava).card.is_chat


def test_answers_are_those_of_the_model_itself(llava: Path, images: list[Image]) -> None:
    from PIL import Image as Pictures
    from transformers import AutoModelForImageTextToText, AutoProcessor

    backend = opened(llava)
    asks = [
        *(shows(image, Text("What is the color?")) for image in images),
        shows(images[0], Text("Then:"), images[1], Text("Same?")),
        Generate((Message("user", (images[2], Text("What?"))), Message("assistant", "It is")), SHORT),
    ]
    found = ask_all(backend, asks)
    model = AutoModelForImageTextToText.from_pretrained(llava).eval()
    processor = AutoProcessor.from_pretrained(llava, backend="pil")
    for ask, outcome in zip(asks, found, strict=True):
        spoken = [
            {"role": m.role, "content": [{"type": "text", "text": p.text} if isinstance(p, Text)
                                         else {"type": "image"} for p in m.content]}
            for m in ask.prompt if isinstance(m, Message) and m.role == "user"
        ]  # fmt: skip
        text = processor.apply_chat_template(spoken, add_generation_prompt=True)
        last = ask.prompt[-1]
        assert isinstance(last, Message)
        text += last.text if last.role == "assistant" else ""
        parts = [part for m in ask.prompt if isinstance(m, Message) for part in m.media]
        pictures = [Pictures.open(part.path) for part in parts]
        inputs = processor(text=[text], images=pictures, return_tensors="pt", add_special_tokens=False)
        written = model.generate(**inputs, max_new_tokens=8, do_sample=False)[
            0, inputs["input_ids"].shape[1] :
        ]
        assert text_of(outcome) == processor.tokenizer.decode(written, skip_special_tokens=True)
    assert len({text_of(outcome) for outcome in found}) > 3  # The images matter.


def test_an_answer_does_not_depend_on_its_company(llava: Path, images: list[Image]) -> None:
    warm = Sampling(max_tokens=8, temperature=1.0, seed=5, n=2)
    asks: list[Ask] = [
        *(shows(image, Text("What?")) for image in images),
        shows(images[0], Text("What?"), sampling=warm),
        Generate((Message("user", "What is the color of the shape?"),), SHORT),
        Span((Message("user", "What?"), Message("assistant", "a red circle")), 0),
    ]
    together = ask_all(opened(llava), asks)
    backwards = ask_all(opened(llava), asks[::-1])[::-1]
    alone = [ask_all(opened(llava), [ask])[0] for ask in asks]
    for one, two, three in zip(together, backwards, alone, strict=True):
        if isinstance(one, Likelihood):
            assert isinstance(two, Likelihood)
            assert math.isclose(one.sum_logprob, two.sum_logprob, abs_tol=1e-4)
        elif isinstance(one, Completion) and len(one.outputs) == 1:
            assert one == two == three
    # What is drawn follows from the key, which holds the index of a repeat and not the place in a run.
    assert together[6] == backwards[6] == alone[6]
    assert isinstance(together[6], Completion)
    assert len(together[6].outputs) == 2


def test_the_same_bytes_give_the_same_answer_however_they_are_named(llava: Path, images: list[Image]) -> None:
    content = Path(images[0].path).read_bytes()
    in_base64 = msgspec.structs.replace(images[0], path="", data=base64.b64encode(content).decode())
    one, other = ask_all(opened(llava), [shows(images[0], Text("What?")), shows(in_base64, Text("What?"))])
    assert one == other


def test_text_reaches_a_template_that_looks_for_parts(llava: Path) -> None:
    backend = opened(llava)
    ask = Generate((Message("user", "is there a red circle?"),), SHORT)
    assert "".join(token.text for token in backend.tokens(ask)) == (
        "<|im_start|>user\nis there a red circle?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_that_loses_text_is_reported(llava: Path, images: list[Image], tmp_path: Path) -> None:
    blind = tmp_path / "blind.jinja"
    blind.write_text(TEMPLATE.replace("part.text", "''"), encoding="utf-8")
    (outcome,) = ask_all(opened(llava, chat_template=str(blind)), [shows(images[0], Text("What?"))])
    assert outcome == Failure("template", "the model's chat template drops some of the user's text")


def test_tokens_and_their_number(llava: Path, images: list[Image]) -> None:
    backend = opened(llava)
    ask = shows(images[0], Text("What?"))
    tokens = backend.tokens(ask)
    assert sum(token.text == "<image>" for token in tokens) == 16
    assert backend.n_tokens(ask) == len(tokens) + 8
    # As `assay explain` may find it, when the data were not kept.
    gone = msgspec.structs.replace(images[0], path="")
    assert backend.tokens(shows(gone)) == ()
    assert backend.n_tokens(shows(gone)) is None


def test_trouble_with_one_prompt_is_its_failure(llava: Path, images: list[Image], tmp_path: Path) -> None:
    path = tmp_path / "0.png"
    shutil.copy(images[0].path, path)
    changed = read_media_file(path, Medium.IMAGE)
    shutil.copy(images[1].path, path)
    long = shows(images[0], Text("What is the color? " * 80))
    troubles: list[tuple[Ask, str, str]] = [
        (shows(changed), "media", "has changed since the run began"),
        (shows(Image("image/png", path=str(tmp_path / "gone.png"), sha256="0")), "media", "No such file"),
        (shows(Image(url="https://a/b.png")), "media", "only its URL is known"),
        (shows(Audio("audio/wav", path="a.wav")), "template", "does not accept audio here"),
        (shows(images[0], Text("What is <image>?")), "media", "rejects the prompt"),
        (long, "too_long", "the model's context length is 256"),
        (shows(images[0], sampling=Sampling(max_tokens=0)), "max_tokens", "nothing can be generated"),
        (
            Span((Message("user", (images[0],)), Message("assistant", "red")), 0),
            "template",
            "does not accept image here",
        ),
    ]
    outcomes = ask_all(opened(llava), [ask for ask, _, _ in troubles] + [shows(images[0])])
    for outcome, (_, kind, message) in zip(outcomes, troubles, strict=False):
        assert isinstance(outcome, Failure)
        assert (outcome.kind, message in outcome.message) == (kind, True), outcome
    assert isinstance(outcomes[-1], Completion)


def test_a_model_of_text_alone_is_shown_nothing(make_model: Any, images: list[Image]) -> None:
    backend = opened(make_model(chat=True))
    assert backend.card.media == frozenset()
    (outcome,) = ask_all(backend, [shows(images[0], Text("What?"))])
    assert outcome == Failure("template", "the model does not accept image here")


def test_stop_strings_and_ends_are_those_of_texts(llava: Path, images: list[Image]) -> None:
    whole = text_of(ask_all(opened(llava), [shows(images[0], Text("What?"))])[0])
    assert len(whole) > 4
    stopped = shows(images[0], Text("What?"), sampling=Sampling(max_tokens=8, stop=(whole[3],)))
    assert text_of(ask_all(opened(llava), [stopped])[0]) == whole[: whole.index(whole[3])]


def test_settings_of_the_checkpoint_are_not_heard(llava: Path, images: list[Image], tmp_path: Path) -> None:
    folder = tmp_path / "llava"
    shutil.copytree(llava, folder)
    settings = folder / "generation_config.json"
    settings.write_text(
        '{"do_sample": true, "temperature": 9.0, "repetition_penalty": 9.0, "min_new_tokens": 8}'
    )
    asks = [shows(image, Text("What?")) for image in images]
    assert ask_all(opened(folder), asks) == ask_all(opened(llava), asks)


def test_what_makes_images_ready_is_part_of_the_model(llava: Path, tmp_path: Path) -> None:
    folder = tmp_path / "llava"
    shutil.copytree(llava, folder)
    file = folder / "processor_config.json"
    file.write_text(file.read_text(encoding="utf-8").replace('"resample": 3', '"resample": 2'))
    assert opened(folder).identity().weights != opened(llava).identity().weights


def test_pillow_is_asked_for_before_weights_are_read(
    llava: Path, images: list[Image], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = opened(llava)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr("assay.backends.problems.find_spec", lambda name: None if name == "PIL" else object())
    with pytest.raises(BackendError, match=r"MODEL-004 .*needs PIL.*assay-eval\[vision\]"):
        ask_all(backend, [shows(images[0])])
    assert backend.stats()["load_seconds"] == 0


def test_a_model_that_hears(hears: Path, shared_data: Path) -> None:
    from transformers import AutoModelForMultimodalLM, AutoProcessor

    clips = [
        read_media_file(path, Medium.AUDIO) for path in sorted((shared_data / "spoken_digits").glob("*.wav"))
    ]
    found = ask_all(opened(hears), [shows(clip, Text("Which digit?")) for clip in clips])
    model = AutoModelForMultimodalLM.from_pretrained(hears).eval()
    processor = AutoProcessor.from_pretrained(hears)
    for clip, outcome in zip(clips, found, strict=True):
        assert isinstance(clip, Audio)
        heard = "<|audio_bos|><|AUDIO|><|audio_eos|>"
        text = f"<|im_start|>user\n{heard}Which digit?<|im_end|>\n<|im_start|>assistant\n"
        samples = decode_audio(clip, 16_000)
        inputs = processor(text=[text], audio=[samples], sampling_rate=16_000, return_tensors="pt")
        written = model.generate(**inputs, max_new_tokens=8, do_sample=False)[
            0, inputs["input_ids"].shape[1] :
        ]
        assert text_of(outcome) == processor.tokenizer.decode(written, skip_special_tokens=True)
    assert len({text_of(outcome) for outcome in found}) > 5


@pytest.mark.parametrize(("own_rate", "rate"), [(8000, 16000), (44100, 16000), (16000, 8000), (16000, 16000)])
def test_a_tone_is_the_same_tone_at_another_rate(own_rate: int, rate: int) -> None:
    def tone(per_second: int) -> Any:
        at = np.arange(per_second) / per_second
        return np.sin(2 * np.pi * 440 * at) * np.hanning(per_second)

    found = resample_audio(tone(own_rate), own_rate, rate)
    assert len(found) == rate
    assert np.abs(found - tone(rate)).max() < 1e-3


@pytest.mark.parametrize("width", [1, 2, 4])
def test_samples_of_every_width_and_channel(tmp_path: Path, width: int) -> None:
    path = tmp_path / "a.wav"
    frames = [(0.5, -0.5), (0.25, 0.75), (-1.0, -1.0)]
    scale = 1 << 8 * width - 1
    with wave.open(str(path), "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(width)
        writer.setframerate(8000)
        numbers = [int(value * scale) + (128 if width == 1 else 0) for frame in frames for value in frame]
        writer.writeframes(b"".join(n.to_bytes(width, "little", signed=width > 1) for n in numbers))
    part = read_media_file(path, Medium.AUDIO)
    assert isinstance(part, Audio)
    assert decode_audio(part, 8000).tolist() == pytest.approx([0.0, 0.5, -1.0])
