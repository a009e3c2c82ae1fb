"""A flag table defines the parser, the help, the settings, the notes and the errors of a command line."""

from __future__ import annotations

from importlib import import_module

import click
import pytest

from assay.app.settings import RunSettings
from assay.core.errors import UsageError
from assay.systems.command_line import other_systems
from assay.systems.flag_table import OWN_FLAGS, Flag, FlagTable, parse_bool

TABLE = FlagTable(
    "other",
    "--model MODEL [FLAGS]",
    (
        Flag("[CONFIG]", "Config file."),
        Flag("-m, --model MODEL", "Model.", is_required=True),
        Flag("--tasks NAME...", "Tasks."),
        Flag("-n, --num-fewshot N", "Examples; -1: the task's. [-1]", "shots", int, default=-1, neutral=-1),
        Flag("--limit N", "Rows.", "limit", int, convert="first:{}".format),
        Flag("--method {gen,ppl}", "Method.", "dataset_args.method"),
        Flag("--cot NAME", "Chain of thought.", "dataset_args.cot"),
        Flag("--reuse [TIME]", "Resume.", const="latest"),
        Flag("--details [BOOL]", "Details. [true]", type=parse_bool, default=True),
        Flag("--stop TEXT...", "Stop.", "stop", convert=tuple),
    ),
    {"Speed": (Flag("--no-cache", "No cache.", "cache", convert=lambda _: False),)},
    own=(Flag("--seed N", "Seed. [7]", "seed", int, default=7),),
    ignored=(
        Flag("--debug", "there is one process"),
        Flag("--workers N", "there is one process", type=int),
        Flag("--flash [X]", "the machine decides"),
        Flag("--key TEXT", "no key is needed"),
    ),
    rejected=(
        Flag("--top_k K", "it is not sent", type=int, default=-1, neutral=0),
        Flag("--quantise [X]", "weights stay as they are", fix="quantise them before"),
    ),
)
WITH_RUN_FLAGS = TABLE._replace(options=TABLE.options[1:], accepts_run_flags=True)


def test_the_syntax_defines_how_a_value_is_parsed() -> None:
    flags = TABLE.parse(["run.py", "-m", "mock", "--tasks", "a", "b", "--reuse", "--details", "no"]).flags
    assert (flags.config, flags.model, flags.tasks) == ("run.py", "mock", ["a", "b"])
    assert (flags.reuse, flags.details, flags.no_cache) == ("latest", False, False)
    flags = TABLE.parse(["-m", "mock", "--reuse", "2026", "--method", "ppl"]).flags
    assert (flags.config, flags.reuse, flags.details, flags.method) == (None, "2026", True, "ppl")


def test_flags_set_settings_by_their_names_in_run() -> None:
    assert TABLE.parse(["-m", "mock"]).settings == {"seed": 7}
    line = TABLE.parse(
        ["-m", "x", "-n", "0", "--limit", "5", "--method", "gen", "--cot", "base", "--no-cache", "--fresh"]
    )
    assert line.settings == {
        "shots": 0,
        "limit": "first:5",
        "dataset_args": {"method": "gen", "cot": "base"},
        "cache": False,
        "fresh": True,
        "seed": 7,
    }


def test_settings_of_the_system_and_of_run_add_to_those_of_the_flags() -> None:
    line = WITH_RUN_FLAGS.parse(
        [
            *("-m", "mock", "--cot", "base", "--stop", "a", "b", "--shots", "2", "-n", "1"),
            *("--dataset-arg", "x=1", "--top-p", "0.5"),
        ]
    )
    settings = line.build_settings({"model": "mock", "dataset_args": {"model_type": "chat"}})
    assert dict(settings.values.dataset_args) == {"cot": "base", "model_type": "chat", "x": "1"}
    assert (settings.values.shots, settings.values.top_p, settings.values.seed) == (2, 0.5, 7)
    assert settings.values.stop == ("a", "b")


def test_an_ignored_flag_gives_a_note_without_its_value() -> None:
    assert TABLE.parse(["-m", "mock", "--flash", "False", "--key", ""]).notes == []
    line = TABLE.parse(["-m", "mock", "--debug", "--workers", "0", "--flash", "--key", "sk-secret"])
    assert line.notes == [
        "--debug: there is one process",
        "--workers: there is one process",
        "--flash: the machine decides",
        "--key: no key is needed",
    ]


def test_every_rejected_flag_is_reported_with_its_fix() -> None:
    TABLE.parse(["-m", "mock", "--top_k", "0", "--quantise", "False"])
    TABLE.parse(["-m", "mock", "--top_k", "-1"])
    with pytest.raises(UsageError) as raised:
        TABLE.parse(["-m", "mock", "--top_k", "5", "--quantise"])
    assert [(problem.code, problem.what, problem.fix) for problem in raised.value.problems] == [
        ("USAGE-006", "--top_k is not supported: it is not sent", "remove the flag"),
        ("USAGE-006", "--quantise is not supported: weights stay as they are", "quantise them before"),
    ]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "required: -m/--model"),
        (["-m", "mock", "--method", "clp"], "invalid choice: 'clp'"),
        (["-m", "mock", "--details", "perhaps"], "found 'perhaps', expected True or False"),
        (["-m", "mock", "--mod"], "unrecognized arguments: --mod"),
        (["-m", "mock", "a", "b"], "unrecognized arguments: b"),
        (["-m", "mock", "--top-p", "0.5"], "unrecognized arguments: --top-p"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str], part: str) -> None:
    check_error(TABLE, arguments, part)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--shots", "many"], "'many' is not a valid integer"),
        (["--json"], "--json works only with `assay run`"),
        (["--shoots", "1"], "unrecognized arguments: --shoots 1"),
        (["extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_options_of_run_are_usage_errors_too(arguments: list[str], part: str) -> None:
    check_error(WITH_RUN_FLAGS, ["-m", "mock", *arguments], part)


def check_error(table: FlagTable, arguments: list[str], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        table.parse(arguments)
    (problem,) = raised.value.problems
    assert part in problem.what
    assert problem.fix == "`assay as other --help` lists the flags"


def test_the_help_says_what_happens_with_each_flag() -> None:
    formatter = click.HelpFormatter(width=100)
    WITH_RUN_FLAGS.write_help(formatter)
    text = formatter.getvalue()
    assert "-n, --num-fewshot N  Examples; -1: the task's. [-1]" in text
    assert "Speed:\n  --no-cache  No cache." in text
    assert "Ignored: there is one process." in text
    assert "Not supported: it is not sent." in text
    assert "All options of `assay run` except --json work too" in text


@pytest.mark.parametrize("system", other_systems.list_commands(click.Context(other_systems)))
def test_the_table_of_a_system_is_consistent(system: str) -> None:
    table: FlagTable = import_module(f"assay.systems.{system}.flags").FLAGS
    used = [
        *table.options,
        *(flag for flags in table.groups.values() for flag in flags),
        *OWN_FLAGS,
        *table.own,
    ]
    for flag in used:
        assert flag.help.endswith((".", "]")), flag.syntax
        assert flag.setting is None or flag.setting.partition(".")[0] in RunSettings.__struct_fields__
    for flag in (*table.ignored, *table.rejected):
        assert not flag.help.endswith("."), flag.syntax
        assert flag.setting is None
    assert table.system == system
