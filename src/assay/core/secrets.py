"""What looks like a secret, and how it is hidden: manifests, logs, reports and messages hold none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

HIDDEN = "(hidden)"
"""Written where a secret would be."""

FEWEST_MASKED_CHARS = 12
"""A shorter key, such as `EMPTY` for a server without keys, may be a word of an answer."""

_SECRET_WORDS = {
    *("key", "keys", "apikey", "token", "secret", "password", "passwd", "authorization", "bearer"),
    *("credential", "credentials", "cookie"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_USER_INFO = re.compile(r"//.*@", re.DOTALL)

T = TypeVar("T", bound=msgspec.Struct)


def is_secret_name(name: str) -> bool:
    """Whether an argument's name says that it holds a secret, as `hf_token` and `apiKey` do.

    `batch_tokens` does not, nor does `key_env`, which names a variable: hidden, the model could not be
    opened again as it was.
    """
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and words[-1] != "env" and not _SECRET_WORDS.isdisjoint(words)


def find_secret_name(value: Any) -> str | None:
    """Return the first name within nested data that says it holds a secret."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if is_secret_name(str(name)):
                return str(name)
            if (found := find_secret_name(inner)) is not None:
                return found
    elif isinstance(value, list | tuple):
        return next((found for one in value if (found := find_secret_name(one)) is not None), None)
    return None


def mask_user_info(url: str) -> str:
    """Return an address without the name and password in it."""
    return _USER_INFO.sub(f"//{HIDDEN}@", url)


def mask_secret(value: T, secret: str) -> T:
    """Return a value with a secret hidden wherever a text of it holds it."""
    written, sought = msgspec.json.encode(value), msgspec.json.encode(secret)[1:-1]
    if len(secret) < FEWEST_MASKED_CHARS or sought not in written:
        return value
    return msgspec.json.decode(written.replace(sought, HIDDEN.encode()), type=type(value))
