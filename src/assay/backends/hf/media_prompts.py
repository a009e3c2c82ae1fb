"""Prompts with media, prepared by the model's own processor.

The chat template writes a placeholder for each medium, the processor expands it to the medium's tokens, and
the model gets the pixels or samples as well. One prompt at a time: padding in a batch could change what the
model sees.
"""

from __future__ import annotations

import io
import math
import wave
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.backends.local.chat_prompts import Renderer, TemplateTrouble
from assay.backends.local.media_bytes import MediaTrouble, read_media
from assay.core.media import Audio, Image
from assay.core.prompt import Prompt, strip_media_data
from assay.core.response import Failure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PCM_BYTES = {1: "u1", 2: "<i2", 4: "<i4"}
"""Bytes per sample, and their numpy type; samples of one byte are unsigned."""


def decode_image(part: Image) -> Any:
    """Return an image in RGB, rotated as its metadata says."""
    from PIL import Image as Pictures
    from PIL import ImageOps

    try:
        with Pictures.open(io.BytesIO(read_media(part))) as picture:
            return ImageOps.exif_transpose(picture).convert("RGB")
    except (OSError, SyntaxError, ValueError) as trouble:
        raise MediaTrouble(f"{part}: it cannot be decoded: {trouble}") from trouble


def decode_audio(part: Audio, rate: int) -> NDArray[np.float32]:
    """Return audio as one channel of samples between -1 and 1, at `rate` samples per second."""
    import numpy as np

    try:
        with wave.open(io.BytesIO(read_media(part))) as sound:
            own_rate, n_channels, width = sound.getframerate(), sound.getnchannels(), sound.getsampwidth()
            raw = sound.readframes(sound.getnframes())
    except (wave.Error, EOFError) as trouble:
        raise MediaTrouble(f"{part}: only PCM in WAV files is supported: {trouble}") from trouble
    if width not in _PCM_BYTES:
        raise MediaTrouble(f"{part}: samples of {width} bytes are not supported; use 16-bit PCM")
    samples = np.frombuffer(raw, _PCM_BYTES[width]).astype(np.float64)
    samples = samples / 128 - 1 if width == 1 else samples / float(1 << 8 * width - 1)
    mono = samples.reshape(-1, n_channels).mean(axis=1)
    return resample_audio(mono, own_rate, rate).astype(np.float32)


def resample_audio(samples: NDArray[np.float64], own_rate: int, rate: int) -> NDArray[np.float64]:
    """Return audio at another sample rate, with the same frequencies as far as the new rate allows."""
    import numpy as np

    if own_rate == rate or not len(samples):
        return samples
    n = max(1, round(len(samples) * rate / own_rate))
    # Silence at the end: in a spectrum, the end of a signal continues at its beginning. The length of the
    # silence makes both lengths whole numbers; otherwise the signal would be stretched slightly.
    step = own_rate // math.gcd(own_rate, rate)
    n_steps = -(-(len(samples) + len(samples) // 8 + 1) // step)
    padded = np.concatenate([samples, np.zeros(n_steps * step - len(samples))])
    n_padded = len(padded) * rate // own_rate
    spectrum = np.fft.rfft(padded)
    kept = min(len(spectrum), n_padded // 2 + 1)
    whole = np.zeros(n_padded // 2 + 1, dtype=complex)
    whole[:kept] = spectrum[:kept]
    return np.fft.irfft(whole, n_padded)[:n] * (n_padded / len(padded))


@dataclass(frozen=True, slots=True)
class MediaPrompt:
    """A prompt as the model reads it."""

    ids: tuple[int, ...]
    """Its tokens, including those of its media."""
    inputs: Any
    """All arguments of the model's forward, on the CPU."""


class MediaPrompts:
    """Prepares prompts with a processor of transformers."""

    def __init__(
        self, processor: Any, tokenizer: Any, template_variables: Mapping[str, Any] | None = None
    ) -> None:
        self._processor = processor
        self._renderer = Renderer(tokenizer, in_parts=True, with_media=True, variables=template_variables)

    def prepare_prompt(self, prompt: Prompt) -> MediaPrompt | Failure:
        """Return a prepared prompt; a Failure if its media or the template do not allow it."""
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
        names = ", ".join(map(str, parts))
        try:
            # The template writes the special tokens itself.
            inputs = self._processor(text=[text], return_tensors="pt", add_special_tokens=False, **media)
        except Exception as trouble:  # A processor may be a checkpoint's own code and raise anything.
            raise MediaTrouble(f"{names}: the model's processor rejects the prompt: {trouble}") from trouble
        return MediaPrompt(tuple(inputs["input_ids"][0].tolist()), inputs)
