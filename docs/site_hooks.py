"""Hooks of the documentation site: pages from outside docs/, and links that work there and on a code host.

The pages link to files of the repository by relative paths, which a code host follows. The site has no such
files: links to documents that the site includes are redirected, and links to other files become plain text.
"""

from __future__ import annotations

import os
import re
from typing import Any

from mkdocs.structure.files import File, Files

INCLUDED = {
    "benchmarks/RESULTS.md": "benchmarks/results.md",
    "CHANGELOG.md": "reference/changelog.md",
    "CONTRIBUTING.md": "how-it-works/contributing.md",
}
"""Documents of the repository that are pages of the site, by their path in it."""

_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)]*)?\)")
_MARK = re.compile(r"\A(```\w*)[^\n]*")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the documents from outside docs/."""
    root = os.path.dirname(config.config_file_path)
    for path, page in INCLUDED.items():
        with open(os.path.join(root, path), encoding="utf-8") as file:
            files.append(File.generated(config, page, content=file.read()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Redirect the links of a page that leave docs/."""
    root = os.path.dirname(config.config_file_path)
    sources = {page_path: path for path, page_path in INCLUDED.items()}
    here = sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def redirect(match: re.Match[str]) -> str:
        target, anchor = match["target"], match["anchor"] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(here), target))
        if path in INCLUDED:
            destination = INCLUDED[path]
        elif path.startswith("docs/") and os.path.isfile(os.path.join(root, path)):
            destination = path.removeprefix("docs/")
        else:
            return match["text"]
        start = os.path.dirname(page.file.src_uri)
        return f"[{match['text']}]({os.path.relpath(destination, start or '.')}{anchor})"

    parts = _FENCE.split(markdown)
    # The tests of the documentation read marks such as `console status=2`; the site needs the language alone.
    return "".join(
        _MARK.sub(r"\1", part) if part.startswith("```") else _LINK.sub(redirect, part) for part in parts
    )
