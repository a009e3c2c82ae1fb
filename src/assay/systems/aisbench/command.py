"""`assay as aisbench`: the original's command line, including flags that the original ignores."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.systems.aisbench.flags import FLAGS, PRESSURE_S
from assay.systems.command_line import foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error

if TYPE_CHECKING:
    from assay.systems.opencompass.config_plan import CommandNames
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
_IGNORED_IN_ANSWER_MODES = {
    "merge_ds": "requests of all datasets of a model are always sent together",
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
_LONGEST_PRESSURE_S = 86_400


@foreign_command(FLAGS)
def aisbench(line: CommandLine) -> int:
    """Evaluate configs and tables with AISBench's own flags."""
    flags, settings = line.flags, line.settings
    if flags.custom_dataset_path:
        settings["table"] = {**settings.get("table", {}), "prompt_style": "aisbench"}
    is_performance = flags.mode in _PERF_MODES
    if is_performance:
        _check_performance_flags(flags)
    from assay.systems.opencompass.config_runs import ConfigCommand, read_names, run_configs
    from assay.systems.opencompass.result_files import DetailOptions

    names = read_names(flags)
    print_notes((*line.notes, *_explain_ignored_flags(flags)))
    if is_performance:
        return _run_performance(flags, names, settings)
    return run_configs(
        ConfigCommand(
            "aisbench",
            names,
            _STAGES[flags.mode],
            flags.reuse,
            Path(flags.work_dir),
            Path(flags.config_dir),
            _find_root(flags),
            DetailOptions(flags.dump_eval_details, flags.dump_extract_rate),
            settings,
            is_dry=flags.dry_run,
            is_search=flags.search,
        )
    )


def _run_performance(flags: argparse.Namespace, names: CommandNames, settings: dict[str, Any]) -> int:
    from assay.systems.aisbench.performance import PerfOptions
    from assay.systems.aisbench.performance_command import PerformanceCommand, run_performance

    pressure_s = None
    if flags.pressure:
        pressure_s = float(PRESSURE_S if flags.pressure_time is None else flags.pressure_time)
    return run_performance(
        PerformanceCommand(
            names,
            flags.reuse,
            Path(flags.work_dir),
            Path(flags.config_dir),
            _find_root(flags),
            PerfOptions(
                1 if flags.num_warmups is None else flags.num_warmups,
                flags.num_prompts,
                pressure_s,
                flags.max_out_len,
                flags.seed or 0,
            ),
            settings,
            is_viz=flags.mode == "perf_viz",
            is_dry=flags.dry_run,
            is_search=flags.search,
            has_spec_decode=flags.spec_decode,
        )
    )


def _find_root(flags: argparse.Namespace) -> Path | None:
    """Return the named checkout, else the folder of the installed package."""
    from assay.dialects.openicl.config_search import find_installed_root

    return find_installed_root("ais_bench") if flags.openicl_root is None else Path(flags.openicl_root)


def _check_performance_flags(flags: argparse.Namespace) -> None:
    """Raise if flags contradict performance mode or each other."""
    if flags.custom_dataset_infer_method == "ppl":
        what = "--custom-dataset-infer-method ppl computes likelihoods, but mode perf measures generation"
        raise usage_error(what, "remove it: answers are generated")
    if flags.num_warmups is not None and flags.num_warmups < 0:
        what = f"--num-warmups is {flags.num_warmups}, expected 0 or more"
        raise usage_error(what, "write --num-warmups 1, or 0 for none")
    if flags.pressure_time is not None and not flags.pressure:
        raise usage_error(
            "--pressure-time sets the duration of --pressure, which is not set", "add --pressure"
        )
    if flags.pressure_time is not None and not 1 <= flags.pressure_time <= _LONGEST_PRESSURE_S:
        what = f"--pressure-time is {flags.pressure_time}, expected seconds from 1 to "
        raise usage_error(f"{what}{_LONGEST_PRESSURE_S}", "write --pressure-time 15")


def _explain_ignored_flags(flags: argparse.Namespace) -> Iterator[str]:
    """Yield a note for each flag that has no effect in this mode."""
    of_mode = _IGNORED_IN_PERF_MODES if flags.mode in _PERF_MODES else _IGNORED_IN_ANSWER_MODES
    for name, instead in of_mode.items():
        if getattr(flags, name):
            yield f"--{name.replace('_', '-')}: {instead}"
    if flags.mode in ("judge", "infer_judge"):
        yield f"mode {flags.mode}: the judge is queried during scoring, so this mode also computes scores"
