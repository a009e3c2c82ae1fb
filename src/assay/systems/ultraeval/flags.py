"""The flags of UltraEval's command line."""

from __future__ import annotations

from assay.systems.flag_table import Flag, FlagTable

GENERAL = "general"
"""The original's name for any model behind one of its servers."""

FLAGS = FlagTable(
    "ultraeval",
    "--model MODEL (--datasets NAME,... | --config_path FILE) [--model_args X=Y,...] [FLAGS]",
    (
        Flag(
            "--model MODEL", f"{GENERAL} for a server of the original, or an Assay model.", is_required=True
        ),
        Flag("--model_args K=V,K=V", "url=URL,concurrency=N; or arguments of the model.", default=""),
        Flag("--datasets NAME,NAME", "Folders of ./datasets to evaluate, or all."),
        Flag("--tasks TASK,TASK", "Tasks to evaluate of a single dataset.", default=""),
        Flag("--method {gen,ppl}", "Which configs of --datasets to use. [gen]", type=str.lower),
        Flag("--config_path FILE", "Task config to evaluate, or a list of them."),
        Flag("--output_base_path DIR", "Folder for the original's files. [logs]", default="logs"),
        Flag("--batch_size N", "Batch size of a local model or a server of the original.", type=int),
        Flag("--num_fewshot N", "Number of solved examples, instead of the configs' numbers.", "shots", int),
        Flag(
            "--postprocess NAME",
            "Post-processor of configs without one.",
            "dataset_args.postprocess",
            neutral="",
        ),
        Flag(
            "--params NAME", "Sampling parameters of configs without them.", "dataset_args.params", neutral=""
        ),
        Flag("--limit N", "Use the first N rows of each task.", "limit", int, convert="first:{}".format),
        Flag("--write_out", "Also write each row with its prompt."),
    ),
    own=(
        Flag("--dataset_dir DIR", "Folder of datasets, or a checkout of the original. [.]"),
        Flag("--seed N", "Seed of all random draws. [0]", "seed", int),
    ),
    ignored=(Flag("--save FILE", "no list of configs is written; the datasets are evaluated directly"),),
)
