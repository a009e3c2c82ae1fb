"""assay baseline"""

from __future__ import annotations

from pathlib import Path

import click

from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import resolve_runs_folder, runs_option


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--out",
    "-o",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write, such as main.json.",
)
@click.option(
    "--with-prompts",
    is_flag=True,
    help="Also store questions, answers and prompt templates as texts. [off]",
)
@runs_option
@json_option
def baseline(run: str, path: Path, with_prompts: bool, runs_dir: str | None, is_json: bool) -> Answer | None:
    """Write the scores of a run to a small file that you can commit.

    `assay gate --baseline FILE` and `assay compare FILE RUN` compare later runs with it. The file has ids,
    hashes of the samples, scores, settings and versions. RUN is a folder, an id, a prefix of one, or `last`.
    """
    from assay.app.baselines import save_baseline
    from assay.app.stored_runs import find_run

    stored = find_run(run, resolve_runs_folder(runs_dir))
    written = save_baseline(stored, path, with_texts=with_prompts)
    n_failed = sum(stored.manifest.failures.values())
    n_samples = sum(map(len, written.samples.values()))
    if is_json:
        from assay.faces.cli.answers import BaselineAnswer

        return Answer(BaselineAnswer(str(path), written.run, n_samples, path.stat().st_size, n_failed))
    click.echo(f"{path}: {n_samples:,} samples of {written.run}, {path.stat().st_size / 1000:,.1f} kB")
    if n_failed:
        click.echo(
            f"{n_failed:,} of them failed and cannot be compared: repeat the `assay run` command with "
            "--retry-failed, then write the baseline again"
        )
    return None
