"""From the bytes of a medium to what a model's processor takes: a picture, or the samples of a sound.

Light on purpose: Pillow for pictures, the standard library for PCM WAV. Other sounds, and films, are for
servers.
"""

from __future__ import annotations

import io
import math
import wave
from typing import TYPE_CHECKING, Any

from assay.backends.local.media_bytes import MediaTrouble, read_media
from assay.core.media import Audio, Image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PCM_BYTES = {1: "u1", 2: "<i2", 4: "<i4"}
"""Bytes of a sample, and how they are read; a sample of one byte is counted from 0."""


def decode_image(part: Image) -> Any:
    """Return a picture in RGB, turned as its camera was held."""
    from PIL import Image as Pictures
    from PIL import ImageOps

    try:
        with Pictures.open(io.BytesIO(read_media(part))) as picture:
            return ImageOps.exif_transpose(picture).convert("RGB")
    except (OSError, SyntaxError, ValueError) as trouble:
        raise MediaTrouble(f"{part}: it cannot be decoded: {trouble}") from trouble


def decode_audio(part: Audio, rate: int) -> NDArray[np.float32]:
    """Return a sound as one channel of samples between -1 and 1, so many in a second."""
    import numpy as np

    try:
        with wave.open(io.BytesIO(read_media(part))) as sound:
            own_rate, n_channels, width = sound.getframerate(), sound.getnchannels(), sound.getsampwidth()
            raw = sound.readframes(sound.getnframes())
    except (wave.Error, EOFError) as trouble:
        raise MediaTrouble(f"{part}: read here is PCM in WAV alone: {trouble}") from trouble
    if width not in _PCM_BYTES:
        raise MediaTrouble(f"{part}: samples of {width} bytes are not read here; write 16-bit PCM")
    samples = np.frombuffer(raw, _PCM_BYTES[width]).astype(np.float64)
    samples = samples / 128 - 1 if width == 1 else samples / float(1 << 8 * width - 1)
    mono = samples.reshape(-1, n_channels).mean(axis=1)
    return resample_audio(mono, own_rate, rate).astype(np.float32)


def resample_audio(samples: NDArray[np.float64], own_rate: int, rate: int) -> NDArray[np.float64]:
    """Return a sound at another rate: the same frequencies, as far as the new rate holds them."""
    import numpy as np

    if own_rate == rate or not len(samples):
        return samples
    n = max(1, round(len(samples) * rate / own_rate))
    # Silence behind it: a spectrum takes the end of a sound for what stands before its beginning. So much of
    # it that both lengths are whole numbers; else the sound would be stretched a little.
    step = own_rate // math.gcd(own_rate, rate)
    n_steps = -(-(len(samples) + len(samples) // 8 + 1) // step)
    padded = np.concatenate([samples, np.zeros(n_steps * step - len(samples))])
    n_padded = len(padded) * rate // own_rate
    spectrum = np.fft.rfft(padded)
    kept = min(len(spectrum), n_padded // 2 + 1)
    whole = np.zeros(n_padded // 2 + 1, dtype=complex)
    whole[:kept] = spectrum[:kept]
    return np.fft.irfft(whole, n_padded)[:n] * (n_padded / len(padded))
