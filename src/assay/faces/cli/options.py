"""The options that `run`, `check` and `init` share, and how they become settings."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.app.settings import Settings, resolve_settings
from assay.app.table_flags import FLAGS_OF_KEYS, TABLE_FLAGS
from assay.core.errors import Problem, UsageError
from assay.faces.cli.completers import complete_model, complete_profile, completing
from assay.faces.cli.option_groups import grouped_option
from assay.faces.cli.run_choices import expand_flags, require_one_run

F = TypeVar("F", bound=Callable[..., Any])

offline_option = grouped_option(
    "Network",
    "--offline",
    is_flag=True,
    default=None,
    help="Connect only to the model server you name. Any other connection ends the run. [off]",
)

benchmarks_from_option = grouped_option(
    "Data",
    "--benchmarks-from",
    is_rare=True,
    multiple=True,
    metavar="DIR",
    help="Checkout or folder with more benchmarks to run by name. Repeatable.",
)

allow_failures_option = grouped_option(
    "Output and resume",
    "--allow-failures",
    metavar="N|P%",
    help="Number or percentage of samples that may fail before the exit status is 3. [0]",
)

match_option = grouped_option(
    "Scoring",
    "--match",
    type=click.Choice(["stated", "exact", "contains", "f1", "judge"]),
    help="How to compare a free-text answer with the right one. [stated]",
)

several_right_option = grouped_option(
    "Scoring",
    "--several-right",
    is_rare=True,
    type=click.Choice(["exact", "any"]),
    help="With several right options, require exactly these or accept any of them. [exact]",
)

_OPTIONS = (
    grouped_option(
        "Model",
        "--model",
        "-m",
        multiple=True,
        metavar="[NAME=]MODEL",
        shell_complete=complete_model,
        help="smollm2, hf:FOLDER, hf:ORG/NAME, hf:FILE.gguf, vllm:MODEL, openai:NAME@URL, anthropic:NAME, "
        "gemini:NAME, tgi:@URL, triton:MODEL@URL, ultraeval:URL or mock. NAME= names the model in tables. "
        "Repeatable. [smollm2]",
    ),
    grouped_option(
        "Model",
        "--model-arg",
        "model_args",
        multiple=True,
        metavar="KEY=VALUE",
        help="Model argument, such as dtype=float32; NAME.dtype=float32 is for one of several models. "
        "Repeatable.",
    ),
    grouped_option(
        "Model", "--label", metavar="NAME", help="Name of the model in tables and on pages. [its own name]"
    ),
    grouped_option(
        "Model",
        "--chat",
        type=click.Choice(["auto", "on", "off"]),
        help="Use the model's chat template. [auto]",
    ),
    grouped_option(
        "Model",
        "--thinking",
        metavar="on|off|N",
        help="Let the model think before it answers, for at most N tokens, or with effort low, medium or "
        "high. [the model's default]",
    ),
    grouped_option(
        "Scale",
        "--concurrency",
        type=int,
        metavar="N",
        help="Maximum concurrent requests to a server. [auto]",
    ),
    grouped_option(
        "Scale",
        "--budget",
        metavar="5usd,2M-tokens,30min",
        help="Stop when this money, number of tokens or time is spent; resume with a higher one. [none]",
    ),
    grouped_option(
        "Scale",
        "--batch",
        is_flag=True,
        default=None,
        help="Send all requests through the provider's batch endpoint, which takes up to a day. [off]",
    ),
    grouped_option(
        "Scale",
        "--workers",
        type=int,
        metavar="N",
        help="Number of processes that each load the model, one GPU each if there are several. [1]",
    ),
    grouped_option(
        "Scale", "--on", metavar="ray[:ADDRESS]", help="Run the workers on a Ray cluster. [this machine]"
    ),
    grouped_option(
        "Scale",
        "--worker-timeout",
        is_rare=True,
        type=float,
        metavar="S",
        help="Seconds without a response before a busy worker is replaced. [600]",
    ),
    grouped_option(
        "Prompting",
        "--method",
        multiple=True,
        shell_complete=completing("ppl", "prob", "gen"),
        help="ppl (option likelihood), prob (option probability), gen (generation); or several: ppl,gen.",
    ),
    grouped_option(
        "Prompting", "--shots", type=int, help="Number of solved examples before each question. [0]"
    ),
    grouped_option(
        "Prompting", "--shots-from", metavar="FILE|SPLIT", help="Source of the examples. [the dataset itself]"
    ),
    grouped_option(
        "Prompting",
        "--shot-policy",
        is_rare=True,
        type=click.Choice(["first", "random"]),
        help="Take the first examples, or draw them by the seed.",
    ),
    grouped_option("Sampling", "--seed", type=int, help="Seed of every random draw. [0]"),
    grouped_option(
        "Data",
        "--limit",
        metavar="N|first:N|last:N",
        help="Evaluate a random sample of N rows (drawn by the seed), or the first or last N. [all]",
    ),
    grouped_option(
        "Scoring",
        "--score-by",
        type=click.Choice(["sum", "per_token", "per_char", "per_byte", "pmi"]),
        help="Normalisation of option likelihoods in ppl. [the dataset's, else sum]",
    ),
    grouped_option(
        "Scoring",
        "--fidelity",
        type=click.Choice(["corrected", "faithful"]),
        help="Fix the original system's bugs, or reproduce its numbers exactly. [corrected]",
    ),
    grouped_option(
        "Sampling", "--max-tokens", type=int, help="Maximum tokens per answer. [the dataset's, else 256]"
    ),
    grouped_option(
        "Sampling",
        "--temperature",
        type=float,
        help="Sampling temperature; 0 is greedy. [the dataset's, else 0]",
    ),
    grouped_option("Sampling", "--top-p", type=float, help="Nucleus sampling. [the dataset's, else 1]"),
    grouped_option("Sampling", "--stop", multiple=True, help="Text that ends an answer. Repeatable."),
    grouped_option(
        "Scoring",
        "--windows",
        is_rare=True,
        type=click.Choice(["classic", "hf-stride", "gptq"]),
        help="How to measure the perplexity of long texts; classic is lm-eval's method. [classic]",
    ),
    grouped_option(
        "Scoring",
        "--window-tokens",
        is_rare=True,
        type=int,
        metavar="N",
        help="Tokens per perplexity window. [the model's context]",
    ),
    grouped_option(
        "Scoring",
        "--stride",
        is_rare=True,
        type=int,
        metavar="N",
        help="Tokens from one hf-stride window to the next. [512]",
    ),
    grouped_option(
        "Sampling",
        "--samples",
        type=int,
        metavar="N",
        help="Answers per question, for majority vote or pass@k. [1]",
    ),
    grouped_option(
        "Prompting",
        "--cot",
        is_rare=True,
        metavar="NAME",
        help="Chain-of-thought variant that the dataset defines.",
    ),
    grouped_option(
        "Scoring", "--judge", metavar="MODEL", help="Model that grades answers, written like --model."
    ),
    grouped_option(
        "Scoring",
        "--judge-arg",
        "judge_args",
        is_rare=True,
        multiple=True,
        metavar="KEY=VALUE",
        help="Argument of the judge model. Repeatable.",
    ),
    grouped_option(
        "Data",
        "--dialect",
        is_rare=True,
        metavar="NAME",
        help="Dataset format: table, llmbox, ultraeval, openicl, leap or lm_eval. [detected]",
    ),
    grouped_option(
        "Data",
        "--dataset-arg",
        "dataset_args",
        is_rare=True,
        multiple=True,
        metavar="KEY=VALUE",
        help="Argument of the dataset format. Repeatable.",
    ),
    grouped_option(
        "Data",
        "--include-path",
        is_rare=True,
        multiple=True,
        metavar="DIR",
        help="Folder with more task files of lm-eval. Repeatable. [those of the package lm-eval]",
    ),
    grouped_option(
        "Data",
        "--transform",
        is_rare=True,
        metavar="VERSION|FILE",
        help="Transform script of an UltraEval dataset folder. [newest]",
    ),
    grouped_option(
        "Data",
        "--openicl-root",
        is_rare=True,
        metavar="DIR",
        help="Checkout of OpenCompass or AISBench whose classes a config imports.",
    ),
    grouped_option(
        "Data",
        "--data-root",
        "--task-dir",
        "data_root",
        metavar="DIR",
        help="Folder of datasets that you can use by name, with its hub.json.",
    ),
    benchmarks_from_option,
    grouped_option(
        "Data", "--split", help="Split of a dataset from the hub or --data-root. [test, else validation]"
    ),
    grouped_option(
        "Data",
        "--stream",
        is_rare=True,
        is_flag=True,
        default=None,
        help="Stream rows of a hub dataset instead of downloading it. [off]",
    ),
    grouped_option(
        "Data", "--meta", is_rare=True, metavar="FILE", help="Meta file. [FILE.meta.json next to the data]"
    ),
    offline_option,
    grouped_option("Data", "--name", is_rare=True, help="Name of the task. [the file's name]"),
    grouped_option(
        "Data",
        "--data-type",
        type=click.Choice(["mcq", "qa", "text"]),
        help="Multiple choice, free answer, or plain text for perplexity. [inferred]",
    ),
    grouped_option(
        "Data",
        "--options",
        multiple=True,
        help="Option columns, or the one column that lists the options. [inferred]",
    ),
    grouped_option("Data", "--answer-column", help="Column of the right answer. [inferred]"),
    grouped_option(
        "Data",
        "--messages-column",
        is_rare=True,
        help="Column of conversations (lists of messages). [inferred]",
    ),
    grouped_option(
        "Data", "--input-columns", multiple=True, metavar="NAMES", help="Columns of the question. [inferred]"
    ),
    grouped_option(
        "Data",
        "--context-columns",
        multiple=True,
        metavar="NAMES",
        help="Columns shown before the question, such as a passage. [inferred]",
    ),
    grouped_option(
        "Data",
        "--distractors",
        is_rare=True,
        multiple=True,
        metavar="NAMES",
        help="Columns of wrong options, if the right one has its own column. [inferred]",
    ),
    grouped_option(
        "Data",
        "--label-names",
        multiple=True,
        metavar="NAMES",
        help="Meaning of integer labels: negative,positive or 1=negative,2=positive.",
    ),
    grouped_option(
        "Prompting",
        "--shuffle-options",
        is_rare=True,
        is_flag=True,
        default=None,
        help="Shuffle the options of each row by the seed. [off]",
    ),
    grouped_option(
        "Data",
        "--no-answers",
        is_rare=True,
        is_flag=True,
        default=None,
        help="The file has no right answers: keep the replies without scoring them.",
    ),
    grouped_option(
        "Data",
        "--answer-is",
        type=click.Choice(["label", "text", "index0", "index1", "boolean", "after_hashes", "boxed"]),
        help="How the answer column names the right answer. [inferred]",
    ),
    grouped_option(
        "Scoring",
        "--ppl-target",
        type=click.Choice(["label", "text"]),
        help="Score the option's label or its text in ppl. [label]",
    ),
    match_option,
    several_right_option,
    grouped_option(
        "Scoring", "--group-by", metavar="COLUMN", help="Also score each value of this column. [category]"
    ),
    grouped_option(
        "Scoring",
        "--cluster",
        is_rare=True,
        metavar="COLUMN",
        help="Column that groups dependent rows, for the interval.",
    ),
    grouped_option(
        "Prompting",
        "--prompt",
        multiple=True,
        metavar="[NAME=]FILE",
        help="File with a prompt template, with {column} or Jinja. Repeatable. [by data type]",
    ),
    grouped_option(
        "Prompting",
        "--template",
        multiple=True,
        help="Prompt template as text; of several, each may be NAME=TEMPLATE. Repeatable.",
    ),
    grouped_option("Prompting", "--human-prompt", is_rare=True, help="Template of the user's turn."),
    grouped_option(
        "Prompting", "--bot-prompt", is_rare=True, help="Template of the model's turn, with {answer}."
    ),
    grouped_option(
        "Data",
        "--sheet",
        is_rare=True,
        metavar="NAME",
        help="Sheet of a workbook, list in a JSON document, or file in an archive. [the only one]",
    ),
    grouped_option(
        "Data",
        "--header/--no-header",
        is_rare=True,
        default=None,
        help="Whether the first row of the file has the column names. [inferred]",
    ),
    grouped_option(
        "Data",
        "--header-row",
        is_rare=True,
        type=int,
        metavar="N",
        help="Line or sheet row of the column names. [first]",
    ),
    grouped_option(
        "Data", "--columns", is_rare=True, metavar="NAME,...", help="Column names of a file without a header."
    ),
    grouped_option(
        "Data",
        "--separator",
        is_rare=True,
        metavar="CHAR",
        help="Column separator: ',', ';', '|' or tab. [inferred]",
    ),
    grouped_option(
        "Data",
        "--quotes/--no-quotes",
        is_rare=True,
        default=None,
        help="Whether double quotes enclose values. [inferred]",
    ),
    grouped_option(
        "Data",
        "--encoding",
        is_rare=True,
        metavar="NAME",
        help="Text encoding of the file. [utf-8, or as its byte order mark says]",
    ),
    grouped_option(
        "Data",
        "--decimal-comma/--no-decimal-comma",
        is_rare=True,
        default=None,
        help="Whether the right answer 3,5 means the number 3.5. [inferred]",
    ),
    grouped_option(
        "Other",
        "--profile",
        metavar="NAME",
        shell_complete=complete_profile,
        help="Profile of settings in assay.toml, such as ci. [none]",
    ),
)


_DATASET_ARGS = ("transform", "openicl_root")
"""Options that are arguments of one dialect each."""


def dataset_options(command: F) -> F:
    """Add the options that say what to evaluate and how to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def build_settings(flags: dict[str, Any]) -> Settings:
    """Return the settings from a command's flags, the environment and the settings file."""
    return _resolve_flags(require_one_run(expand_flags(flags, _parse_model_args)))


def build_run_settings(flags: dict[str, Any]) -> list[Settings]:
    """Return the settings of each run of a command: each model with each prompt."""
    return list(map(_resolve_flags, expand_flags(flags, _parse_model_args)))


def _resolve_flags(flags: dict[str, Any]) -> Settings:
    table = {}
    for flag, key in TABLE_FLAGS.items():
        value = flags.pop(flag, None)
        if value not in (None, ()):
            table[key] = _LISTS[flag](value) if flag in _LISTS else value
    if table:
        flags["table"] = table
    for name, example in _PAIRS.items():
        flags[name] = parse_pairs(flags.pop(name, ()), example) or None
    for name in _DATASET_ARGS:
        value = flags.pop(name, None)
        if value is not None:
            flags["dataset_args"] = {**(flags["dataset_args"] or {}), name: value}
    given = {name: None if value == () else value for name, value in flags.items()}
    is_named_prompt = flags.get("prompt_label") is not None
    return resolve_settings(
        given, os.environ, Path.cwd(), partial(_format_flag, is_named_prompt=is_named_prompt)
    )


def _format_flag(name: str, *, is_named_prompt: bool) -> str:
    """Return the flag of a setting, or of a key of `table` given as `table.KEY`."""
    if is_named_prompt and name == "table.template":
        return "--prompt or --template"
    key = name.removeprefix("table.")
    flag = FLAGS_OF_KEYS.get(key, key) if key != name else name
    return "--" + flag.replace("_", "-")


runs_option = click.option("--runs-dir", metavar="DIR", help="Folder of the runs. [runs]")


def resolve_runs_folder(flag: str | None) -> Path:
    """Return the folder of the runs: from the flag, the environment, the settings file or the default."""
    return Path(resolve_settings({"runs_dir": flag}, os.environ, Path.cwd()).values.runs_dir)


def is_offline(flag: bool | None) -> bool:
    """Return whether the command works offline: by the flag, the environment or the settings file."""
    return resolve_settings({"offline": flag}, os.environ, Path.cwd()).values.offline


def _names(values: tuple[str, ...]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",")]


def _list_or_name(values: tuple[str, ...]) -> list[str] | str:
    names = _names(values)
    return names[0] if len(names) == 1 else names


def _parse_label_names(values: tuple[str, ...]) -> list[str] | dict[str, str]:
    names = _names(values)
    if all("=" in name for name in names):
        return {value.strip(): name.strip() for value, _, name in (one.partition("=") for one in names)}
    return names


def _split_names(value: str) -> list[str]:
    """Split a list of names; a name with a comma is in double quotes."""
    return next(csv.reader([value], skipinitialspace=True))


_LISTS: dict[str, Callable[[Any], Any]] = {
    "options": _list_or_name,
    "input_columns": _names,
    "context_columns": _names,
    "distractors": _names,
    "label_names": _parse_label_names,
    "columns": _split_names,
}
"""Parsers of the flags that take several names."""


_PAIRS = {
    "judge_args": "--judge-arg concurrency=4",
    "dataset_args": "--dataset-arg ranking_type=ppl",
}


def _parse_model_args(given: Sequence[str]) -> dict[str, str]:
    return parse_pairs(given, "--model-arg dtype=float32")


def parse_pairs(given: Sequence[str], example: str) -> dict[str, str]:
    """Parse the `key=value` pairs of an option that can be repeated."""
    args = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(
                Problem(
                    "USAGE-005",
                    f"{example.partition(' ')[0]}: found {pair!r}, expected key=value",
                    example,
                )
            )
        args[key.strip()] = value
    return args
