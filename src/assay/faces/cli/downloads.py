"""Progress of downloads from the hub on standard error: a bar, lines or JSON lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
from rich.cells import cell_len
from rich.live import Live
from rich.text import Text

from assay.app.progress_words import format_duration
from assay.core.download import Download, format_folder
from assay.core.rounding import format_percent
from assay.core.sizes import format_size
from assay.faces.cli.console import err
from assay.faces.cli.panel import render_bar
from assay.faces.cli.progress_views import ProgressMode, can_draw

_LINE_EVERY_S = 10.0
_EVENT_EVERY_S = 1.0


class DownloadEvent(msgspec.Struct, frozen=True, tag="download", tag_field="kind"):
    """One line of `--progress json` during a download from the hub."""

    download: Download


class DownloadScreen:
    """Shows downloads, in the same mode as the progress of a run."""

    def __init__(self, way: ProgressMode, draw: Callable[[Text | None], bool] | None = None) -> None:
        """`draw` puts the line into an existing panel; it returns False if there is none."""
        self._way = way
        self._draw = draw
        self._live: Live | None = None
        self._written = 0.0

    def show(self, download: Download) -> None:
        """Show the progress of a download."""
        if self._way == "json":
            self._write_event(download)
        elif self._way != "none":
            self._show_person(download)

    def _write_event(self, download: Download) -> None:
        is_due = time.monotonic() - self._written >= _EVENT_EVERY_S
        if download.state != "running" or is_due:
            self._written = time.monotonic()
            err.file.write(msgspec.json.encode(DownloadEvent(download)).decode() + "\n")
            err.file.flush()

    def _show_person(self, download: Download) -> None:
        if download.state == "begun":
            self._written = time.monotonic()
            err.print(Text(first_line(download)), soft_wrap=True)
        elif download.state == "running":
            self._show_running(download)
        else:
            self._clear()
            if download.state == "stopped" and download.n_done:
                err.print(Text(format_stopped_line(download)), soft_wrap=True)

    def _show_running(self, download: Download) -> None:
        if can_draw(self._way):
            line = bar_line(download, err.width)
            if self._draw is None or not self._draw(line):
                if self._live is None:
                    self._live = Live(console=err, transient=True, auto_refresh=False)
                    self._live.start()
                self._live.update(line, refresh=True)
        elif time.monotonic() - self._written >= _LINE_EVERY_S:
            self._written = time.monotonic()
            err.print(
                Text(f"{download.repository}: {', '.join(list_download_facts(download))}"), soft_wrap=True
            )

    def _clear(self) -> None:
        if self._draw is not None:
            self._draw(None)
        if self._live is not None:
            self._live.stop()
            self._live = None


def first_line(download: Download) -> str:
    """Return the line before the first byte: name, size and folder."""
    n = f"{download.n_files:,} file" + ("" if download.n_files == 1 else "s")
    size = f"({format_size(download.n_bytes)}, {n})"
    here = f"; {format_size(download.n_done)} already downloaded" if download.n_done else ""
    if download.what:
        later = f"; the weights are {format_size(download.later)}" if download.later else ""
        return f"Downloading {download.repository}: {download.what} {size}{here}{later}"
    folder = format_folder(Path(download.folder).parent)
    return f"Downloading {download.repository} {size} to {folder}{here}"


def format_stopped_line(download: Download) -> str:
    """Return the line after a stopped download."""
    part = f"{format_size(download.n_done)} of {format_size(download.n_bytes)}"
    return f"{part} of {download.repository} downloaded: the same command resumes the download"


def list_download_facts(download: Download) -> list[str]:
    """Return how far a download is, in words."""
    share = download.n_done / max(download.n_bytes, 1)
    facts = [
        f"{format_size(download.n_done)} of {format_size(download.n_bytes)}",
        f"{format_percent(min(share, 1.0), 0)} %",
    ]
    if download.bytes_per_s:
        n_left = max(0, download.n_bytes - download.n_done)
        facts += [
            f"{format_size(int(download.bytes_per_s))}/s",
            f"{format_duration(n_left / download.bytes_per_s)} left",
        ]
    return facts


def bar_line(download: Download, width: int) -> Text:
    """Return a line with a bar, as wide as the terminal."""
    name, facts = f"Downloading {download.repository}", "  ".join(list_download_facts(download))
    room = width - cell_len(name) - cell_len(facts) - 5
    line = Text(name, style="bold", no_wrap=True, overflow="ellipsis")
    if room > 0:
        line.append(
            f"  {render_bar(download.n_done / max(download.n_bytes, 1), room)}", style="not bold green"
        )
    return line.append(f"  {facts}", style="not bold")


@cache
def default_screen() -> DownloadScreen:
    """Return the screen for commands without other progress output."""
    return DownloadScreen("auto")
