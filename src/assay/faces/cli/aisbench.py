"""assay as aisbench: the original's command line for accuracy; its flags that were never followed are."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import Problem, UsageError
from assay.faces.cli.other_systems import ForeignParser, foreign_command, parse

if TYPE_CHECKING:
    from assay.faces.cli.config_systems import Stage

_STAGES: Mapping[str, Stage] = {
    "all": "all",
    "infer": "infer",
    "infer_judge": "all",
    "judge": "score",
    "eval": "score",
    "viz": "viz",
}
"""What each mode is here; a judge is asked when answers are scored."""
_OF_SPEED = ("perf", "perf_viz")
_INSTEAD = {
    "num_warmups": "nothing is sent to the model beforehand",
    "merge_ds": "all datasets of a model are asked together anyway",
    "max_num_workers": "one process asks; a model's batch_size says how many requests are under way",
    "max_workers_per_gpu": "one process asks",
    "debug": "there is one process, and what it does is shown anyway",
}
"""Flags that change no number, and what happens instead."""
_PERFORMANCE = ("pressure", "pressure_time", "spec_decode", "response_anomaly")


@foreign_command
def aisbench(arguments: tuple[str, ...]) -> int:
    """Evaluate configs with AISBench's own flags."""
    given = parse(_parser(), arguments)
    if given is None:
        return 0
    _refuse(given)
    from assay.app.openicl_results import Details
    from assay.faces.cli.config_systems import Asked, run_configs, shared_names, shared_settings

    return run_configs(
        Asked(
            "aisbench",
            shared_names(given),
            _STAGES[given.mode],
            given.reuse,
            Path(given.work_dir),
            Path(given.config_dir),
            None if given.openicl_root is None else Path(given.openicl_root),
            Details(given.dump_eval_details, given.dump_extract_rate),
            shared_settings(given),
            is_dry=given.dry_run,
            is_search=given.search,
            told=tuple(_said_instead(given)),
        )
    )


def _parser() -> ForeignParser:
    from assay.faces.cli.config_systems import add_shared

    parser = ForeignParser("aisbench", "[CONFIG] --models NAME... --datasets NAME... [--mode MODE] [FLAGS]")
    add_shared(parser)
    parser.add_argument("-m", "--mode", default="all", choices=(*_STAGES, *_OF_SPEED), help="[all]")
    parser.add_argument("-s", "--search", action="store_true", help="print where configs lie")
    parser.add_argument("--num-prompts", type=int, metavar="N", help="the first N rows of each dataset")
    parser.add_argument("--dump-eval-details", action="store_true", help="write each row with its score")
    parser.add_argument("--dump-extract-rate", action="store_true", help="write how many answers were found")
    parser.add_argument(
        "--max-out-len", type=int, metavar="N", help="Assay's own: longest text, for all datasets"
    )
    parser.add_argument("--batch-size", type=int, metavar="N", help="Assay's own: requests under way")
    quiet = parser.add_argument_group("accepted, with a line that says what happens instead")
    quiet.add_argument("--num-warmups", type=int, metavar="N")
    quiet.add_argument("--merge-ds", action="store_true")
    quiet.add_argument("--max-num-workers", type=int, metavar="N")
    quiet.add_argument("--max-workers-per-gpu", type=int, metavar="N")
    quiet.add_argument("--debug", action="store_true")
    refused = parser.add_argument_group("refused: measuring speed comes with the serving benchmark")
    refused.add_argument("--pressure", action="store_true")
    refused.add_argument("--pressure-time", type=int, metavar="S")
    refused.add_argument("--spec-decode", action="store_true")
    refused.add_argument("--response-anomaly", action="store_true")
    return parser


def _refuse(given: argparse.Namespace) -> None:
    fix = "use mode all, infer, eval or viz; speed comes with the serving benchmark, `assay bench`"
    if given.mode in _OF_SPEED:
        what = f"mode {given.mode} measures how fast a server is, which is not there yet"
        raise UsageError(Problem("USAGE-006", what, fix))
    for name in _PERFORMANCE:
        if getattr(given, name):
            what = f"--{name.replace('_', '-')} is about how a server works, which is not measured yet"
            raise UsageError(Problem("USAGE-006", what, fix))
    if given.num_prompts is not None and given.num_prompts < 1:
        what = f"--num-prompts: found {given.num_prompts}, expected a number of rows above 0"
        raise UsageError(Problem("USAGE-006", what, "write --num-prompts 10"))


def _said_instead(given: argparse.Namespace) -> Iterator[str]:
    """Yield a line for each flag that was given and has no effect."""
    for name, instead in _INSTEAD.items():
        if getattr(given, name):
            yield f"--{name.replace('_', '-')}: {instead}"
    if given.mode == "judge":
        yield "mode judge: the judge is asked when answers are scored, so scores come with it"
    if given.mode == "infer_judge":
        yield "mode infer_judge: the judge is asked when answers are scored, so scores come with it"
