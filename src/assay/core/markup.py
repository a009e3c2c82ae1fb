"""The one door through which text becomes markup: all that is not markup already is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta"})
_SHAPES = frozenset({"circle", "line", "path", "rect"})
"""Elements of SVG that never hold others; written as `<path/>`, as there may be many."""

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that cannot be stored, or that change how the text around them is shown."""


class Markup(str):
    """Text that is markup, made by `tag` or written in this package."""

    __slots__ = ()


def joined(parts: Iterable[str]) -> Markup:
    """Return pieces of markup and text as one piece of markup."""
    return Markup("".join(_safe(part) for part in parts))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; children that are no `Markup`, and all attributes, are escaped.

    `class_` names the attribute `class`, and an underscore inside a name is a dash. None leaves an
    attribute out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_safe(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    if name in _SHAPES:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def _safe(text: str) -> str:
    return text if isinstance(text, Markup) else escape(visible(text))


def visible(text: str) -> str:
    """Return a text with characters that are not seen, but felt, written out as their numbers."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
