"""The flags of OpenCompass's command line, and those that AISBench shares with it."""

from __future__ import annotations

from assay.systems.flag_table import Flag, FlagTable, parse_bool, usage_error
from assay.systems.opencompass.work_folder import LATEST

_ONE_PROCESS = "one process sends requests; set ASSAY_WORKERS in the environment for more"
_NO_JOBS = "start jobs yourself; the same command resumes from the stored answers"
_OWN_TOKENIZER = "the model's own tokenizer is used"


def _format_limit(n: int) -> str:
    if n < 1:
        what = f"--num-prompts is {n}, expected at least 1"
        raise usage_error(what, "write --num-prompts 10")
    return f"first:{n}"


CONFIG_FLAGS = (
    Flag("[CONFIG]", "Config with models, datasets and a summarizer."),
    Flag("--models NAME...", "Models: config names, or Assay models such as smollm2."),
    Flag("--datasets NAME...", "Datasets: config names (NAME, NAME/SUFFIX) or files."),
    Flag("--summarizer NAME", "Summarizer: a config name (NAME, NAME/VARIABLE) or a file."),
    Flag(
        "-r, --reuse [TIME]",
        "Resume an earlier run. [the latest]",
        "reuse",
        const=LATEST,
        convert=lambda _: True,
    ),
    Flag("-w, --work-dir DIR", "Folder of the results. [outputs/default]", default="outputs/default"),
    Flag("--config-dir DIR", "Folder of your own configs. [configs]", default="configs"),
    Flag("--dry-run", "Show the plan without sending requests."),
    Flag("--custom-dataset-path FILE", "Table to evaluate, instead of configs: csv or jsonl."),
    Flag("--custom-dataset-meta-path FILE", "JSON file about the table. [next to it]", "meta"),
    Flag(
        "--custom-dataset-data-type {mcq,qa}", "Multiple choice or free answer. [inferred]", "table.data_type"
    ),
    Flag(
        "--custom-dataset-infer-method {gen,ppl}",
        "Generate answers, or compare option likelihoods.",
        "method",
        convert=lambda method: (method,),
    ),
    Flag("--dump-extract-rate", "Write the rate of answers found."),
)
"""The flags of both systems."""

CONFIG_OWN_FLAGS = (
    Flag("--openicl-root DIR", "Checkout of the original: its configs and classes are used."),
    Flag("--data-root DIR", "Folder of datasets by name.", "data_root"),
    Flag("--url URL", "Address of the named models."),
    Flag("--model-name NAME", "Name of the model on the server."),
    Flag("--host-ip HOST", "Host of the server, instead of --url."),
    Flag("--host-port PORT", "Port of the server, instead of --url.", type=int),
    Flag("--path MODEL", "Folder or hub name of the weights."),
    Flag("--judge MODEL", "Model that grades answers.", "judge"),
    Flag("--seed N", "Seed of all random draws. [0]", "seed", int),
    Flag("--offline", "Connect only to the named servers.", "offline"),
    Flag("--no-cache", "Do not use the answer cache.", "cache", convert=lambda _: False),
)
"""Assay's own flags for both systems."""

ROWS_FLAG = Flag(
    "--num-prompts N", "Use the first N rows of each dataset.", "limit", int, convert=_format_limit
)
LENGTH_FLAG = Flag("--max-out-len N", "Maximum output tokens, for all datasets.", "max_tokens", int)
BATCH_FLAG = Flag("--batch-size N", "Maximum concurrent requests, or batch size of a local model.", type=int)
WORKER_FLAGS = (
    Flag("--max-num-workers N", _ONE_PROCESS, type=int),
    Flag("--max-workers-per-gpu N", _ONE_PROCESS, type=int),
)
DEBUG_FLAG = Flag("--debug", "there is only one process, and its output is always shown")

FLAGS = FlagTable(
    "opencompass",
    "[CONFIG] --models NAME... (--datasets NAME... | --custom-dataset-path FILE) [--mode MODE] [FLAGS]",
    (
        *CONFIG_FLAGS,
        Flag("-m, --mode {all,infer,eval,viz}", "Stages to run. [all]", default="all"),
        Flag(
            "--dump-eval-details [BOOL]",
            "Write each row with its score. [true]",
            type=parse_bool,
            default=True,
        ),
        LENGTH_FLAG,
        BATCH_FLAG,
        Flag("--dataset-num-runs N", "Number of answers per row.", "samples", int),
        Flag(
            "--stop-words A,B",
            "Texts that end an answer.",
            "stop",
            neutral="",
            convert=lambda words: tuple(words.split(",")),
        ),
    ),
    {
        "A transformers model": (
            Flag("--hf-path MODEL", "Folder or hub name of a model, instead of --models."),
            Flag("--hf-type {base,chat}", "Whether to use the model's chat template. [chat]"),
            Flag("--model-kwargs K=V...", "Arguments to load the model of --hf-path."),
            Flag("--generation-kwargs K=V...", "Sampling arguments of the model of --hf-path."),
            Flag("--max-seq-len N", "Maximum context length of the model of --hf-path.", type=int),
        )
    },
    own=(*CONFIG_OWN_FLAGS, ROWS_FLAG),
    ignored=(
        DEBUG_FLAG,
        *WORKER_FLAGS,
        Flag("--retry N", "the model's backend decides how failed requests are retried", type=int),
        Flag("--hf-num-gpus N", "set CUDA_VISIBLE_DEVICES in the environment", type=int),
        Flag("--config-verbose", "--dry-run shows the configs"),
        Flag("--dump-res-length", "the run folder contains the length of every text"),
        Flag("--tokenizer-path X", _OWN_TOKENIZER),
        Flag("--tokenizer-kwargs K=V...", _OWN_TOKENIZER),
        Flag("--min-out-len N", "the original parses the flag but never uses it", type=int),
        Flag("--pad-token-id N", "the model never sees padding", type=int),
        Flag("--analysis-repeat", "this analysis is not available"),
    ),
    rejected=(
        Flag("--slurm", _NO_JOBS),
        Flag("--dlc", _NO_JOBS),
        Flag("-l, --lark", "Assay reports nothing to a service"),
        Flag("-sp, --station-path DIR", "runs are stored in the work folder; there is no station"),
        Flag("--read-from-station", "runs are stored in the work folder: use --reuse"),
        Flag("--peft-path X", "merge the adapter into the weights"),
        Flag(
            "-a, --accelerator X",
            "vLLM and LMDeploy are used as servers: --models vllm_api_general_chat --url URL",
        ),
        Flag("--dump-only-message-path DIR", "use --dry-run, which shows prompts, or `assay check`"),
    ),
)
