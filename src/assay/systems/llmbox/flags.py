"""The flags of LLMBox's command line.

In the original, a flag with a bool may be without its value, or be followed by False.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.results.store import read_manifest
from assay.systems.flag_table import Flag, FlagTable, parse_bool, usage_error

_OWN_CHOICE = "only the files of the used splits are downloaded from the hub"
_OWN_TOKEN = "set the hub's token in the environment: HF_TOKEN"
_NO_API = "models behind an API are not supported; name a judge with --judge"
_ONE_ENGINE = "the local model runs with transformers, with the same numbers up to rounding"
_OWN_PLAN = "the engine plans its work itself"
_OWN_LOG = "the run folder contains everything: manifest, answers, scores, report.md"
_NOT_SENT = "it is not sent to the model, so the answers would not be as requested"
_NO_QUANTISATION = "weights are not quantised while loading, and other weights give other numbers"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


def _unescape(text: str) -> str:
    r"""Replace `\n` and similar escapes, which a shell cannot write; other characters stay unchanged."""
    return re.sub(r"\\([ntr\\\"'])", lambda match: _ESCAPES[match[1]], text)


def _unescape_all(texts: list[str]) -> tuple[str, ...]:
    return tuple(map(_unescape, texts))


def _format_limit(n: int) -> str:
    return f"first:{n}" if n > 0 else f"last:{-n}"


def _require_run_folder(name: str) -> str:
    """Return the run to resume; a file of the original contains too little to resume from."""
    if Path(name).is_dir() and read_manifest(Path(name)) is not None:
        return name
    what = f"--continue_from: {name!r} is not a run folder"
    fix = "remove the flag: the same command resumes where it stopped; or name a folder under runs/"
    raise usage_error(what, fix)


def _class_argument(syntax: str, help: str, type: Callable[[str], Any] = str, **options: Any) -> Flag:
    """Return a flag that sets the dataset argument of the same name, which the class reads."""
    flag = Flag(syntax, help, type=type, **options)
    return flag._replace(setting=f"dataset_args.{flag.attribute}")


def _strategy(name: str, help: str) -> Flag:
    """Return the flag of a way to choose examples."""
    return _class_argument(
        f"--{name}, -{name} [BOOL]", help, parse_bool, default=False, convert=lambda _: "true"
    )


FLAGS = FlagTable(
    "llmbox",
    "-m MODEL -d DATASET... [FLAGS]",
    (
        Flag(
            "--model_name_or_path, --model, -m MODEL", "Folder, hub name, or Assay model.", is_required=True
        ),
        Flag("--model_type {base,chat}", "Whether to use the model's chat template. [auto]"),
        Flag(
            "--model_backend {huggingface,vllm,openai,anthropic,dashscope,qianfan}",
            "huggingface and vllm run with transformers; APIs are not supported.",
        ),
        Flag("--torch_dtype {float16,bfloat16,float32,auto}", "Data type of the weights."),
        Flag("--batch_size, -bsz, -b N", "Maximum batch size: N or N:auto; batches always fit the memory."),
        Flag(
            "--chat_template FILE",
            "File of a Jinja template, tokenizer for the model's own, or base for plain text.",
        ),
        Flag(
            "--tokenizer_name_or_path, --tokenizer MODEL",
            "Must be the model: another tokenizer gives other numbers.",
        ),
        Flag(
            "--dataset_names, -d, --dataset NAME...",
            "File names: NAME, NAME:subset,subset, NAME:[category], globs and !exclusions.",
            is_required=True,
        ),
        _class_argument("--ranking_type {generation,ppl,prob,ppl_no_option}", "How options are compared."),
        _class_argument("--instruction TEXT", "Prompt instead of the class's own.", convert=_unescape),
        _class_argument("--evaluation_set SPLIT", "Split to evaluate, for example test[:100]."),
        _class_argument("--example_set SPLIT", "Split of the solved examples."),
        _class_argument("--dataset_path PATH", "Folder, file or pattern of the rows."),
        _class_argument("--max_example_tokens N", "Maximum tokens of all examples.", int),
        _class_argument("--pass_at_k K", "k of pass@k.", int),
        _class_argument("--system_prompt, -sys TEXT", "System message of conversations.", convert=_unescape),
        Flag("--num_shots, -shots, --max_num_shots N", "Number of solved examples.", "shots", int),
        Flag("--cot NAME", "Kind of chain of thought, by the dataset's own name.", "cot"),
        _strategy("kate", "Choose the nearest examples, as in the paper."),
        _strategy("globale", "Choose the best order of examples, as in the paper."),
        _strategy("ape", "Choose the best instruction, as in the paper."),
        Flag(
            "--max_evaluation_instances, -i N",
            "N: the first N rows, -N: the last N. [all]",
            "limit",
            int,
            neutral=0,
            convert=_format_limit,
        ),
        Flag("--sample_num, --majority, --consistency N", "Number of answers per question.", "samples", int),
        Flag("--max_tokens, --max_new_tokens N", "Maximum output tokens.", "max_tokens", int),
        Flag("--temperature T", "Sampling temperature; 0 is greedy.", "temperature", float),
        Flag("--top_p P", "Nucleus sampling.", "top_p", float),
        Flag("--stop TEXT...", "Texts that end an answer.", "stop", convert=_unescape_all),
        Flag("--seed N", "Seed of all random draws. [2023]", "seed", int, default=2023),
        Flag("--evaluation_results_dir DIR", "Folder of the runs. [runs]", "runs_dir"),
        Flag("--continue_from RUN", "Run folder to resume.", "out", convert=_require_run_folder),
        Flag("--dry_run [BOOL]", "Check everything, evaluate nothing.", type=parse_bool, default=False),
    ),
    own=(
        Flag("--dataset_dir DIR", "Folder of dataset classes, or a checkout of the original."),
        Flag("--data_root, --data-root DIR", "Folder of data by hub name.", "data_root"),
        Flag("--judge MODEL", "Model that grades answers.", "judge"),
    ),
    ignored=(
        Flag("--device_map [X]", "the model runs on the first GPU, or on the CPU"),
        Flag("--prefix_caching [X]", "shared prefixes are always computed once"),
        Flag("--vllm [X]", _ONE_ENGINE),
        Flag("--vllm_gpu_memory_utilization, --vllm_mem [X]", _ONE_ENGINE),
        Flag(
            "--flash_attention, --flash_attn [X]", "the model and the machine decide which attention is used"
        ),
        Flag("--openai_api_key [X]", _NO_API),
        Flag("--anthropic_api_key [X]", _NO_API),
        Flag("--dashscope_api_key [X]", _NO_API),
        Flag("--qianfan_access_key [X]", _NO_API),
        Flag("--qianfan_secret_key [X]", _NO_API),
        Flag("--perspective_api_key [X]", "set the key in the environment: PERSPECTIVE_API_KEY"),
        Flag("--max_length [X]", "the model's own context is used, as the original does with local models"),
        Flag("--cuda_visible_devices, --cuda [X]", "set CUDA_VISIBLE_DEVICES in the environment"),
        Flag("--shuffle_choices [X]", "it has no effect in the original either"),
        Flag("--hf_mirror [X]", "set the hub's address in the environment: HF_ENDPOINT"),
        Flag("--hfd_cache_path [X]", "set the hub's cache in the environment: HF_HOME"),
        Flag("--hfd_exclude_pattern [X]", _OWN_CHOICE),
        Flag("--hfd_include_pattern [X]", _OWN_CHOICE),
        Flag("--hfd_skip_check [X]", _OWN_CHOICE),
        Flag("--hf_username [X]", _OWN_TOKEN),
        Flag("--hf_token [X]", _OWN_TOKEN),
        Flag("--logging_dir [X]", _OWN_LOG),
        Flag("--log_level [X]", _OWN_LOG),
        Flag("--log_results [X]", _OWN_LOG),
        Flag("--proxy_port [X]", "no proxy is used"),
        Flag("--dataset_threading [X]", _OWN_PLAN),
        Flag("--dataloader_workers [X]", _OWN_PLAN),
        Flag(
            "--gpteval_continue_from [X]",
            "the same command resumes where it stopped, including the judge's replies",
        ),
        Flag("--inference_only [X]", "the answers are stored, and also scored"),
    ),
    rejected=(
        Flag("--load_in_8bit [X]", _NO_QUANTISATION),
        Flag("--load_in_4bit [X]", _NO_QUANTISATION),
        Flag("--gptq [X]", _NO_QUANTISATION),
        Flag("--bnb_config [X]", _NO_QUANTISATION),
        Flag("--top_k [X]", _NOT_SENT),
        Flag("--frequency_penalty N", _NOT_SENT, type=float, neutral=0),
        Flag("--repetition_penalty N", _NOT_SENT, type=float, neutral=1),
        Flag("--presence_penalty N", _NOT_SENT, type=float, neutral=0),
        Flag("--no_repeat_ngram_size N", _NOT_SENT, type=float, neutral=0),
        Flag("--length_penalty N", _NOT_SENT, type=float, neutral=1),
        Flag("--early_stopping [X]", _NOT_SENT),
        Flag("--best_of, --num_beams N", _NOT_SENT, type=float, neutral=1),
        Flag("--api_endpoint [X]", "it names a model behind an API"),
    ),
    accepts_run_flags=True,
)
