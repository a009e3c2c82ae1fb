"""Pages as single HTML files that open from disk, use no network and run no other script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from assay.results.pages.bundle import EntryModule, build_script, build_style
from assay.results.pages.file_blocks import render_block
from assay.results.pages.markup import Markup, tag


def render_page_file(
    title: str,
    page: str,
    entry: EntryModule,
    data: Mapping[str, bytes],
    *,
    after: Iterable[Markup] = (),
    has_media: bool = False,
) -> Iterator[str]:
    """Yield a page in pieces, because it can be large.

    `page` is what the script `entry` displays, from blocks of JSON (`data`) that it finds by name. `after`
    comes after the script, so that the beginning of a long page is visible early. `has_media`: whether the
    page contains images and audio as embedded data. The content security policy contains the hashes of the
    style and the script.
    """
    style, script = build_style(), build_script(entry)
    policy = [
        "default-src 'none'",
        f"style-src '{_hash_text(style)}'",
        f"script-src '{_hash_text(script)}'",
        *(["img-src data:", "media-src data:"] if has_media else []),
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
    yield f'<!doctype html>\n<html lang="en">{head}{tag("body", data_page=page).removesuffix("</body>")}'
    yield tag("main", id="page")
    for name, content in data.items():
        yield render_block(name, content)
    yield tag("script", Markup(script))
    yield from after
    yield "</body></html>\n"


def _hash_text(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
