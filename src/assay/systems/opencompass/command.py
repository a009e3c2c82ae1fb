"""`assay as opencompass`: the original's command line, for configs and custom datasets."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.errors import Problem, UsageError
from assay.systems.command_line import ForeignParser, foreign_command, parse_flags

if TYPE_CHECKING:
    from assay.systems.opencompass.config_runs import Stage

_STAGES: Mapping[str, Stage] = {"all": "all", "infer": "infer", "eval": "score", "viz": "viz"}
_CLASSES = {"base": "HuggingFaceBaseModel", "chat": "HuggingFacewithChatTemplate"}
_IGNORED_FLAGS = {
    "debug": "there is only one process, and its output is always shown",
    "max_num_workers": "one process sends requests; set ASSAY_WORKERS in the environment for more",
    "max_workers_per_gpu": "one process sends requests; set ASSAY_WORKERS in the environment for more",
    "retry": "the model's backend decides how failed requests are retried",
    "hf_num_gpus": "set CUDA_VISIBLE_DEVICES in the environment",
    "config_verbose": "--dry-run shows the configs",
    "dump_res_length": "the run folder contains the length of every text",
    "tokenizer_path": "the model's own tokenizer is used",
    "tokenizer_kwargs": "the model's own tokenizer is used",
    "min_out_len": "the original parses the flag but never uses it",
    "pad_token_id": "the model never sees padding",
    "analysis_repeat": "this analysis is not available",
}
"""Flags that change no number, and what happens instead."""
_UNSUPPORTED_FLAGS = {
    "slurm": "start jobs yourself; the same command resumes from the stored answers",
    "dlc": "start jobs yourself; the same command resumes from the stored answers",
    "lark": "Assay reports nothing to a service",
    "station_path": "runs are stored in the work folder; there is no station",
    "read_from_station": "runs are stored in the work folder: use --reuse",
    "peft_path": "adapters are not supported; merge the adapter into the weights",
    "accelerator": "vLLM and LMDeploy are used as servers: --models vllm_api_general_chat --url URL",
    "dump_only_message_path": "use --dry-run, which shows prompts, or `assay check`",
}
"""Unsupported flags: ignoring them would do something else."""


@foreign_command
def opencompass(arguments: tuple[str, ...]) -> int:
    """Evaluate configs and tables with OpenCompass's own flags."""
    given = parse_flags(_parser(), arguments)
    if given is None:
        return 0
    _reject_flags(given)
    from assay.systems.opencompass.config_runs import (
        ConfigCommand,
        read_shared_names,
        read_shared_settings,
        run_configs,
    )
    from assay.systems.opencompass.result_files import DetailOptions

    settings = read_shared_settings(given)
    if given.stop_words:
        settings["stop"] = tuple(given.stop_words.split(","))
    if given.dataset_num_runs is not None:
        settings["samples"] = given.dataset_num_runs
    if given.hf_type and not given.hf_path:
        settings["chat"] = "on" if given.hf_type == "chat" else "off"
    return run_configs(
        ConfigCommand(
            "opencompass",
            read_shared_names(given, _hf_models(given)),
            _STAGES[given.mode],
            given.reuse,
            Path(given.work_dir),
            Path(given.config_dir),
            None if given.openicl_root is None else Path(given.openicl_root),
            DetailOptions(given.dump_eval_details, given.dump_extract_rate),
            settings,
            is_dry=given.dry_run,
            ignored_flags=tuple(_explain_ignored_flags(given)),
        )
    )


def _parser() -> ForeignParser:
    from assay.systems.opencompass.config_runs import add_shared_flags

    parser = ForeignParser(
        "opencompass",
        "[CONFIG] --models NAME... (--datasets NAME... | --custom-dataset-path FILE) [--mode MODE] [FLAGS]",
    )
    add_shared_flags(parser)
    parser.add_argument("-m", "--mode", default="all", choices=tuple(_STAGES), help="[all]")
    parser.add_argument(
        "--dump-eval-details",
        nargs="?",
        type=_parse_bool,
        const=True,
        default=True,
        metavar="BOOL",
        help="write each row with its score [true]",
    )
    parser.add_argument("--dump-extract-rate", action="store_true", help="write the rate of answers found")
    parser.add_argument("--dataset-num-runs", type=int, metavar="N", help="generate N answers per row")
    parser.add_argument("--stop-words", metavar="A,B")
    hf = parser.add_argument_group("a transformers model")
    hf.add_argument("--hf-path", help="folder or hub name of a model")
    hf.add_argument("--hf-type", choices=["base", "chat"], help="[chat]")
    hf.add_argument("--model-kwargs", nargs="+", metavar="K=V")
    hf.add_argument("--generation-kwargs", nargs="+", metavar="K=V")
    hf.add_argument("--max-seq-len", type=int, metavar="N")
    hf.add_argument("--max-out-len", type=int, metavar="N", help="maximum output tokens, for all datasets")
    hf.add_argument("--batch-size", type=int, metavar="N")
    own = parser.add_argument_group("from AISBench")
    own.add_argument("--num-prompts", type=int, metavar="N", help="use the first N rows of each dataset")
    quiet = parser.add_argument_group("accepted without effect; a note says what happens instead")
    for flag in ("debug", "config-verbose", "dump-res-length", "analysis-repeat"):
        quiet.add_argument(f"--{flag}", action="store_true")
    for flag in (
        "max-num-workers",
        "max-workers-per-gpu",
        "retry",
        "hf-num-gpus",
        "min-out-len",
        "pad-token-id",
    ):
        quiet.add_argument(f"--{flag}", type=int, metavar="N")
    quiet.add_argument("--tokenizer-path", metavar="X")
    quiet.add_argument("--tokenizer-kwargs", nargs="+", metavar="K=V")
    rejected = parser.add_argument_group("rejected, because ignoring them would do something else")
    for flag in ("slurm", "dlc", "read-from-station"):
        rejected.add_argument(f"--{flag}", action="store_true")
    rejected.add_argument("-l", "--lark", action="store_true")
    rejected.add_argument("-a", "--accelerator", metavar="X")
    rejected.add_argument("-sp", "--station-path", metavar="DIR")
    rejected.add_argument("--dump-only-message-path", metavar="DIR")
    rejected.add_argument("--peft-path", metavar="X")
    return parser


def _hf_models(given: argparse.Namespace) -> Sequence[dict[str, Any]]:
    """Return the model that the --hf flags describe, as a config entry."""
    if not given.hf_path:
        for name in ("model_kwargs", "generation_kwargs", "max_seq_len"):
            if getattr(given, name) is not None:
                what = f"--{name.replace('_', '-')} describes the model of --hf-path, which is not set"
                raise UsageError(Problem("USAGE-006", what, "add --hf-path, or set it in the model's config"))
        return ()
    if given.models:
        what = "--models and --hf-path are both set; the original would ignore the second"
        raise UsageError(Problem("USAGE-006", what, "remove one of them"))
    entry = {
        "type": _CLASSES[given.hf_type or "chat"],
        "abbr": given.hf_path.rstrip("/").rpartition("/")[2] + "_hf",
        "path": given.hf_path,
        "model_kwargs": _pairs(given.model_kwargs, "--model-kwargs"),
        "generation_kwargs": _pairs(given.generation_kwargs, "--generation-kwargs"),
        "max_seq_len": given.max_seq_len,
    }
    return ({name: value for name, value in entry.items() if value not in (None, {})},)


def _pairs(pairs: Sequence[str] | None, flag: str) -> dict[str, Any]:
    """Parse `key=value` pairs; values are Python or JSON literals, else texts."""
    read: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(
                Problem("USAGE-006", f"{flag}: found {pair!r}, expected key=value", f"write {flag} a=1")
            )
        known = {"True": True, "False": False, "None": None}
        try:
            read[key] = known[value] if value in known else json.loads(value)
        except json.JSONDecodeError:
            read[key] = value
    return read


def _parse_bool(text: str) -> bool:
    if text.lower() in ("true", "1", "yes", "y"):
        return True
    if text.lower() in ("false", "0", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"found {text!r}, expected true or false")


def _reject_flags(given: argparse.Namespace) -> None:
    for name, instead in _UNSUPPORTED_FLAGS.items():
        if getattr(given, name):
            what = f"--{name.replace('_', '-')}: {instead}"
            raise UsageError(Problem("USAGE-006", what, "remove the flag"))
    if given.num_prompts is not None and given.num_prompts < 1:
        what = f"--num-prompts is {given.num_prompts}, expected at least 1"
        raise UsageError(Problem("USAGE-006", what, "write --num-prompts 10"))


def _explain_ignored_flags(given: argparse.Namespace) -> Iterator[str]:
    """Yield a note for each given flag without effect."""
    for name, instead in _IGNORED_FLAGS.items():
        if getattr(given, name):
            yield f"--{name.replace('_', '-')}: {instead}"
