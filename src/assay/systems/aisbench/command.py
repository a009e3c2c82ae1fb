"""assay as aisbench: the original's command line; its flags that were never followed are."""

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
"""What each mode is here; a judge is asked when answers are scored."""
_PERF_MODES = ("perf", "perf_viz")
_IGNORED_FLAGS = {
    "merge_ds": "all datasets of a model are asked together anyway",
    "max_num_workers": "one process asks, or as many as ASSAY_WORKERS in the environment says",
    "max_workers_per_gpu": "one process asks, or as many as ASSAY_WORKERS in the environment says",
    "debug": "there is one process, and what it does is shown anyway",
}
"""Flags that change no number, and what happens instead."""
_IGNORED_IN_ANSWER_MODES = {
    "num_warmups": "nothing is sent to the model beforehand",
    "pressure": "only mode perf loads a server",
    "pressure_time": "only mode perf loads a server",
    "spec_decode": "only mode perf looks at a server's counters",
    "request_rate": "only mode perf sends at a rate; answers do not depend on it",
}
"""Flags of mode perf, and what happens in the modes that are about answers."""
_IGNORED_IN_PERF_MODES = {
    "merge_ds": "datasets of one class that are asked alike are one load anyway",
    "dump_eval_details": "speed is measured, answers are not scored",
    "dump_extract_rate": "speed is measured, answers are not scored",
    "judge": "speed is measured, answers are not scored",
    "no_cache": "nothing is taken from a cache where speed is measured",
}
"""Flags of the modes about answers, and what happens where speed is measured."""
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
            told=tuple(_explain_ignored_flags(given)),
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
            told=tuple(_explain_ignored_flags(given)),
        )
    )


def _root(given: argparse.Namespace) -> Path | None:
    """Return the checkout that was named, or else where the package is installed."""
    from assay.dialects.openicl.config_search import find_installed_root

    return find_installed_root("ais_bench") if given.openicl_root is None else Path(given.openicl_root)


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return what the flags set for every run; a table gets AISBench's default prompt."""
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
    parser.add_argument("-s", "--search", action="store_true", help="print where configs lie")
    parser.add_argument("--num-prompts", type=int, metavar="N", help="the first N rows of each dataset")
    parser.add_argument("--dump-eval-details", action="store_true", help="write each row with its score")
    parser.add_argument("--dump-extract-rate", action="store_true", help="write how many answers were found")
    parser.add_argument(
        "--max-out-len", type=int, metavar="N", help="Assay's own: longest text, for all datasets"
    )
    parser.add_argument("--batch-size", type=int, metavar="N", help="Assay's own: requests under way")
    parser.add_argument(
        "--request-rate", type=float, metavar="R", help="Assay's own: requests per second, in mode perf"
    )
    speed = parser.add_argument_group("mode perf: how fast a server is")
    speed.add_argument("--num-warmups", type=int, metavar="N", help="requests before, not measured [1]")
    speed.add_argument("--pressure", action="store_true", help="load the server for a time")
    speed.add_argument("--pressure-time", type=int, metavar="S", help=f"for so long [{_PRESSURE_S}]")
    speed.add_argument("--spec-decode", action="store_true", help="look at the server's counters of drafts")
    quiet = parser.add_argument_group("accepted, with a line that says what happens instead")
    quiet.add_argument("--merge-ds", action="store_true")
    quiet.add_argument("--max-num-workers", type=int, metavar="N")
    quiet.add_argument("--max-workers-per-gpu", type=int, metavar="N")
    quiet.add_argument("--debug", action="store_true")
    refused = parser.add_argument_group("refused")
    refused.add_argument("--response-anomaly", action="store_true")
    return parser


def _reject_flags(given: argparse.Namespace) -> None:
    if given.response_anomaly:
        what = "--response-anomaly looks for garbled answers by another program, which is not there"
        raise _usage_error(what, "leave it away; `assay explain` shows answers")
    if given.num_prompts is not None and given.num_prompts < 1:
        what = f"--num-prompts: found {given.num_prompts}, expected a number of rows above 0"
        raise _usage_error(what, "write --num-prompts 10")
    if given.mode not in _PERF_MODES:
        return
    if given.custom_dataset_infer_method == "ppl":
        what = "--custom-dataset-infer-method ppl asks by likelihood, which is no load of a server"
        raise _usage_error(what, "leave it away: answers are generated")
    if given.num_warmups is not None and given.num_warmups < 0:
        what = f"--num-warmups: found {given.num_warmups}, expected 0 or more"
        raise _usage_error(what, "write --num-warmups 1, or 0 for none")
    if given.pressure_time is not None and not given.pressure:
        raise _usage_error(
            "--pressure-time is how long --pressure lasts, which is not asked for", "add --pressure"
        )
    if given.pressure_time is not None and not 1 <= given.pressure_time <= _LONGEST_PRESSURE_S:
        what = f"--pressure-time: found {given.pressure_time}, expected seconds from 1 to "
        raise _usage_error(f"{what}{_LONGEST_PRESSURE_S}", "write --pressure-time 15")


def _usage_error(what: str, fix: str) -> UsageError:
    return UsageError(Problem("USAGE-006", what, fix))


def _explain_ignored_flags(given: argparse.Namespace) -> Iterator[str]:
    """Yield a line for each flag that was given and has no effect."""
    of_mode = _IGNORED_IN_PERF_MODES if given.mode in _PERF_MODES else _IGNORED_IN_ANSWER_MODES
    for name, instead in {**_IGNORED_FLAGS, **of_mode}.items():
        if getattr(given, name):
            yield f"--{name.replace('_', '-')}: {instead}"
    if given.mode == "judge":
        yield "mode judge: the judge is asked when answers are scored, so scores come with it"
    if given.mode == "infer_judge":
        yield "mode infer_judge: the judge is asked when answers are scored, so scores come with it"
