"""Messages in the form of OpenAI-compatible servers: a text, or a list of parts.

Media bytes are base64-encoded here, when a request is sent. Audio in a format of OpenAI's own API is sent as
`input_audio`, other audio as `audio_url`, video as `video_url`. vLLM and similar servers added the last two.
"""

from __future__ import annotations

from typing import Any

from assay.backends.local.media_bytes import encode_base64
from assay.core.media import AnyMedia, Audio, Text
from assay.core.prompt import Message

_AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""The audio formats that `input_audio` accepts."""


def build_content(message: Message) -> str | list[dict[str, Any]]:
    """Return the `content` of a message; raise MediaTrouble if one of its media cannot be read."""
    if isinstance(message.content, str):
        return message.content
    return [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _medium(part)
        for part in message.content
    ]


def _medium(part: AnyMedia) -> dict[str, Any]:
    if isinstance(part, Audio) and not part.url and part.media_type in _AUDIO_FORMATS:
        sound = {"data": encode_base64(part), "format": _AUDIO_FORMATS[part.media_type]}
        return {"type": "input_audio", "input_audio": sound}
    kind = f"{part.medium}_url"
    return {"type": kind, kind: {"url": part.url or f"data:{part.media_type};base64,{encode_base64(part)}"}}
