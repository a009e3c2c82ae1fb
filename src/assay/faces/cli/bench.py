"""assay bench"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.json_output import Answer, json_option

if TYPE_CHECKING:
    from assay.app.bench import FinishedBench

FAILED_CALLS = 3
"""Exit status if requests failed."""
NOTHING_MEASURED = 2
"""Exit status if no request succeeded."""
STOPPED = 130
"""Exit status after Ctrl-C, as in shells."""
_OF_A_FOLDER = {"model", "profile", "is_json"}
"""Parameters that apply when showing a finished benchmark."""


@click.command()
@click.argument("model")
@click.argument("dataset", required=False, default="synthetic")
@click.option(
    "--requests", "-n", type=int, metavar="N", help="Number of requests. [100, or all rows of a dataset]"
)
@click.option(
    "--input",
    metavar="LENGTHS",
    help="Tokens per synthetic prompt: 512, uniform:128..1024, gaussian:..., zipf:..., percentage:... [512]",
)
@click.option(
    "--output",
    metavar="LENGTHS",
    help="Maximum tokens per answer, in the same syntax. [128, or the dataset's]",
)
@click.option(
    "--token-ids", is_flag=True, help="Build synthetic prompts from random token ids. Requires --tokenizer."
)
@click.option(
    "--shared-prefix",
    type=int,
    default=0,
    metavar="N",
    help="Tokens of a shared prefix of synthetic prompts. [0]",
)
@click.option(
    "--prefix-groups", type=int, default=1, metavar="N", help="Number of different shared prefixes. [1]"
)
@click.option(
    "--tokenizer",
    metavar="DIR|FILE|ORG/NAME",
    help="Tokenizer for exact prompt lengths; ORG/NAME[@REVISION] is on the hub.",
)
@click.option(
    "--order",
    type=click.Choice(["default", "random", "shuffle"]),
    default="default",
    help="Order of rows. [default]",
)
@click.option(
    "--chat/--text", default=True, help="Send messages to /chat/completions, or text to /completions. [chat]"
)
@click.option("--concurrency", "-c", type=int, metavar="N", help="Number of concurrent requests. [16]")
@click.option("--rate", type=float, metavar="R", help="Requests per second, independent of responses.")
@click.option(
    "--burstiness",
    type=float,
    default=0.0,
    metavar="B",
    help="Distribution of gaps for --rate: 0 even, 1 Poisson, below 1 bursty. [0]",
)
@click.option("--ramp", metavar="A..B", help="Increase the rate from A to B requests per second.")
@click.option("--ramp-form", type=click.Choice(["linear", "exponential"]), default="linear", help="[linear]")
@click.option("--ramp-seconds", type=float, metavar="S", help="Duration of the ramp. [all requests]")
@click.option(
    "--duration", type=float, metavar="S", help="Send requests for this long; repeat the dataset if needed."
)
@click.option(
    "--replay/--no-replay", default=None, help="Send a trace's requests at their recorded times. [yes]"
)
@click.option(
    "--trace-speed", type=float, metavar="X", help="Replay speed of a trace; 2 takes half the time. [1]"
)
@click.option("--trace-start-ms", type=float, metavar="T", help="Skip the part of a trace before this time.")
@click.option("--trace-end-ms", type=float, metavar="T", help="Skip the part of a trace after this time.")
@click.option("--max-under-way", type=int, metavar="N", help="Maximum concurrent requests with --rate.")
@click.option(
    "--think", type=float, default=0.0, metavar="S", help="Pause before the next turn of a conversation. [0]"
)
@click.option("--grace", type=float, metavar="S", help="Cancel unfinished requests this long after the end.")
@click.option(
    "--warm-up", type=int, default=1, metavar="N", help="Unmeasured requests before the benchmark. [1]"
)
@click.option("--seed", type=int, default=0, help="Random seed. [0]")
@click.option("--temperature", type=float, default=0.0, help="Sampling temperature. [0]")
@click.option(
    "--sweep",
    type=click.Choice(["concurrency", "rate"]),
    help="Measure at several levels.",
)
@click.option("--levels", metavar="A..B|A,B,C", help="Levels of a sweep: a doubling range or a list. [1..64]")
@click.option(
    "--search",
    type=click.Choice(["concurrency", "rate"]),
    help="Find the highest level that meets every --limit.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="LIMIT",
    help="Limit: 'p99 ttft < 500ms', 'failed < 1%'; 'ttft < 500ms' applies to each request (goodput).",
)
@click.option(
    "--trial-requests", type=int, default=100, metavar="N", help="Minimum requests per level. [100]"
)
@click.option(
    "--trial-seconds", type=float, default=10.0, metavar="S", help="Minimum seconds per level. [10]"
)
@click.option(
    "--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="Model argument, as in `assay run`."
)
@click.option(
    "--profile",
    type=click.Choice(["assay", "aisbench"]),
    default="assay",
    help="Formulas for the results. [assay]",
)
@click.option("--offline", is_flag=True, help="Block all connections except to the server.")
@click.option("--out", metavar="DIR", help="Folder of the benchmark. [runs/bench-...]")
@click.option("--runs-dir", metavar="DIR", help="Folder for benchmarks without --out. [runs]")
@json_option
@click.pass_context
def bench(context: click.Context, /, model: str, dataset: str, is_json: bool, **flags: Any) -> int | Answer:
    """Benchmark a model server: latency and throughput.

    MODEL is openai:NAME@URL. DATASET is any dataset that `assay run` accepts, a file of conversations, or a
    trace with timestamps; without it, prompts are synthetic. If MODEL is the folder of an earlier benchmark,
    its results are shown again.

    \b
    assay bench openai:NAME@URL --concurrency 64 --requests 1000
    assay bench openai:NAME@URL --rate 20 --burstiness 1 --duration 60
    assay bench openai:NAME@URL --search rate --limit 'p99 ttft < 500ms'
    """  # noqa: D301 (click wants the character itself)
    from assay.app.bench_page import StoredBench, is_bench, read_bench, write_page
    from assay.app.bench_run import run_bench
    from assay.app.bench_settings import BenchSettings
    from assay.faces.cli.bench_screen import BenchScreen, read_bench_answer, show_bench
    from assay.faces.cli.options import parse_pairs, resolve_runs_folder

    if is_bench(Path(model)):
        _require_no_load(context)
        stored = read_bench(Path(model))
        write_page(stored)
        if is_json:
            return read_bench_answer(stored.folder)
        show_bench(stored, profile=flags["profile"])
        return 0
    flags["model_args"] = parse_pairs(flags["model_args"], "--model-arg stream=false")
    flags["runs_dir"] = str(resolve_runs_folder(flags["runs_dir"]))
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        with BenchScreen(is_quiet=is_json) as screen:
            finished = run_bench(BenchSettings(model=model, dataset=dataset, **given), screen)
    except KeyboardInterrupt:
        click.echo("\nStopped. A benchmark cannot be resumed: the same command starts over.", err=True)
        return STOPPED
    status = _choose_exit_status(finished)
    if is_json:
        return read_bench_answer(finished.folder, status)
    show_bench(StoredBench(*finished), profile=flags["profile"])
    return status


def _choose_exit_status(finished: FinishedBench) -> int:
    if finished.result.is_partial:
        return STOPPED
    if not finished.is_measured:
        return NOTHING_MEASURED
    return FAILED_CALLS if finished.n_failed else 0


def _require_no_load(context: click.Context) -> None:
    """Raise if load options are given together with the folder of a finished benchmark."""
    is_given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _OF_A_FOLDER and context.get_parameter_source(name) is is_given:
            flag = parameter.opts[0]
            raise click.UsageError(
                f"{flag} does not apply to a finished benchmark; only --profile and --json do"
            )
