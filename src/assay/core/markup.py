"""Build HTML and SVG. Everything that is not `Markup` is escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from html import escape

_VOID = frozenset({"link", "meta"})
_SHAPES = frozenset({"circle", "line", "path", "rect"})
"""SVG elements without children, written as `<path/>` because there can be many."""

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


def join_markup(parts: Iterable[str]) -> Markup:
    """Return pieces of markup and text joined into one piece of markup."""
    return Markup("".join(_escape_text(part) for part in parts))


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
    if name in _SHAPES:
        return Markup(f"<{name}{encoded}/>")
    return Markup(f"<{name}{encoded}>{join_markup(children)}</{name}>")


def _escape_text(text: str) -> str:
    return text if isinstance(text, Markup) else escape(escape_invisible(text))


def escape_invisible(text: str) -> str:
    """Return a text with invisible characters replaced by their code points."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def one_file_page(title: str, style: str, script: str, *body: Markup) -> str:
    """Return a complete page that opens from disk, uses no network and runs no other script.

    Its content security policy contains the hashes of its style and its script.
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
    """Yield the page of `one_file_page` in pieces, because it can be large.

    `after` comes after the script, so that the beginning of a long page is visible early. `media`: whether
    the page contains images and audio as embedded data. `page`: what the script displays.
    """
    policy = [
        "default-src 'none'",
        f"style-src '{_hash_text(style)}'",
        f"script-src '{_hash_text(script)}'",
        *(["img-src data:", "media-src data:"] if media else []),
        "base-uri 'none'",
        "form-action 'none'",
        # The browser itself rejects a text that became markup by mistake.
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
    # The end tag is omitted here, because the content follows in pieces.
    opened = tag("body", data_page=page or None).removesuffix("</body>")
    yield f'<!doctype html>\n<html lang="en">{head}{opened}'
    yield from body
    yield tag("script", Markup(script))
    yield from after
    yield "</body></html>\n"


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
