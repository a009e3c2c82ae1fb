"""The flags of lm-eval's command line."""

from __future__ import annotations

import argparse

from assay.systems.flag_table import Flag, FlagTable

DEFAULT_SEEDS = (0, 1234, 1234, 1234)
"""The original's seeds of random, numpy, torch and the examples."""
BOOTSTRAP_ITERATIONS = 100_000
_OWN_CACHE = "answers are kept in the run and in Assay's cache, and reused without a flag"
_NO_TRACKER = "results are only written to files; upload them from there"


def parse_seeds(text: str) -> tuple[int | None, ...]:
    """Parse one seed for everything, or one each for random, numpy, torch and the examples."""
    try:
        seeds = tuple(None if one.strip().lower() == "none" else int(one) for one in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected integers or None") from None
    if len(seeds) == 1:
        return seeds * len(DEFAULT_SEEDS)
    if len(seeds) == len(DEFAULT_SEEDS) - 1:
        return (*seeds, DEFAULT_SEEDS[-1])
    if len(seeds) != len(DEFAULT_SEEDS):
        raise argparse.ArgumentTypeError(f"found {len(seeds)} seeds, expected 1 or {len(DEFAULT_SEEDS)}")
    return seeds


def parse_switch(text: str) -> bool:
    """Parse the value of --fewshot_as_multiturn as the original does."""
    return text.lower() in ("true", "1", "yes")


INCLUDE_PATH = Flag(
    "--include_path DIR...", "Additional folders of task files. Repeatable.", is_collected=True
)

FLAGS = FlagTable(
    "lm_eval",
    "[run] --tasks NAME,... --model MODEL [--model_args K=V,...] [FLAGS]",
    (
        Flag("--tasks, -t NAME...", "Tasks, groups, tags, patterns or YAML files, separated by commas."),
        Flag(
            "--model, -M MODEL",
            "hf, vllm, local-completions, local-chat-completions, openai-completions, "
            "openai-chat-completions, gguf, dummy, or an Assay model such as smollm2. [hf]",
            default="hf",
        ),
        Flag(
            "--model_args, -a K=V...",
            "Arguments of the model: pretrained=NAME,dtype=float32, or a JSON object. Repeatable.",
            is_collected=True,
        ),
        Flag("--num_fewshot, -f N", "Number of solved examples. [the task's]", "shots", int),
        Flag("--limit, -L N", "First N documents of each task; below 1: a fraction. [all]", type=float),
        Flag(
            "--samples, -E JSON",
            'Document numbers to evaluate, by task: {"my_task": [0, 3]}, or a file with this.',
        ),
        Flag("--apply_chat_template [NAME]", "Use the model's chat template. [off]"),
        Flag(
            "--fewshot_as_multiturn [BOOL]",
            "Write examples as turns of the conversation. [on with --apply_chat_template]",
            type=parse_switch,
        ),
        Flag("--system_instruction TEXT", "System message, or text before the prompt."),
        Flag(
            "--gen_kwargs K=V...",
            "Replace parts of generation_kwargs: temperature=0.7,do_sample=true.",
            is_collected=True,
        ),
        Flag("--batch_size, -b N", "Maximum batch size of a local model; auto: as large as fits. [auto]"),
        Flag("--max_batch_size N", "Maximum batch size of a local model.", type=int),
        Flag("--device DEVICE", "Device of a local model: cuda, cuda:0, cpu, mps. [a GPU if there is one]"),
        Flag("--output_path, -o PATH", "Folder, or JSON file, for the original's result files."),
        Flag("--log_samples, -s", "Also write each document with its prompts, replies and values."),
        Flag("--predict_only, -x", "Collect replies without scoring them; sets --log_samples."),
        Flag(
            "--bootstrap_iters N",
            f"Resamples for standard errors without a formula; 0: none. [{BOOTSTRAP_ITERATIONS}]",
            type=int,
            default=BOOTSTRAP_ITERATIONS,
        ),
        INCLUDE_PATH,
        Flag(
            "--seed N,N,N,N",
            "Seeds of random, numpy, torch and the examples, or one for all. Assay uses only the last. "
            "[0; --fidelity faithful: 1234]",
            type=parse_seeds,
        ),
        Flag("--metadata K=V...", "Values for the functions that load a task's data.", is_collected=True),
        Flag("--config, -C FILE", "YAML file with flags; flags on the command line override it."),
        Flag("--show_config", "Print the content of the results file."),
        Flag("--trust_remote_code", "Run code that comes with a local model."),
        Flag("--confirm_run_unsafe_code", "Allow tasks that run code written by the model."),
    ),
    ignored=(
        Flag("--use_cache, -c PATH", _OWN_CACHE),
        Flag("--cache_requests [MODE]", "prompts are rebuilt in every run, which takes little time"),
        Flag("--check_integrity", "every document of every task is checked before each run"),
        Flag("--write_out, -w", "the first prompt of each task is always shown"),
        Flag("--verbosity, -v LEVEL", "Assay has no log levels; --progress controls the output"),
        Flag("--wandb_args K=V...", _NO_TRACKER, is_collected=True),
        Flag("--wandb_config_args K=V...", _NO_TRACKER, is_collected=True),
        Flag("--trackio_args K=V...", _NO_TRACKER, is_collected=True),
        Flag("--hf_hub_log_args K=V...", _NO_TRACKER, is_collected=True),
    ),
    accepts_run_flags=True,
)

LIST_FLAGS = FlagTable(
    "lm_eval ls",
    "ls {tasks,groups,subtasks,tags} [--include_path DIR]",
    (Flag("[WHAT]", "tasks (everything), groups, subtasks (single tasks) or tags. [tasks]"), INCLUDE_PATH),
    has_own_flags=False,
)

VALIDATE_FLAGS = FlagTable(
    "lm_eval validate",
    "validate --tasks NAME,... [--include_path DIR]",
    (
        Flag("--tasks, -t NAME...", "Tasks, groups, tags, patterns or YAML files.", is_required=True),
        INCLUDE_PATH,
    ),
    has_own_flags=False,
)
