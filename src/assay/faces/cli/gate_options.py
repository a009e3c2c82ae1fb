"""The options that `assay compare --fail-if` and `assay gate` share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from assay.results.baseline_changes import Accepted

GATE_FAILED = 5
"""Exit status of a gate that fails."""
Accept: TypeAlias = "tuple[Accepted, ...]"

per_group_option = click.option(
    "--per-group",
    is_flag=True,
    help="Also compare each subset and each group of --group-by. [off]",
)


def _read_accepted(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[Accepted, ...]:
    if not given:
        return ()
    from assay.results.baseline_changes import Accepted

    return tuple(Accepted(one) for one in given)


accept_option = click.option(
    "--accept",
    multiple=True,
    type=click.Choice(["data", "settings", "version"]),
    callback=_read_accepted,
    help="Compare although the baseline is of other rows, settings or another version. Repeatable.",
)
junit_option = click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the outcome as JUnit XML.",
)
github_option = click.option(
    "--github/--no-github",
    default=None,
    help="Print annotations and write the job summary of GitHub Actions. [on if GITHUB_ACTIONS is true]",
)
