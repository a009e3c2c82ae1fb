"""Many datasets on a terminal: a line for each, and how many are of each state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.markup import escape

from assay.app.dataset_state import State
from assay.faces.cli.render import out, padded

_STYLES = {State.OK: "green", State.NEEDS_DATA: "yellow", State.ERROR: "bold red"}


def show_each(names: Sequence[str], found: Iterable[tuple[State, str]]) -> Counter[State]:
    """Print the state of each dataset and what was found, as it becomes known; return the counts."""
    counts: Counter[State] = Counter()
    for name, (state, text) in zip(padded(names), found, strict=True):
        counts[state] += 1
        out.print(f"[{_STYLES[state]}]{state:<10}[/]  {escape(name)}  {escape(text)}", soft_wrap=True)
    return counts


def show_counts(counts: Counter[State], hint: str) -> None:
    """Print how many there are of each state; with errors, also where to read more."""
    total = "1 dataset" if counts.total() == 1 else f"{counts.total()} datasets"
    out.print(
        f"[bold]{total}[/]: {counts[State.OK]} ok, {counts[State.NEEDS_DATA]} need data, "
        f"{counts[State.ERROR]} with errors"
    )
    if counts[State.ERROR]:
        out.print(f"[dim]{hint}[/]")
