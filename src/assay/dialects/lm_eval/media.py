"""Images and audio of a document: where a prompt shows them, and how a document with them is stored."""

from __future__ import annotations

import base64
import io
import re
import wave
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.ids import digest
from assay.core.media import AnyMedia, Medium, Part, Text
from assay.core.prompt import Message, Prompt
from assay.dialects.lm_eval.rendering import UnreadableValue
from assay.dialects.shared.messages import build_media_part
from assay.dialects.shared.plain_rows import to_plain_data
from assay.sources.media_files import read_media_data
from assay.sources.media_formats import BrokenMedia

_PLACES = re.compile("(<image>|<audio>)")
_MEDIA_BY_PLACE = {"<image>": Medium.IMAGE, "<audio>": Medium.AUDIO}


def attach_media(prompt: Prompt, media: Sequence[AnyMedia]) -> Prompt:
    """Return a prompt with media in the places that its text marks; those without a place come first."""
    if not media:
        return prompt
    messages = (Message("user", prompt),) if isinstance(prompt, str) else prompt
    at = max(number for number, message in enumerate(messages) if message.role == "user")
    left = list(media)
    parts: list[Part] = []
    for piece in _PLACES.split(messages[at].text):
        medium = _MEDIA_BY_PLACE.get(piece)
        found = next((one for one in left if one.medium is medium), None)
        if found is not None:
            left.remove(found)
            parts.append(found)
        elif piece:
            parts.append(Text(piece))
    return (*messages[:at], Message("user", (*left, *parts)), *messages[at + 1 :])


def read_medium(value: Any, medium: Medium) -> AnyMedia:
    """Return an image or a clip of a row: an address, bytes, or what the `datasets` library decodes."""
    try:
        if isinstance(value, str):
            return build_media_part(medium, value)
        if isinstance(value, Mapping) and value.get("bytes") is None and value.get("path"):
            return build_media_part(medium, str(value["path"]))
        part: AnyMedia = read_media_data("", base64.b64encode(_encode_medium(value)).decode(), medium)
        return part
    except BrokenMedia as error:
        raise UnreadableValue(f"the {medium} cannot be read: {error}") from error


def describe_document(doc: Any) -> dict[str, Any]:
    """Return a document as stored; decoded media become short descriptions."""
    fields = doc if isinstance(doc, Mapping) else {"doc": doc}
    described: dict[str, Any] = to_plain_data(
        {name: _describe_value(value) for name, value in fields.items()}
    )
    return described


def _describe_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_describe_value(one) for one in value]
    if isinstance(value, bytes):
        return f"[{len(value):,} bytes {digest(value)}]"
    if hasattr(value, "tobytes") and hasattr(value, "mode"):
        width, height = value.size
        return f"[image {width}x{height} {digest(value.tobytes())}]"
    if isinstance(value, Mapping) and "array" in value and "sampling_rate" in value:
        return f"[audio {len(value['array'])} samples {digest(bytes(memoryview(value['array'])))}]"
    return value


def _encode_medium(value: Any) -> bytes:
    """Return the bytes of a file with this content."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("bytes"), bytes):
        return bytes(value["bytes"])
    if isinstance(value, Mapping) and "array" in value:
        return _write_wave(value["array"], int(value["sampling_rate"]))
    if hasattr(value, "get_all_samples"):
        samples = value.get_all_samples()
        return _write_wave(samples.data[0].numpy(), int(samples.sample_rate))
    if hasattr(value, "save"):
        file = io.BytesIO()
        value.save(file, format="PNG")
        return file.getvalue()
    raise UnreadableValue(f"{type(value).__name__} is neither an image nor an audio clip")


def _write_wave(samples: Any, rate: int) -> bytes:
    """Return samples between -1 and 1 as a WAV file with 16 bits."""
    import numpy as np

    scaled = (np.clip(np.asarray(samples, dtype=float), -1.0, 1.0) * 32767).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as stream:
        stream.setnchannels(1)
        stream.setsampwidth(2)
        stream.setframerate(rate)
        stream.writeframes(scaled.tobytes())
    return file.getvalue()
