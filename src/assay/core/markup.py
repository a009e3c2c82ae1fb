"""The one door through which text becomes markup: all that is not markup already is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from html import escape

_VOID = frozenset({"link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "rect"})
"""Elements of SVG that never hold others; written as `<path/>`, as there may be many."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Characters that are not seen, or cannot be stored, or change how the text around them is shown.

The pages' script has the same ones, in `dom.js`.
"""


class Markup(str):
    """Text that is markup, made by `tag` or written in this package."""

    __slots__ = ()


def join_markup(parts: Iterable[str]) -> Markup:
    """Return pieces of markup and text as one piece of markup."""
    return Markup("".join(_escape_text(part) for part in parts))


def tag(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; children that are no `Markup`, and all attributes, are escaped.

    `class_` names the attribute `class`, and an underscore inside a name is a dash. None leaves an
    attribute out.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escape_text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    if name in _SHAPES:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join_markup(children)}</{name}>")


def _escape_text(text: str) -> str:
    return text if isinstance(text, Markup) else escape(escape_invisible(text))


def escape_invisible(text: str) -> str:
    """Return a text with characters that are not seen, but felt, written out as their numbers."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def one_file_page(title: str, style: str, script: str, *body: Markup) -> str:
    """Return a whole page that opens from a disk, asks no network for anything and runs no script but this.

    The hashes of its style and its script stand in its content policy.
    """
    return "".join(one_file_parts(title, style, script, body))


def one_file_parts(
    title: str,
    style: str,
    script: str,
    body: Iterable[Markup],
    *,
    after: Iterable[Markup] = (),
    media: bool = False,
    page: str = "",
) -> Iterator[str]:
    """Yield a page as `one_file_page` returns it, piece by piece, as it may be large.

    `after` is read after the script, so that a long page is seen before all of it is there. `media`: whether
    it holds pictures and sounds, as data of its own. `page` is what the script is told to show.
    """
    policy = [
        "default-src 'none'",
        f"style-src '{_hash_text(style)}'",
        f"script-src '{_hash_text(script)}'",
        *(["img-src data:", "media-src data:"] if media else []),
        "base-uri 'none'",
        "form-action 'none'",
        # A text that became markup by mistake would be refused by the browser itself.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content="; ".join(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    # An element's end alone is left out here: what it holds comes in pieces.
    opened = tag("body", data_page=page or None).removesuffix("</body>")
    yield f'<!doctype html>\n<html lang="en">{head}{opened}'
    yield from body
    yield tag("script", Markup(script))
    yield from after
    yield "</body></html>\n"


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
