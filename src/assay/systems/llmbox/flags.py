"""The flags of LLMBox's command line, and the messages about those without effect or support.

A flag that changes no number is accepted, with a note on what happens instead. A flag that would change the
numbers but is not supported is rejected: the result would not be what the command asks for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from assay.core.errors import Problem, UsageError
from assay.systems.command_line import ForeignParser

RANKING_TYPES = ("generation", "ppl", "prob", "ppl_no_option")

_OWN_CHOICE = "only the files of the used splits are downloaded from the hub"
_OWN_TOKEN = "set the hub's token in the environment: HF_TOKEN"
_NO_API = "models behind an API are not supported; name a judge with --judge"
_ONE_ENGINE = "the local model runs with transformers, with the same numbers up to rounding"
_OWN_PLAN = "the engine plans its work itself"
_OWN_LOG = "the run folder contains everything: manifest, answers, scores, report.md"

IGNORED_FLAGS = {
    "device_map": "the model runs on the first GPU, or on the CPU",
    "prefix_caching": "shared prefixes are always computed once",
    "vllm": _ONE_ENGINE,
    "vllm_gpu_memory_utilization": _ONE_ENGINE,
    "flash_attention": "the attention implementation depends on the model and the machine",
    "openai_api_key": _NO_API,
    "anthropic_api_key": _NO_API,
    "dashscope_api_key": _NO_API,
    "qianfan_access_key": _NO_API,
    "qianfan_secret_key": _NO_API,
    "perspective_api_key": "set the key in the environment: PERSPECTIVE_API_KEY",
    "max_length": "the model's own context is used, as the original does with local models",
    "cuda_visible_devices": "set CUDA_VISIBLE_DEVICES in the environment",
    "shuffle_choices": "it has no effect in the original either",
    "hf_mirror": "set the hub's address in the environment: HF_ENDPOINT",
    "hfd_cache_path": "set the hub's cache in the environment: HF_HOME",
    "hfd_exclude_pattern": _OWN_CHOICE,
    "hfd_include_pattern": _OWN_CHOICE,
    "hfd_skip_check": _OWN_CHOICE,
    "hf_username": _OWN_TOKEN,
    "hf_token": _OWN_TOKEN,
    "logging_dir": _OWN_LOG,
    "log_level": _OWN_LOG,
    "log_results": _OWN_LOG,
    "proxy_port": "no proxy is used",
    "dataset_threading": _OWN_PLAN,
    "dataloader_workers": _OWN_PLAN,
    "gpteval_continue_from": "the same command resumes where it stopped, including the judge's replies",
    "inference_only": "the answers are stored, and also scored",
}
"""Flags that change no number, and what happens instead."""

_NOT_SENT = "not supported: it is not sent to the model, so the answers would not be as requested"
_NO_QUANTISATION = (
    "not supported: weights are not quantised while loading, and other weights give other numbers"
)

REJECTED_FLAGS = {
    "load_in_8bit": _NO_QUANTISATION,
    "load_in_4bit": _NO_QUANTISATION,
    "gptq": _NO_QUANTISATION,
    "bnb_config": _NO_QUANTISATION,
    "top_k": _NOT_SENT,
    "frequency_penalty": _NOT_SENT,
    "repetition_penalty": _NOT_SENT,
    "presence_penalty": _NOT_SENT,
    "no_repeat_ngram_size": _NOT_SENT,
    "length_penalty": _NOT_SENT,
    "early_stopping": _NOT_SENT,
    "best_of": _NOT_SENT,
    "tokenizer_name_or_path": "not supported: another tokenizer than the model's own gives other numbers",
    "api_endpoint": "models behind an API are not supported",
}
"""Unsupported flags that would change the numbers."""

_NEUTRAL_VALUES = {
    "best_of": "1",
    "repetition_penalty": "1.0",
    "length_penalty": "1.0",
    "frequency_penalty": "0",
    "presence_penalty": "0",
    "no_repeat_ngram_size": "0",
}
"""Values with which these flags have no effect."""

_ALIASES = {
    "flash_attention": ["--flash_attn"],
    "tokenizer_name_or_path": ["--tokenizer"],
    "best_of": ["--num_beams"],
    "vllm_gpu_memory_utilization": ["--vllm_mem"],
    "cuda_visible_devices": ["--cuda"],
}


class _Flag(NamedTuple):
    names: tuple[str, ...]
    help: str
    type: type = str
    choices: tuple[str, ...] | None = None


_FLAGS = (
    _Flag(("--model_type",), "whether the model's chat template is used", choices=("base", "chat")),
    _Flag(
        ("--model_backend",),
        "huggingface; vllm runs with the same backend",
        choices=("huggingface", "vllm", "openai", "anthropic", "dashscope", "qianfan"),
    ),
    _Flag(("--torch_dtype",), "type of the weights", choices=("float16", "bfloat16", "float32", "auto")),
    _Flag(("--batch_size", "-bsz", "-b"), "N or N:auto: maximum batch size; batches always fit the memory"),
    _Flag(("--dataset_path",), "folder, file or pattern of the rows"),
    _Flag(("--evaluation_set",), "split to evaluate, for example test[:100]"),
    _Flag(("--example_set",), "split for examples"),
    _Flag(("--instruction",), "prompt instead of the class's own"),
    _Flag(("--num_shots", "-shots", "--max_num_shots"), "solved examples before each question", int),
    _Flag(("--max_example_tokens",), "maximum tokens of all examples", int),
    _Flag(("--ranking_type",), "how options are compared", choices=RANKING_TYPES),
    _Flag(("--sample_num", "--majority", "--consistency"), "answers per question", int),
    _Flag(("--pass_at_k",), "k of pass@k", int),
    _Flag(("--cot",), "kind of chain of thought, by the dataset's own name"),
    _Flag(("--max_evaluation_instances", "-i"), "N: the first N rows, -N: the last N", int),
    _Flag(("--max_tokens", "--max_new_tokens"), "maximum output tokens", int),
    _Flag(("--temperature",), "0 is greedy", float),
    _Flag(("--top_p",), "nucleus sampling", float),
    _Flag(("--system_prompt", "-sys"), "system message of conversations"),
    _Flag(
        ("--chat_template",),
        "file of a Jinja template, tokenizer for the model's own, or base for plain text",
    ),
    _Flag(("--seed",), "seed of all random draws [2023]", int),
    _Flag(("--evaluation_results_dir",), "folder for runs"),
    _Flag(("--continue_from",), "run folder to resume"),
)


def build_parser() -> ForeignParser:
    """Return the parser of the flags."""
    parser = ForeignParser("llmbox", "-m MODEL -d DATASET... [FLAGS]")
    parser.add_argument(
        "--model_name_or_path", "--model", "-m", required=True, help="folder or hub name, or an Assay model"
    )
    parser.add_argument(
        *("--dataset_names", "-d", "--dataset"),
        nargs="+",
        required=True,
        help="NAME, NAME:subset,subset, NAME:[category], globs and !exclusions; NAME is a file name",
    )
    for flag in _FLAGS:
        parser.add_argument(*flag.names, type=flag.type, choices=flag.choices, help=flag.help)
    parser.add_argument("--stop", nargs="+", help="texts that end an answer")
    for strategy, aim in (
        ("kate", "nearest examples"),
        ("globale", "best order"),
        ("ape", "best instruction"),
    ):
        _add_switch(parser, f"--{strategy}", f"-{strategy}", help=f"{aim}, as in its paper")
    _add_switch(parser, "--dry_run", help="check everything, evaluate nothing")
    own = parser.add_own_group()
    own.add_argument("--dataset_dir", help="folder of dataset classes, or a checkout of the original")
    own.add_argument("--data_root", "--data-root", help="folder of data by hub name")
    own.add_argument("--judge", help="model that grades answers")
    own.add_argument("--fidelity", choices=["corrected", "faithful"], help="reproduce the original exactly")
    quiet = parser.add_argument_group("accepted without effect; a note says what happens instead")
    rejected = parser.add_argument_group("rejected, because ignoring them would change the numbers")
    for group, names in ((quiet, IGNORED_FLAGS), (rejected, REJECTED_FLAGS)):
        for name in names:
            group.add_argument(f"--{name}", *_ALIASES.get(name, []), nargs="?", const="True", metavar="X")
    return parser


def _add_switch(parser: argparse.ArgumentParser, *names: str, help: str) -> None:
    parser.add_argument(
        *names, nargs="?", const=True, default=False, type=_parse_bool, help=help, metavar="X"
    )


def _parse_bool(text: str) -> bool:
    """Parse True and False as the original does."""
    if text.casefold() in ("true", "1", "yes", "t", "y"):
        return True
    if text.casefold() in ("false", "0", "no", "f", "n"):
        return False
    raise argparse.ArgumentTypeError(f"found {text!r}, expected True or False")


def explain_ignored_flags(given: argparse.Namespace) -> Iterator[str]:
    """Yield a note for each given flag without effect; never its value, which may be a key."""
    for name, instead in IGNORED_FLAGS.items():
        if _is_set(name, getattr(given, name)):
            yield f"--{name}: {instead}"


def reject_flags(given: argparse.Namespace) -> None:
    """Raise if a flag is not supported and would change the numbers."""
    problems = [
        Problem("USAGE-006", f"--{name}: {why}", "remove the flag")
        for name, why in REJECTED_FLAGS.items()
        if _is_set(name, getattr(given, name))
        and not (name == "tokenizer_name_or_path" and getattr(given, name) == given.model_name_or_path)
    ]
    if problems:
        raise UsageError(problems)


def _is_set(name: str, value: str | None) -> bool:
    if value is None or value.casefold() == "false":
        return False
    neutral = _NEUTRAL_VALUES.get(name)
    try:
        return neutral is None or float(value) != float(neutral)
    except ValueError:
        return True
