"""Keys that stand twice in one JSON object: decoders keep the last value and say nothing."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

_KEY_END = re.compile(rb'"\s*:')
_FIX = "keep one of them, or give the other a name of its own"


def find_repeated_key(text: bytes, document: Any) -> str | None:
    """Return a key that stands twice in an object of a JSON text; `document` is what the text decodes to.

    Nearly every text is seen to have none by counting: it has as many keys as the document. Where a string
    holds something like a key, the text is read again, slowly.
    """
    if len(_KEY_END.findall(text)) == _n_keys(document):
        return None
    try:
        json.loads(text, object_pairs_hook=_require_unique_names)
    except _RepeatedKey as error:
        return str(error)
    except (ValueError, RecursionError):
        return None  # It was decoded before by a reader that allows for other things, and said so.
    return None


def require_unique_keys(text: bytes, where: Origin) -> None:
    """Raise SOURCE-014 where a key stands twice in an object of a small JSON file, such as a config."""
    try:
        json.loads(text.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=_require_unique_names)
    except _RepeatedKey as error:
        raise AuthorError(build_repeated_key_problem(str(error), where)) from None
    except (ValueError, RecursionError):
        return  # What is wrong with it is said where it is decoded.


def build_repeated_key_problem(key: str, where: Origin) -> Problem:
    """Return the problem of a key that stands twice."""
    what = f"the key {key!r} appears more than once in one object; only its last value would be used"
    return Problem("SOURCE-014", what, _FIX, where)


class _RepeatedKey(Exception):
    """The key that stands twice."""


def _require_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKey(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return made


def _n_keys(document: Any) -> int:
    n, todo = 0, [document] if isinstance(document, dict | list) else []
    while todo:
        one = todo.pop()
        if type(one) is dict:
            n += len(one)
            todo += [value for value in one.values() if type(value) is dict or type(value) is list]
        else:
            todo += [value for value in one if type(value) is dict or type(value) is list]
    return n
