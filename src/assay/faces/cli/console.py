"""The consoles of the command line: standard output and standard error, safe for any text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from assay.core.text_preview import STEERING_CODES

_PIPE_WIDTH = 120
_MOST = 100_000
_SIGNS = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_SIGNS |= dict.fromkeys(STEERING_CODES, 0xFFFD)


class Screen(Console):
    """A console that replaces control characters, since texts come from models, servers and files."""

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; a text of more than 100,000 characters is truncated."""
        super().print(*(_cut(one) if isinstance(one, str) else one for one in objects), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments with visible symbols instead of control characters."""
        for segment in super().render(renderable, options):
            is_safe = bool(segment.control) or segment.text.isprintable()
            yield segment if is_safe else segment._replace(text=segment.text.translate(_SIGNS))


def _cut(text: str) -> str:
    # Cut the end and not the middle: a closing tag must not lose its opening tag.
    return text if len(text) <= _MOST else f"{text[:_MOST]} ... ({len(text):,} characters in all)"


def _console(*, stderr: bool = False) -> Console:
    # Texts such as `openai:x: failed` are no emoji codes.
    console = Screen(stderr=stderr, highlight=False, emoji=False)
    # A pipe or a file has no width; a table truncated to 80 columns would lose its numbers.
    return (
        console
        if console.is_terminal
        else Screen(stderr=stderr, highlight=False, emoji=False, width=_PIPE_WIDTH)
    )


out = _console()
err = _console(stderr=True)


def pad_texts(texts: Sequence[str]) -> list[str]:
    """Pad texts to one width in terminal cells; an East Asian character takes two."""
    width = max(map(cell_len, texts), default=0)
    return [text + " " * (width - cell_len(text)) for text in texts]
