"""`assay as aisbench`: the original's command line, including flags that the original ignores."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.errors import Problem, UsageError
from assay.systems.command_line import ForeignParser, foreign_command, parse_flags

if TYPE_CHECKING:
    from assay.systems.opencompass.config_runs import Stage

_STAGES: Mapping[str, Stage] = {
    "all": "all",
    "infer": "infer",
    "infer_judge": "all",
    "judge": "score",
    "eval": "score",
    "viz": "viz",
}
"""The stage of each mode; the judge is queried during scoring."""
_PERF_MODES = ("perf", "perf_viz")
_IGNORED_FLAGS = {
    "merge_ds": "requests of all datasets of a model are always sent together",
    "max_num_workers": "one process sends requests; set ASSAY_WORKERS in the environment for more",
    "max_workers_per_gpu": "one process sends requests; set ASSAY_WORKERS in the environment for more",
    "debug": "there is only one process, and its output is always shown",
}
"""Flags that change no number, and what happens instead."""
_IGNORED_IN_ANSWER_MODES = {
    "num_warmups": "no warm-up requests are sent",
    "pressure": "only mode perf loads a server",
    "pressure_time": "only mode perf loads a server",
    "spec_decode": "only mode perf reads a server's counters",
    "request_rate": "only mode perf sends at a rate; answers do not depend on it",
}
"""Flags of mode perf, and what happens in the modes about answers."""
_IGNORED_IN_PERF_MODES = {
    "merge_ds": "datasets of one class with the same inferencer always form one load",
    "dump_eval_details": "speed is measured, answers are not scored",
    "dump_extract_rate": "speed is measured, answers are not scored",
    "judge": "speed is measured, answers are not scored",
    "no_cache": "performance mode never uses the cache",
}
"""Flags of the modes about answers, and what happens in performance mode."""
_PRESSURE_S = 15
_LONGEST_PRESSURE_S = 86_400


@foreign_command
def aisbench(arguments: tuple[str, ...]) -> int:
    """Evaluate configs with AISBench's own flags."""
    given = parse_flags(_parser(), arguments)
    if given is None:
        return 0
    _reject_flags(given)
    if given.mode in _PERF_MODES:
        return _run_performance(given)
    from assay.systems.opencompass.config_runs import ConfigCommand, read_shared_names, run_configs
    from assay.systems.opencompass.result_files import DetailOptions

    return run_configs(
        ConfigCommand(
            "aisbench",
            read_shared_names(given),
            _STAGES[given.mode],
            given.reuse,
            Path(given.work_dir),
            Path(given.config_dir),
            _root(given),
            DetailOptions(given.dump_eval_details, given.dump_extract_rate),
            _settings(given),
            is_dry=given.dry_run,
            is_search=given.search,
            ignored_flags=tuple(_explain_ignored_flags(given)),
        )
    )


def _run_performance(given: argparse.Namespace) -> int:
    from assay.systems.aisbench.performance_command import PerformanceCommand, run_performance
    from assay.systems.aisbench.performance_plan import PerfOptions
    from assay.systems.opencompass.config_runs import read_shared_names

    pressure_s = None
    if given.pressure:
        pressure_s = float(_PRESSURE_S if given.pressure_time is None else given.pressure_time)
    return run_performance(
        PerformanceCommand(
            read_shared_names(given),
            given.reuse,
            Path(given.work_dir),
            Path(given.config_dir),
            _root(given),
            PerfOptions(
                1 if given.num_warmups is None else given.num_warmups,
                given.num_prompts,
                pressure_s,
                given.max_out_len,
                given.seed or 0,
            ),
            _settings(given),
            is_viz=given.mode == "perf_viz",
            is_dry=given.dry_run,
            is_search=given.search,
            has_spec_decode=given.spec_decode,
            ignored_flags=tuple(_explain_ignored_flags(given)),
        )
    )


def _root(given: argparse.Namespace) -> Path | None:
    """Return the given checkout, else the folder of the installed package."""
    from assay.dialects.openicl.config_search import find_installed_root

    return find_installed_root("ais_bench") if given.openicl_root is None else Path(given.openicl_root)


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the flags for every run; a table gets AISBench's default prompt."""
    from assay.systems.opencompass.config_runs import read_shared_settings

    settings = read_shared_settings(given)
    if given.custom_dataset_path:
        settings["table"] = {**(settings["table"] or {}), "prompt_style": "aisbench"}
    return settings


def _parser() -> ForeignParser:
    from assay.systems.opencompass.config_runs import add_shared_flags

    parser = ForeignParser("aisbench", "[CONFIG] --models NAME... --datasets NAME... [--mode MODE] [FLAGS]")
    add_shared_flags(parser)
    parser.add_argument("-m", "--mode", default="all", choices=(*_STAGES, *_PERF_MODES), help="[all]")
    parser.add_argument("-s", "--search", action="store_true", help="print the paths of configs")
    parser.add_argument("--num-prompts", type=int, metavar="N", help="use the first N rows of each dataset")
    parser.add_argument("--dump-eval-details", action="store_true", help="write each row with its score")
    parser.add_argument("--dump-extract-rate", action="store_true", help="write the rate of answers found")
    parser.add_argument(
        "--max-out-len", type=int, metavar="N", help="Assay's own: maximum output tokens, for all datasets"
    )
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="Assay's own: maximum concurrent requests"
    )
    parser.add_argument(
        "--request-rate", type=float, metavar="R", help="Assay's own: requests per second, in mode perf"
    )
    speed = parser.add_argument_group("mode perf: how fast a server is")
    speed.add_argument("--num-warmups", type=int, metavar="N", help="warm-up requests, not measured [1]")
    speed.add_argument("--pressure", action="store_true", help="load the server for a fixed time")
    speed.add_argument("--pressure-time", type=int, metavar="S", help=f"duration in seconds [{_PRESSURE_S}]")
    speed.add_argument(
        "--spec-decode", action="store_true", help="read the server's speculative decoding counters"
    )
    quiet = parser.add_argument_group("accepted without effect; a note says what happens instead")
    quiet.add_argument("--merge-ds", action="store_true")
    quiet.add_argument("--max-num-workers", type=int, metavar="N")
    quiet.add_argument("--max-workers-per-gpu", type=int, metavar="N")
    quiet.add_argument("--debug", action="store_true")
    rejected = parser.add_argument_group("rejected")
    rejected.add_argument("--response-anomaly", action="store_true")
    return parser


def _reject_flags(given: argparse.Namespace) -> None:
    if given.response_anomaly:
        what = "--response-anomaly is not supported: it needs another program to find garbled answers"
        raise _usage_error(what, "remove it; `assay explain` shows answers")
    if given.num_prompts is not None and given.num_prompts < 1:
        what = f"--num-prompts is {given.num_prompts}, expected at least 1"
        raise _usage_error(what, "write --num-prompts 10")
    if given.mode not in _PERF_MODES:
        return
    if given.custom_dataset_infer_method == "ppl":
        what = "--custom-dataset-infer-method ppl computes likelihoods, but mode perf measures generation"
        raise _usage_error(what, "remove it: answers are generated")
    if given.num_warmups is not None and given.num_warmups < 0:
        what = f"--num-warmups is {given.num_warmups}, expected 0 or more"
        raise _usage_error(what, "write --num-warmups 1, or 0 for none")
    if given.pressure_time is not None and not given.pressure:
        raise _usage_error(
            "--pressure-time sets the duration of --pressure, which is not set", "add --pressure"
        )
    if given.pressure_time is not None and not 1 <= given.pressure_time <= _LONGEST_PRESSURE_S:
        what = f"--pressure-time is {given.pressure_time}, expected seconds from 1 to "
        raise _usage_error(f"{what}{_LONGEST_PRESSURE_S}", "write --pressure-time 15")


def _usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("USAGE-006", what, fix))


def _explain_ignored_flags(given: argparse.Namespace) -> Iterator[str]:
    """Yield a note for each given flag without effect."""
    of_mode = _IGNORED_IN_PERF_MODES if given.mode in _PERF_MODES else _IGNORED_IN_ANSWER_MODES
    for name, instead in {**_IGNORED_FLAGS, **of_mode}.items():
        if getattr(given, name):
            yield f"--{name.replace('_', '-')}: {instead}"
    if given.mode == "judge":
        yield "mode judge: the judge is queried during scoring, so this mode also computes scores"
    if given.mode == "infer_judge":
        yield "mode infer_judge: the judge is queried during scoring, so this mode also computes scores"
