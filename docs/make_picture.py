"""Record a command in a real terminal and draw what it printed as an SVG.

python docs/make_picture.py docs/demo.svg assay run examples/arithmetic.csv --method ppl,prob,gen
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
    """Return the lines that stay on the screen: a progress bar is drawn over and taken away again."""
    lines: list[str] = []
    for line in output.replace("\r\n", "\n").split("\n"):
        # A bar moves the cursor up and clears lines; what it drew is gone from the final screen.
        if re.search(r"\x1b\[(2K|1A|\?25[lh])", line):
            line = re.split(r"\x1b\[2K|\x1b\[\?25h", line)[-1]
            line = re.sub(r"\x1b\[1A|\x1b\[\?25[lh]|\r", "", line)
            if "samples" in line and "━" in line:
                continue
        lines.append(line.replace("\r", ""))
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
