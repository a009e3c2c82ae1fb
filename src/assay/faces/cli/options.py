"""The options that `run` and `check` share, and how they become settings."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from assay.app.settings import Settings, resolve_settings
from assay.core.errors import Problem, UsageError

F = TypeVar("F", bound=Callable[..., Any])

# Flags that describe a table, in the meta file's own words.
_TABLE = {
    "name": "abbr",
    "data_type": "data_type",
    "answer_is": "answer_is",
    "ppl_target": "ppl_target",
    "match": "match",
    "several_right": "several_right",
    "group_by": "category_column",
    "cluster": "cluster_column",
    "options": "options",
    "input_columns": "input_columns",
    "context_columns": "context_columns",
    "distractors": "distractors",
    "label_names": "label_names",
    "shuffle_options": "shuffle_options",
    "no_answers": "no_answers",
    "answer_column": "output_column",
    "messages_column": "messages_column",
    "template": "template",
    "human_prompt": "human_prompt",
    "bot_prompt": "bot_prompt",
    "sheet": "sheet",
    "header": "has_header",
    "header_row": "header_row",
    "columns": "columns",
    "separator": "separator",
    "quotes": "quotes",
    "encoding": "encoding",
    "decimal_comma": "decimal_comma",
}

offline_option = click.option(
    "--offline",
    is_flag=True,
    default=None,
    help="Connect to nothing but the named endpoint; who tries is told, and ends it.",
)

allow_failures_option = click.option(
    "--allow-failures",
    metavar="N|P%",
    help="So many samples, or such a share, may fail; with more the exit status is 3. [0]",
)

match_option = click.option(
    "--match",
    type=click.Choice(["stated", "exact", "contains", "f1", "judge"]),
    help="What makes a free answer right. [stated]",
)

several_right_option = click.option(
    "--several-right",
    type=click.Choice(["exact", "any"]),
    help="Where rows have several right options: name exactly those, or any. [exact]",
)

_OPTIONS = (
    click.option(
        "--model",
        "-m",
        help="smollm2 (default), hf:FOLDER, hf:ORG/NAME, hf:FILE.gguf, openai:NAME@URL, ultraeval:URL, mock.",
    ),
    click.option(
        "--model-arg", "model_args", multiple=True, metavar="KEY=VALUE", help="An argument of the model."
    ),
    click.option(
        "--concurrency",
        type=int,
        metavar="N",
        help="Calls under way at a server. [as many as turn out to pay]",
    ),
    click.option(
        "--workers",
        type=int,
        metavar="N",
        help="Processes that each have the model, and a GPU of their own where there are several.",
    ),
    click.option(
        "--on",
        metavar="ray[:ADDRESS]",
        help="Have the workers on a Ray cluster. [as many as there is room for]",
    ),
    click.option(
        "--worker-timeout",
        type=float,
        metavar="S",
        help="A worker that has work and is silent so long is replaced. [600]",
    ),
    click.option("--method", multiple=True, help="ppl, prob, gen, or several: --method ppl,prob,gen."),
    click.option("--shots", type=int, help="Solved examples before each question."),
    click.option("--shots-from", metavar="FILE|SPLIT", help="Where the examples come from. [this file]"),
    click.option("--shot-policy", type=click.Choice(["first", "random"]), help="How examples are chosen."),
    click.option("--seed", type=int, help="Seed of every draw. [0]"),
    click.option(
        "--limit",
        metavar="N|first:N|last:N",
        help="Evaluate a seeded sample, or the first or last N.",
    ),
    click.option(
        "--score-by",
        type=click.Choice(["sum", "per_token", "per_char", "per_byte", "pmi"]),
        help="The normalisation that decides in ppl. [the dataset's, else sum]",
    ),
    click.option(
        "--fidelity",
        type=click.Choice(["corrected", "faithful"]),
        help="Correct the original system's quirks, or reproduce them. [corrected]",
    ),
    click.option(
        "--chat", type=click.Choice(["auto", "on", "off"]), help="Use the model's chat template. [auto]"
    ),
    click.option("--max-tokens", type=int, help="Longest generated answer. [the dataset's, else 256]"),
    click.option("--temperature", type=float, help="0 is greedy. [the dataset's, else 0]"),
    click.option("--top-p", type=float, help="Nucleus sampling. [the dataset's, else 1]"),
    click.option("--stop", multiple=True, help="Text that ends an answer."),
    click.option(
        "--windows",
        type=click.Choice(["classic", "hf-stride", "gptq"]),
        help="How the perplexity of long texts is measured. [classic]",
    ),
    click.option("--window-tokens", type=int, metavar="N", help="Tokens of a window. [the model's context]"),
    click.option(
        "--stride", type=int, metavar="N", help="Tokens from one hf-stride window to the next. [512]"
    ),
    click.option(
        "--samples", type=int, metavar="N", help="Answers to each question: voted on, or for pass@k. [1]"
    ),
    click.option("--cot", metavar="NAME", help="Way of reasoning, by the dataset's own name for it."),
    click.option(
        "--judge", metavar="MODEL", help="The model that grades answers, for metrics that need one."
    ),
    click.option(
        "--judge-arg", "judge_args", multiple=True, metavar="KEY=VALUE", help="An argument of the judge."
    ),
    click.option("--dialect", metavar="NAME", help="The language the dataset is written in. [recognised]"),
    click.option(
        "--dataset-arg",
        "dataset_args",
        multiple=True,
        metavar="KEY=VALUE",
        help="An argument that only this dialect knows.",
    ),
    click.option(
        "--transform", metavar="VERSION|FILE", help="The transform script of a dataset's folder. [newest]"
    ),
    click.option(
        "--openicl-root",
        metavar="DIR",
        help="Checkout of OpenCompass or AISBench, whose classes a config names.",
    ),
    click.option(
        "--data-root",
        "--task-dir",
        "data_root",
        metavar="DIR",
        help="Folder of datasets by name, with its hub.json.",
    ),
    click.option(
        "--split", help="Split of a dataset named on the hub or under the data root. [test, else validation]"
    ),
    click.option(
        "--stream",
        is_flag=True,
        default=None,
        help="Fetch rows of a dataset on the hub each time they are read; keep none on the disk.",
    ),
    click.option("--meta", metavar="FILE", help="Meta file, when it is not FILE.meta.json beside the data."),
    offline_option,
    click.option("--name", help="Name of the task. [the file's name]"),
    click.option(
        "--data-type",
        type=click.Choice(["mcq", "qa", "text"]),
        help="Options, free answer, or plain texts. [inferred]",
    ),
    click.option("--options", multiple=True, help="Option columns, or the one field that lists them."),
    click.option("--answer-column", help="Column of the right answer. [inferred]"),
    click.option("--messages-column", help="Column of conversations (lists of messages). [inferred]"),
    click.option(
        "--input-columns", multiple=True, metavar="NAMES", help="Columns of the question. [inferred]"
    ),
    click.option(
        "--context-columns",
        multiple=True,
        metavar="NAMES",
        help="Texts before the question, such as a passage. [inferred]",
    ),
    click.option(
        "--distractors",
        multiple=True,
        metavar="NAMES",
        help="Columns of wrong options, when the right one has its own column. [inferred]",
    ),
    click.option(
        "--label-names",
        multiple=True,
        metavar="NAMES",
        help="What integer labels mean: negative,positive or 1=negative,2=positive.",
    ),
    click.option(
        "--shuffle-options",
        is_flag=True,
        default=None,
        help="Shuffle the options of each row by the seed.",
    ),
    click.option(
        "--no-answers",
        is_flag=True,
        default=None,
        help="The file has no right answers: keep the replies, score nothing.",
    ),
    click.option(
        "--answer-is",
        type=click.Choice(["label", "text", "index0", "index1", "boolean", "after_hashes", "boxed"]),
        help="How the answer names an option, or where a solution states it. [inferred]",
    ),
    click.option(
        "--ppl-target",
        type=click.Choice(["label", "text"]),
        help="What ppl scores: the option's label, or its text.",
    ),
    match_option,
    several_right_option,
    click.option("--group-by", metavar="COLUMN", help="Also score each value of this column. [category]"),
    click.option("--cluster", metavar="COLUMN", help="Rows that share a value here are not independent."),
    click.option("--template", help="Prompt: {field} or Jinja."),
    click.option("--human-prompt", help="Prompt of the user's turn."),
    click.option("--bot-prompt", help="Prompt of the model's turn, with {answer}."),
    click.option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook, list of a JSON document, or file of an archive. [the only one]",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row of the file holds the column names. [inferred]",
    ),
    click.option(
        "--header-row", type=int, metavar="N", help="Line or sheet row of the column names. [first]"
    ),
    click.option("--columns", metavar="NAME,...", help="Column names of a file without a header."),
    click.option(
        "--separator", metavar="CHAR", help="Separator of columns: ',', ';', '|' or tab. [inferred]"
    ),
    click.option(
        "--quotes/--no-quotes", default=None, help="Whether double quotes enclose values. [inferred]"
    ),
    click.option("--encoding", metavar="NAME", help="Text encoding of the file. [utf-8, or its mark's]"),
    click.option(
        "--decimal-comma/--no-decimal-comma",
        default=None,
        help="Whether the right answer 3,5 is the number 3.5. [inferred]",
    ),
)


_DATASET_ARGS = ("transform", "openicl_root")
"""Options that are arguments of one dialect each."""


def dataset_options(command: F) -> F:
    """Give a command the options that say what to evaluate and how."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def build_settings(flags: dict[str, Any]) -> Settings:
    """Make settings of a command's flags, the environment and the settings file."""
    table = {}
    for flag, key in _TABLE.items():
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
    return resolve_settings(given, os.environ, Path.cwd())


runs_option = click.option("--runs-dir", metavar="DIR", help="Where runs are kept. [runs]")


def resolve_runs_folder(flag: str | None) -> Path:
    """Return where runs are kept: the flag, the environment, the settings file or the default."""
    return Path(resolve_settings({"runs_dir": flag}, os.environ, Path.cwd()).values.runs_dir)


def is_offline(flag: bool | None) -> bool:
    """Return whether to connect to nothing: by the flag, the environment or the settings file."""
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


def _quoted_names(value: str) -> list[str]:
    """Read names that may hold commas, in double quotes then."""
    return next(csv.reader([value], skipinitialspace=True))


_LISTS: dict[str, Callable[[Any], Any]] = {
    "options": _list_or_name,
    "input_columns": _names,
    "context_columns": _names,
    "distractors": _names,
    "label_names": _parse_label_names,
    "columns": _quoted_names,
}
"""Flags that take several names, and how they are read."""


_PAIRS = {
    "model_args": "--model-arg dtype=float32",
    "judge_args": "--judge-arg concurrency=4",
    "dataset_args": "--dataset-arg ranking_type=ppl",
}


def parse_pairs(given: tuple[str, ...], example: str) -> dict[str, str]:
    """Read `key=value` of an option that may be given several times."""
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
