"""assay diff"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.faces.cli.completers import complete_run
from assay.faces.cli.json_output import Answer, json_option
from assay.faces.cli.options import resolve_runs_folder, runs_option

if TYPE_CHECKING:
    from assay.results.manifest_differences import FactDifference
    from assay.results.run_difference import RunDifference, SampleDifference

_FACTS_SHOWN = 20
_LAYERS = ("row", "prompt", "tokens", "parameters", "output", "extraction", "score")
_WORDS = {
    "row": "differ in the row of the dataset",
    "prompt": "differ in the prompt",
    "tokens": "differ in the tokens of the prompt",
    "parameters": "differ in the request parameters",
    "output": "differ in the output",
    "extraction": "differ in the extracted answer",
    "score": "differ in the score",
}
"""Descriptions of samples whose first difference is at a layer."""


@click.command()
@click.argument("a", shell_complete=complete_run)
@click.argument("b", shell_complete=complete_run)
@runs_option
@click.option("--methods", metavar="NAME,...", default="", help="Methods to compare. [all that both have]")
@click.option(
    "--layer", type=click.Choice(_LAYERS), help="Show only samples whose first difference is at this layer."
)
@click.option("--sample", metavar="ID|row:N", help="Show all differences of one sample.")
@click.option(
    "--examples",
    "n_examples",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Samples to show for each layer.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=1e-4,
    show_default=True,
    help="Log-likelihoods per token and probabilities that differ by less count as equal.",
)
@json_option
def diff(
    a: str,
    b: str,
    runs_dir: str | None,
    methods: str,
    layer: str | None,
    sample: str | None,
    n_examples: int,
    tolerance: float,
    is_json: bool,
) -> Answer | None:
    """Show why two runs of the same dataset have different scores.

    Finds the first layer at which each sample differs: row, prompt, tokens, parameters, output, extracted
    answer or score. A and B are folders, ids or `last`.
    """
    from assay.app.diff import diff as diff_runs
    from assay.app.diff import diff_sample
    from assay.app.stored_runs import find_run

    root = resolve_runs_folder(runs_dir)
    runs = find_run(a, root), find_run(b, root)
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    if sample is not None:
        one = diff_sample(*runs, sample, chosen, tolerance=tolerance)
        if is_json:
            from assay.faces.cli.answers import SampleDiffAnswer

            return Answer(SampleDiffAnswer(one))
        _show_sample(one)
        return None
    found = diff_runs(*runs, chosen, n_examples=n_examples, tolerance=tolerance)
    if is_json:
        from assay.faces.cli.answers import DiffAnswer

        return Answer(DiffAnswer(found))
    _show(found, layer)
    return None


def _show_sample(one: SampleDifference) -> None:
    from assay.faces.cli.console import out

    if one.findings:
        _show_example(one)
    else:
        out.print("this sample is the same in both runs")


def _show(found: RunDifference, layer: str | None) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    out.print(f"[bold]A[/]  {escape(found.a)}\n[bold]B[/]  {escape(found.b)}", soft_wrap=True)
    _show_facts("results", found.results)
    _show_facts("model, data, settings and versions", found.facts)
    if not found.facts:
        out.print("\nmodel, data, settings and versions are the same")
    matched = {"id": "", "row": ", matched by row number", "content": ", matched by content"}
    matched["question"] = ", matched by the text of the question"
    out.print(
        f"\nof [bold]{found.n:,}[/] samples in both runs{matched[found.matched_by]}, "
        f"by {escape(', '.join(found.methods))}:"
    )
    for n, side in ((found.n_only_a, "A"), (found.n_only_b, "B")):
        if n:
            out.print(f"  [yellow]({n:,} more only in {side})[/]")
    width = len(f"{found.n:,}")
    for count in found.layers:
        if count.n:
            first = f" (first: {escape(count.examples[0].findings[0].where)})" if count.examples else ""
            out.print(f"  [bold]{count.n:>{width},}[/] {_WORDS[count.layer]}[dim]{first}[/]", soft_wrap=True)
    out.print(f"  [bold]{found.n_same:>{width},}[/] are the same")
    for count in found.layers:
        if count.examples and layer in (None, count.layer):
            out.print(f"\n[bold]{count.layer}[/]")
            for example in count.examples:
                _show_example(example)


def _show_facts(title: str, facts: tuple[FactDifference, ...]) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    if not facts:
        return
    out.print(f"\n[bold]{title}[/]")
    for fact in facts[:_FACTS_SHOWN]:
        out.print(
            f"  {escape(fact.what)}: [dim]A:[/] {escape(fact.a)}  [dim]B:[/] {escape(fact.b)}", soft_wrap=True
        )
    if len(facts) > _FACTS_SHOWN:
        out.print(f"  ... and {len(facts) - _FACTS_SHOWN:,} more; use --json to see all")


def _show_example(example: SampleDifference) -> None:
    from rich.markup import escape

    from assay.faces.cli.console import out

    other = "" if example.other_id == example.sample_id else f", in B: {example.other_id}"
    out.print(
        f"  [bold]{escape(example.sample_id)}[/]{escape(other)}  {escape(example.task)}", soft_wrap=True
    )
    for finding in example.findings:
        layer = f"{finding.layer}: " if len(example.findings) > 1 else ""
        out.print(f"    {layer}{escape(finding.where)}", soft_wrap=True)
        out.print(f"      [dim]A[/] {escape(finding.a)}", soft_wrap=True)
        out.print(f"      [dim]B[/] {escape(finding.b)}", soft_wrap=True)
