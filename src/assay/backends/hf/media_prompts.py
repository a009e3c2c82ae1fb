"""Prompts with media, made ready by the model's own processor.

The chat template writes a mark for each medium, the processor turns the marks into as many tokens as the
medium takes, and the pixels or samples go to the model beside them. One prompt at a time: what a processor
pads in a batch may change what the model sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.backends.hf.media_decoding import decode_audio, decode_image
from assay.backends.local.chat_prompts import Renderer, TemplateTrouble
from assay.backends.local.media_bytes import MediaTrouble
from assay.core.media import Audio, Image
from assay.core.prompt import Prompt, strip_media_data
from assay.core.response import Failure


@dataclass(frozen=True, slots=True)
class MediaPrompt:
    """A prompt as the model reads it."""

    ids: tuple[int, ...]
    """Its tokens, those that media became among them."""
    inputs: Any
    """All that the model is called with, on the CPU."""


class MediaPrompts:
    """Makes prompts ready with one processor of transformers."""

    def __init__(self, processor: Any, tokenizer: Any) -> None:
        self._processor = processor
        self._renderer = Renderer(tokenizer, in_parts=True, with_media=True)

    def ready(self, prompt: Prompt) -> MediaPrompt | Failure:
        """Return a prompt made ready; a Failure when its media or the template do not let it be."""
        try:
            text = self._renderer.render(strip_media_data(prompt)).text
            return self._run_processor(text, prompt)
        except TemplateTrouble as trouble:
            return Failure("template", str(trouble))
        except MediaTrouble as trouble:
            return Failure("media", str(trouble))

    def _run_processor(self, text: str, prompt: Prompt) -> MediaPrompt:
        assert not isinstance(prompt, str)
        parts = [part for message in prompt for part in message.media]
        media: dict[str, Any] = {}
        if images := [decode_image(part) for part in parts if isinstance(part, Image)]:
            media["images"] = images
        if sounds := [part for part in parts if isinstance(part, Audio)]:
            rate = int(self._processor.feature_extractor.sampling_rate)
            media["audio"] = [decode_audio(part, rate) for part in sounds]
            media["sampling_rate"] = rate
        shown = ", ".join(map(str, parts))
        try:
            # The template writes the special tokens itself.
            inputs = self._processor(text=[text], return_tensors="pt", add_special_tokens=False, **media)
        except Exception as trouble:  # A processor may be a checkpoint's own code and raise anything.
            raise MediaTrouble(f"{shown}: the model's processor refuses the prompt: {trouble}") from trouble
        return MediaPrompt(tuple(inputs["input_ids"][0].tolist()), inputs)
