"""assay leaderboard"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import parse_pairs, resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.results.leaderboard.exports import Format
    from assay.results.leaderboard.grid import GroupBy


@click.command()
@click.argument("folders", nargs=-1, metavar="[RUNS_DIR]...", type=click.Path(path_type=Path))
@runs_option
@click.option(
    "--database",
    metavar="PLACE",
    help="Index the runs in this database and show all its runs: a file or postgresql://USER@HOST/NAME. "
    "[RUNS_DIR/.assay.db]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="DATASET=METRIC",
    help="Metric to show for a dataset instead of its headline.",
)
@click.option(
    "--abilities",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='TOML file that defines abilities: ability = ["dataset", ...].',
)
@click.option("--by", type=click.Choice(["dataset", "ability"]), default="dataset", show_default=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "markdown", "csv", "latex"]),
    default="table",
    show_default=True,
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write to this file instead of printing.",
)
@click.option(
    "--html", metavar="FILE", type=click.Path(path_type=Path), help="Also write a self-contained HTML page."
)
@json_option
def leaderboard(
    folders: tuple[Path, ...],
    runs_dir: str | None,
    database: str | None,
    metrics: tuple[str, ...],
    abilities: Path | None,
    by: GroupBy,
    form: Format | Literal["table"],
    output: Path | None,
    html: Path | None,
    is_json: bool,
) -> Answer | None:
    """Rank models over datasets, with statistical significance.

    Shows the latest complete run of each model and the headline metric of each dataset. Results with
    different shots, samples, data or judges are in separate columns.
    """
    from assay.app.leaderboard import rank_runs
    from assay.core.errors import AssayError
    from assay.faces.cli.board_screen import show_board
    from assay.faces.cli.console import err
    from assay.faces.cli.render import show_error
    from assay.results.leaderboard.exports import export_board

    headlines = parse_pairs(metrics, "--metric klue_ynat=macro_f1")
    board, problems, notes = rank_runs(
        folders or _default_folders(runs_dir, database),
        database,
        headlines=headlines,
        abilities_file=abilities,
    )
    if html is not None:
        from assay.results.leaderboard.page import render_board_page

        html.write_text(render_board_page(board), encoding="utf-8")
    if is_json:
        from assay.faces.cli.answers import LeaderboardAnswer

        board = msgspec.structs.replace(board, notes=(*notes, *board.notes))
        return Answer(LeaderboardAnswer(board, problems))
    if problems:
        show_error(AssayError(problems))
    for note in notes:
        err.print(note, markup=False, soft_wrap=True)
    if form == "table":
        show_board(board, by, output)
        return None
    text = export_board(board, form, by=by)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
    return None


def _default_folders(runs_dir: str | None, database: str | None) -> tuple[Path, ...]:
    """Return the folders of runs; empty if a machine only reads a shared database."""
    folder = resolve_runs_folder(runs_dir)
    return () if database is not None and runs_dir is None and not folder.is_dir() else (folder,)
