"""assay check"""

from __future__ import annotations

from typing import Any

import click

from assay.faces.cli.options import dataset_options, settings_from


@click.command()
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@dataset_options
@click.option("--prompts", type=int, default=2, show_default=True, help="Prompts to show.")
def check(datasets: tuple[str, ...], prompts: int, **flags: Any) -> int:
    """Find out everything about a dataset that needs no model.

    Shows how columns were understood and prompts as they will be sent; reports wrong answers, broken,
    repeated and empty rows, leaking shots and the balance of labels. With --model, also whether the
    model can do the methods and which prompts are too long for it. Exit status 1 on errors.
    """
    from rich.markup import escape

    from assay.app.check import check as look
    from assay.core.errors import AssayError
    from assay.faces.cli.render import out, show_compiled, show_error

    settings = settings_from(flags)
    try:
        checked = look(datasets, settings, with_model=flags.get("model") is not None)
    except AssayError as error:
        show_error(error)
        return 1
    if flags.get("model") is None:
        out.print("[dim]prompts as plain text; with --model they are shown as that model is given them[/]")
    n_warnings = 0
    for one in checked:
        show_compiled(one.compiled, one.compiled.task, n_prompts=prompts, every_method=True)
        for finding in one.findings:
            n_warnings += finding.is_warning
            mark = "[yellow]warning[/]" if finding.is_warning else "[dim]fact   [/]"
            out.print(f"  {mark}   {escape(finding.text)}", soft_wrap=True)
    words = "1 warning" if n_warnings == 1 else f"{n_warnings} warnings"
    out.print(f"[bold green]no errors[/], {words}")
    return 0
