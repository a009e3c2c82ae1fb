"""The flags of LEAP's command line."""

from __future__ import annotations

from assay.systems.flag_table import Flag, FlagTable

_NOT_SENT = "it is not sent to the model, so the texts would not be as requested"
_ONE_ENGINE = "the local model runs with transformers on one device, with the same numbers up to rounding"
ORIGINAL_MAX_TOKENS = 16

FLAGS = FlagTable(
    "leap",
    "--model MODEL --task NAME,NAME [--task_dir DATA] [FLAGS]",
    (
        Flag("--model MODEL", "Folder in --model_dir, hub name, or Assay model.", is_required=True),
        Flag("--task NAME,NAME", "Tasks to evaluate; with wildcards: klue_*.", is_required=True),
        Flag("--task_dir DIR", "Folder of the data. [next to the tasks]", "data_root"),
        Flag("--model_dir DIR", "Folder of models. [/home]", default="/home"),
        Flag(
            "--num_fewshot N",
            "Number of solved examples; -1: as n_shot() returns. [-1]",
            "shots",
            int,
            default=-1,
            neutral=-1,
        ),
        Flag(
            "--max_new_tokens N",
            f"Maximum output tokens; --fidelity faithful ignores it. [{ORIGINAL_MAX_TOKENS}]",
            type=int,
            default=ORIGINAL_MAX_TOKENS,
        ),
        Flag("--max_model_len N", "Maximum context length of a local model.", type=int),
        Flag("--temperature T", "Sampling temperature; 0 is greedy. [0, faithful: 1]", "temperature", float),
        Flag("--top_p P", "Nucleus sampling. [1]", "top_p", float, default=1.0),
        Flag("--save_dir DIR", "Also write the original's files to this folder."),
        Flag("--task_id NAME", "Name of their subfolder. [the run's]"),
    ),
    own=(
        Flag("--dataset_dir DIR", "Folder of task files, or a checkout of the original. [.]"),
        Flag("--limit N", "Evaluate N documents of each task, or first:N.", "limit"),
        Flag("--seed N", "Seed of all random draws. [0]", "seed", int),
    ),
    ignored=(
        Flag("--device X", "set CUDA_VISIBLE_DEVICES in the environment"),
        Flag("--infer_backend {vllm,vllm_engine,transformers}", _ONE_ENGINE),
        Flag("--tensor_parallel_size N", _ONE_ENGINE, type=int),
        Flag("--gpu_memory_utilization X", "batches always fit the available memory", type=float),
        Flag("--write_out", "there is no leaderboard to write to; the run folder contains the results"),
    ),
    rejected=(Flag("--top_k K", _NOT_SENT, type=int, default=-1, neutral=0),),
)
