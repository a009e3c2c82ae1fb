"""Records of datasets that hold their media in base64, as they are stored: without it.

Only samples whose prompts show media come here, so no text of another dataset is ever taken for data.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

_LEAST = 256
"""Shorter stretches are stored as they are."""
_BASE64 = re.compile(rf"[A-Za-z0-9+/]{{{_LEAST},}}={{0,2}}")


def strip_media(value: Any) -> Any:
    """Return a value with long base64 and bytes in it named by their hash and length."""
    if isinstance(value, str):
        return _BASE64.sub(lambda match: _describe_bytes(match[0].encode(), "characters of base64"), value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _describe_bytes(bytes(value), "bytes")
    if isinstance(value, dict):
        return {key: strip_media(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [strip_media(one) for one in value]
    return value


def _describe_bytes(content: bytes, unit: str) -> str:
    return f"[{len(content):,} {unit}, sha256 {hashlib.sha256(content).hexdigest()[:16]}]"
