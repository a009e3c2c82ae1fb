"""The flags of AISBench's command line, including those that the original ignores."""

from __future__ import annotations

from assay.systems.flag_table import Flag, FlagTable
from assay.systems.opencompass.flags import (
    BATCH_FLAG,
    CONFIG_FLAGS,
    CONFIG_OWN_FLAGS,
    DEBUG_FLAG,
    LENGTH_FLAG,
    ROWS_FLAG,
    WORKER_FLAGS,
)

PRESSURE_S = 15

FLAGS = FlagTable(
    "aisbench",
    "[CONFIG] --models NAME... --datasets NAME... [--mode MODE] [FLAGS]",
    (
        *CONFIG_FLAGS,
        Flag(
            "-m, --mode {all,infer,infer_judge,judge,eval,viz,perf,perf_viz}",
            "Stages to run, or perf to measure a server. [all]",
            default="all",
        ),
        Flag("-s, --search", "Print the paths of configs."),
        ROWS_FLAG,
        Flag("--dump-eval-details", "Write each row with its score."),
        Flag("--merge-ds", "Has no effect: requests of several datasets are always sent together."),
    ),
    {
        "Mode perf: how fast a server is": (
            Flag("--num-warmups N", "Warm-up requests, not measured. [1]", type=int),
            Flag("--pressure", "Load the server for a fixed time."),
            Flag("--pressure-time S", f"Duration of --pressure in seconds. [{PRESSURE_S}]", type=int),
            Flag("--spec-decode", "Read the server's speculative decoding counters."),
        )
    },
    own=(
        *CONFIG_OWN_FLAGS,
        LENGTH_FLAG,
        BATCH_FLAG,
        Flag("--request-rate R", "Requests per second, in mode perf.", type=float),
    ),
    ignored=(*WORKER_FLAGS, DEBUG_FLAG),
    rejected=(
        Flag(
            "--response-anomaly",
            "it needs another program to find garbled answers",
            fix="remove it; `assay explain` shows answers",
        ),
    ),
)
