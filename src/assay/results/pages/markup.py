"""Build HTML. Everything that is not `Markup` is escaped."""

from __future__ import annotations

import re
from html import escape

_VOID = frozenset({"link", "meta"})

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that are invisible, cannot be stored, or change how surrounding text is displayed.

`dom.js` has the same list for the scripts of the pages.
"""


class Markup(str):
    """Text that is already markup, made by `tag` or written in this package."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element. Escapes all attributes, and children that are not `Markup`.

    `class_` is the attribute `class`, and an underscore inside a name becomes a dash. None omits an
    attribute.
    """
    encoded = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape_text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{encoded}>")
    return Markup(f"<{name}{encoded}>{''.join(map(_escape_text, children))}</{name}>")


def _escape_text(text: str) -> str:
    return text if isinstance(text, Markup) else escape(escape_invisible(text))


def escape_invisible(text: str) -> str:
    """Return a text with invisible characters replaced by their code points."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
