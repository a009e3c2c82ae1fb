"""assay prepare"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.core.errors import format_count
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import is_offline, offline_option

if TYPE_CHECKING:
    from assay.app.prepare import PreparedDataset

FAILED = 2
"""Exit status if data could not be created."""


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@offline_option
@json_option
def prepare(folders: tuple[str, ...], offline: bool | None, is_json: bool) -> int | Answer:
    """Run make_dataset.py in UltraEval dataset folders, which creates their data from raw files.

    FOLDER is a dataset folder, a `datasets` folder or a whole checkout. The scripts are executed as they are:
    read them first if they are not yours. For one dataset, lists each written file with its rows; for
    several, prints one line each: ok, the missing raw file, or the error. Exit status 2 if a script failed;
    among several datasets, a missing raw file is not a failure.
    """
    from assay.app.prepare import disable_network, find_script_folders

    found = find_script_folders(folders)
    if is_offline(offline):
        disable_network()
    is_one = len(found) == 1 and found == [Path(folder) for folder in folders]
    if is_json:
        return _answer(found, is_one=is_one)
    if is_one:
        return show_preparation(found[0])
    return show_preparations(found)


def _answer(folders: Sequence[Path], *, is_one: bool) -> Answer:
    """Prepare datasets and return the JSON answer."""
    from assay.app.dataset_state import DatasetState
    from assay.app.prepare import prepare
    from assay.faces.cli.answers import FileAnswer, PrepareAnswer, PreparedAnswer

    done = [
        PreparedAnswer(
            str(one.folder),
            one.state,
            tuple(FileAnswer(str(file.path), file.n_rows, str(file.change)) for file in one.files),
            one.n_left_out,
            one.problem,
        )
        for one in prepare(folders)
    ]
    failing = {DatasetState.ERROR, DatasetState.NEEDS_DATA} if is_one else {DatasetState.ERROR}
    return Answer(PrepareAnswer(tuple(done)), FAILED if any(one.state in failing for one in done) else 0)


def show_preparation(folder: Path) -> int:
    """Prepare one dataset and print every file; return the exit status."""
    from rich.markup import escape

    from assay.app.prepare import Change, prepare
    from assay.core.errors import AuthorError
    from assay.faces.cli.console import out, pad_texts
    from assay.faces.cli.render import show_error

    (done,) = prepare([folder])
    if done.problem is not None:
        show_error(AuthorError(done.problem))
        return FAILED
    styles = {Change.NEW: "green", Change.CHANGED: "yellow", Change.SAME: "dim"}
    names = [str(file.path.relative_to(folder)) for file in done.files]
    for file, name in zip(done.files, pad_texts(names), strict=True):
        change = f"[{styles[file.change]}]{file.change:<9}[/]"
        out.print(f"{change}  {escape(name)}  {format_count(file.n_rows, 'row')}", soft_wrap=True)
    out.print(f"[bold]{escape(folder.resolve().name)}[/]: {_format_written(done)}", soft_wrap=True)
    return 0


def show_preparations(folders: Sequence[Path]) -> int:
    """Prepare datasets, print a line for each and the totals; return the exit status."""
    from assay.app.dataset_state import DatasetState
    from assay.app.prepare import prepare
    from assay.faces.cli.dataset_states import show_counts, show_states

    names = [folder.resolve().name for folder in folders]
    counts = show_states(names, ((one.state, _format_result(one)) for one in prepare(folders)))
    show_counts(counts, "run `assay prepare FOLDER` to see the problem of one dataset and its fix")
    return FAILED if counts[DatasetState.ERROR] else 0


def _format_result(one: PreparedDataset) -> str:
    if one.problem is not None:
        head, *lines = one.problem.what.splitlines()
        text = f"{head} {lines[-1].strip()}" if lines else head
        return f"{text} ({one.problem.code})"
    return _format_written(one)


def _format_written(one: PreparedDataset) -> str:
    from assay.app.prepare import Change

    n_files = "" if len(one.files) == 1 else f" in {len(one.files)} files"
    changed = sum(file.change is Change.CHANGED for file in one.files)
    left_out = (
        f"; the script omitted {one.n_left_out:,} of the {one.n_raw_rows:,} raw rows"
        if one.n_left_out
        else ""
    )
    return (
        f"{format_count(one.n_rows, 'row')}{n_files}" + (f", {changed} changed" if changed else "") + left_out
    )
