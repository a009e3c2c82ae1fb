"""The estimate of `assay check --estimate` on a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.markup import escape

from assay.core.billing import format_usd
from assay.core.budget import format_minutes
from assay.core.estimate import Estimate, Range
from assay.faces.cli.console import out


def show_estimate(estimate: Estimate) -> None:
    """Print what a run would need."""
    out.print(f"\n[bold]estimate[/] for {escape(estimate.model)}, without answers that are cached")
    parts = ", ".join(f"{one.task} {one.method} {one.n_requests:,}" for one in estimate.methods)
    _print("requests", f"{estimate.n_requests:,} ({parts})")
    _print_range("input", estimate.input_tokens, _format_tokens, estimate.input_from)
    _print_range("output", estimate.output_tokens, _format_tokens, estimate.output_from)
    _print_range("time", estimate.seconds, format_minutes, estimate.seconds_from)
    _print_range("cost", estimate.usd, format_usd, estimate.usd_from)
    for note in estimate.notes:
        _print("note", note)


def _print_range(name: str, number: Range | None, write: Callable[[float], str], source: str) -> None:
    if number is None:
        _print(name, source)
        return
    low, high = write(number.low), write(number.high)
    if low == high:
        _print(name, f"{low}; {source}")
        return
    unit = high.rpartition(" ")[2]
    span = f"{low.removesuffix(f' {unit}')} to {high}"
    expected = None if number.expected is None else write(number.expected)
    _print(name, f"{span}; {source}" if expected is None else f"{expected} ({span}); {source}")


def _print(name: str, text: str) -> None:
    first, *more = text.split("\n")
    out.print(f"  [dim]{name:<9}[/] {escape(first)}", soft_wrap=True)
    for line in more:
        out.print(f"            {escape(line)}", soft_wrap=True)


def _format_tokens(n: float) -> str:
    return f"{n:,.0f} tokens"
