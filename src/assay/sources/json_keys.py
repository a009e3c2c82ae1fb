"""Repeated keys in one JSON object: decoders silently keep only the last value."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

_KEY_END = re.compile(rb'"\s*:')
_FIX = "remove one of them, or rename it"


def find_repeated_key(text: bytes, document: Any) -> str | None:
    """Return a repeated key in an object of a JSON text. `document` is the decoded text.

    Counting keys is enough for nearly every text: it has as many as the document. If a string contains
    something like a key, the text is decoded again by a slower parser.
    """
    if len(_KEY_END.findall(text)) == _n_keys(document):
        return None
    try:
        json.loads(text, object_pairs_hook=_require_unique_names)
    except _RepeatedKey as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # A more tolerant decoder read it before.
    return None


def require_unique_keys(text: bytes, where: Origin) -> None:
    """Raise SOURCE-014 for a repeated key in an object of a small JSON file, such as a config."""
    try:
        json.loads(text.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=_require_unique_names)
    except _RepeatedKey as error:
        raise AuthorError(build_repeated_key_problem(str(error), where)) from None
    except (ValueError, RecursionError):
        return  # The code that decodes the file reports what is wrong.


def build_repeated_key_problem(key: str, where: Origin) -> Problem:
    """Return the problem of a repeated key."""
    what = f"the key {key!r} appears more than once in one object; only its last value would be used"
    return Problem("SOURCE-014", what, _FIX, where)


class _RepeatedKey(Exception):
    """Raised with the repeated key."""


def _require_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKey(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return names


def _n_keys(document: Any) -> int:
    n, todo = 0, [document] if isinstance(document, dict | list) else []
    while todo:
        node = todo.pop()
        if type(node) is dict:
            n += len(node)
            todo += [value for value in node.values() if type(value) is dict or type(value) is list]
        else:
            todo += [value for value in node if type(value) is dict or type(value) is list]
    return n
