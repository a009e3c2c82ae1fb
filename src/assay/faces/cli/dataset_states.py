"""The states of many datasets on a terminal: a line for each, and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.markup import escape

from assay.app.dataset_state import DatasetState
from assay.faces.cli.console import out, pad_texts

_STYLES = {DatasetState.OK: "green", DatasetState.NEEDS_DATA: "yellow", DatasetState.ERROR: "bold red"}


def show_states(names: Sequence[str], states: Iterable[tuple[DatasetState, str]]) -> Counter[DatasetState]:
    """Print the state of each dataset as it becomes known; return the counts."""
    counts: Counter[DatasetState] = Counter()
    for name, (state, text) in zip(pad_texts(names), states, strict=True):
        counts[state] += 1
        out.print(f"[{_STYLES[state]}]{state:<10}[/]  {escape(name)}  {escape(text)}", soft_wrap=True)
    return counts


def show_counts(counts: Counter[DatasetState], hint: str) -> None:
    """Print the number of datasets in each state; with errors, also a hint."""
    total = "1 dataset" if counts.total() == 1 else f"{counts.total()} datasets"
    out.print(
        f"[bold]{total}[/]: {counts[DatasetState.OK]} ok, {counts[DatasetState.NEEDS_DATA]} need data, "
        f"{counts[DatasetState.ERROR]} with errors"
    )
    if counts[DatasetState.ERROR]:
        out.print(f"[dim]{hint}[/]")
