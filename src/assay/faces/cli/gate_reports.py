"""The outcome of a gate for CI systems: exit status, files and annotations."""

from __future__ import annotations

import os
from pathlib import Path

import click

from assay.app.gate import GateResult, write_gate_file
from assay.faces.cli.gate_options import GATE_FAILED
from assay.faces.cli.run import FAILED_SAMPLES
from assay.results.gate_reports import build_annotations, render_junit
from assay.results.gate_words import render_gate


def get_gate_status(result: GateResult) -> int:
    """Return the exit status of a gate."""
    if not result.gate.has_passed:
        return GATE_FAILED
    return FAILED_SAMPLES if result.has_failed_samples else 0


def write_reports(
    result: GateResult,
    *,
    junit: Path | None = None,
    markdown: Path | None = None,
    github: bool | None = None,
    is_json: bool = False,
) -> None:
    """Write the files that were asked for, and what GitHub Actions shows."""
    gate, comparison, flips = result.gate, result.compared.comparison, result.compared.flips
    if junit is not None:
        write_gate_file(junit, render_junit(gate, comparison, flips), "--junit")
    if markdown is not None:
        write_gate_file(markdown, render_gate(gate, comparison, flips).encode(), "--markdown")
    if github is False or (github is None and os.environ.get("GITHUB_ACTIONS") != "true"):
        return
    for line in build_annotations(gate):
        # Standard output has only the JSON value with --json; the runner reads both.
        click.echo(line, err=is_json)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        text = render_gate(gate, comparison, flips).encode() + b"\n"
        write_gate_file(Path(summary), text, "GITHUB_STEP_SUMMARY", appends=True)
