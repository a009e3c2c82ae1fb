"""Record a command in a real terminal and draw what it printed as an SVG.

python docs/make_picture.py docs/images/demo.svg assay run examples/arithmetic.csv --method ppl,prob,gen
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 108


def record(command: list[str]) -> str:
    """Run a command on a pseudo-terminal and return all it wrote."""
    written = bytearray()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 4096)
        written.extend(data)
        return data

    os.environ.update(COLUMNS=str(WIDTH), TERM="xterm-256color", LINES="50")
    pty.spawn(command, read)
    return written.decode()


def final_screen(output: str) -> str:
    """Return the lines that stay on the screen: a panel moves up, clears its lines and draws over them."""
    lines = [""]
    row = 0
    for part in re.split(r"(\n|\r|\x1b\[\d*A|\x1b\[\d*K|\x1b\[\?25[lh])", output.replace("\r\n", "\n")):
        if part == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif up := re.fullmatch(r"\x1b\[(\d*)A", part):
            row -= int(up[1] or 1)
        elif re.fullmatch(r"\x1b\[\d*K", part):
            lines[row] = ""
        elif part and part != "\r" and not part.startswith("\x1b[?25"):
            lines[row] += part
    return "\n".join(lines).strip("\n")


def main() -> None:
    """Record and draw."""
    target, *command = sys.argv[1:]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text("$ " + shlex.join(command), style="bold"))
    console.print(Text.from_ansi(final_screen(record(command))))
    Path(target).write_text(console.export_svg(title="assay"), encoding="utf-8")


if __name__ == "__main__":
    main()
