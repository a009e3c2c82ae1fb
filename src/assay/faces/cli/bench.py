"""assay bench"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.faces.cli.json_output import Answer, json_option

if TYPE_CHECKING:
    from assay.app.bench import FinishedBench

FAILED_CALLS = 3
"""Exit status of a benchmark in which calls failed."""
NOTHING_MEASURED = 2
"""Exit status of one in which no call succeeded."""
STOPPED = 130
"""Exit status of one that a person ended, as shells have it."""
_OF_A_FOLDER = {"model", "profile", "is_json"}
"""What can be said when a finished benchmark is shown."""


@click.command()
@click.argument("model")
@click.argument("dataset", required=False, default="synthetic")
@click.option("--requests", "-n", type=int, metavar="N", help="Requests. [100, or all rows of a dataset]")
@click.option(
    "--input",
    metavar="LENGTHS",
    help="Tokens of made-up prompts: 512, uniform:128..1024, gaussian:..., zipf:..., percentage:... [512]",
)
@click.option("--output", metavar="LENGTHS", help="Longest answers, written alike. [128, or the dataset's]")
@click.option("--token-ids", is_flag=True, help="Made-up prompts of drawn token ids. Needs --tokenizer.")
@click.option("--shared-prefix", type=int, default=0, metavar="N", help="Tokens that made-up prompts share.")
@click.option("--prefix-groups", type=int, default=1, metavar="N", help="Number of such beginnings. [1]")
@click.option(
    "--tokenizer",
    metavar="DIR|FILE|ORG/NAME",
    help="Makes made-up prompts exactly as long as asked; ORG/NAME[@REVISION] is on the hub.",
)
@click.option(
    "--order", type=click.Choice(["default", "random", "shuffle"]), default="default", help="Order of rows."
)
@click.option(
    "--chat/--text", default=True, help="Send messages to /chat/completions, or text to /completions. [chat]"
)
@click.option("--concurrency", "-c", type=int, metavar="N", help="Requests under way all the time. [16]")
@click.option("--rate", type=float, metavar="R", help="Requests per second, whatever is under way.")
@click.option(
    "--burstiness",
    type=float,
    default=0.0,
    metavar="B",
    help="Gaps of a rate: 0 even, 1 Poisson, below 1 in bursts. [0]",
)
@click.option("--ramp", metavar="A..B", help="Requests per second from A to B.")
@click.option("--ramp-form", type=click.Choice(["linear", "exponential"]), default="linear")
@click.option("--ramp-seconds", type=float, metavar="S", help="How long the ramp takes. [all requests]")
@click.option(
    "--duration", type=float, metavar="S", help="Send for so long; a dataset begins again at its end."
)
@click.option("--replay/--no-replay", default=None, help="Send a trace's requests at its own times. [yes]")
@click.option("--trace-speed", type=float, metavar="X", help="2 replays a trace in half the time. [1]")
@click.option("--trace-start-ms", type=float, metavar="T", help="Leave out what a trace has before.")
@click.option("--trace-end-ms", type=float, metavar="T", help="Leave out what a trace has after.")
@click.option("--max-under-way", type=int, metavar="N", help="Bound of a load with a rate.")
@click.option("--think", type=float, default=0.0, metavar="S", help="Pause before the next turn.")
@click.option("--grace", type=float, metavar="S", help="Cut off what is under way so long after the end.")
@click.option("--warm-up", type=int, default=1, metavar="N", help="Requests before, not measured. [1]")
@click.option("--seed", type=int, default=0, help="Seed of every draw. [0]")
@click.option("--temperature", type=float, default=0.0, help="[0]")
@click.option(
    "--sweep",
    type=click.Choice(["concurrency", "rate"]),
    help="Measure at several levels.",
)
@click.option("--levels", metavar="A..B|A,B,C", help="Levels of a sweep, doubling or as listed. [1..64]")
@click.option(
    "--search",
    type=click.Choice(["concurrency", "rate"]),
    help="Find the highest level that keeps every --limit.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="LIMIT",
    help="'p99 ttft < 500ms', 'failed < 1%'; 'ttft < 500ms' of each request makes the goodput.",
)
@click.option("--trial-requests", type=int, default=100, metavar="N", help="At each level, at least. [100]")
@click.option("--trial-seconds", type=float, default=10.0, metavar="S", help="At each level, at least. [10]")
@click.option("--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="As for `run`.")
@click.option(
    "--profile", type=click.Choice(["assay", "aisbench"]), default="assay", help="Whose formulas. [assay]"
)
@click.option("--offline", is_flag=True, help="Refuse every connection but to the server.")
@click.option("--out", metavar="DIR", help="Folder of the benchmark. [runs/bench-...]")
@click.option("--runs-dir", metavar="DIR", help="Where benchmarks without --out are kept. [runs]")
@json_option
@click.pass_context
def bench(context: click.Context, /, model: str, dataset: str, is_json: bool, **flags: Any) -> int | Answer:
    """Measure how fast a model's server is.

    MODEL is openai:NAME@URL. DATASET is made up unless named: any dataset that `assay run` takes, a file of
    conversations, or a trace with timestamps. Instead of a model, the folder of an earlier benchmark is shown
    again.

    \b
    assay bench openai:qwen@http://127.0.0.1:8000/v1 --concurrency 64 --requests 1000
    assay bench openai:qwen@http://127.0.0.1:8000/v1 --rate 20 --burstiness 1 --duration 60
    assay bench openai:qwen@http://127.0.0.1:8000/v1 --search rate --limit 'p99 ttft < 500ms'
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
        click.echo("\nStopped. A benchmark does not go on: the same command begins anew.", err=True)
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
    """Raise when options of a load stand beside the folder of a benchmark, which has had its load."""
    is_given = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in _OF_A_FOLDER and context.get_parameter_source(name) is is_given:
            said = parameter.opts[0]
            raise click.UsageError(f"{said}: a finished benchmark is shown; only --profile and --json apply")
