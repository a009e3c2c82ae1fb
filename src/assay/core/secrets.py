"""Detect and hide secrets: manifests, logs, reports and messages must not contain any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

HIDDEN = "(hidden)"
"""Replaces a secret."""

FEWEST_MASKED_CHARS = 12
"""Shorter keys, such as `EMPTY` for a server without keys, can be a word of an answer."""

_SECRET_WORDS = {
    *("key", "keys", "apikey", "token", "secret", "password", "passwd", "authorization", "bearer"),
    *("credential", "credentials", "cookie"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_USER_INFO = re.compile(r"//.*@", re.DOTALL)

T = TypeVar("T", bound=msgspec.Struct)


def is_secret_name(name: str) -> bool:
    """Return whether the name of an argument indicates a secret, such as `hf_token` and `apiKey`.

    `batch_tokens` does not, nor does `key_env`, which names a variable: if it were hidden, the model could
    not be opened again.
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and words[-1] != "env" and not _SECRET_WORDS.isdisjoint(words)


def find_secret_name(value: Any) -> str | None:
    """Return the first name in nested data that indicates a secret."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if is_secret_name(str(name)):
                return str(name)
            if (found := find_secret_name(inner)) is not None:
                return found
    elif isinstance(value, list | tuple):
        return next((found for item in value if (found := find_secret_name(item)) is not None), None)
    return None


def mask_user_info(url: str) -> str:
    """Return a URL without its user name and password."""
    return _USER_INFO.sub(f"//{HIDDEN}@", url)


def mask_secret(value: T, secret: str) -> T:
    """Return a value with a secret hidden in all of its texts."""
    encoded, pattern = msgspec.json.encode(value), msgspec.json.encode(secret)[1:-1]
    if len(secret) < FEWEST_MASKED_CHARS or pattern not in encoded:
        return value
    return msgspec.json.decode(encoded.replace(pattern, HIDDEN.encode()), type=type(value))
