"""assay as opencompass: the original's command line for custom datasets, as it was."""

from __future__ import annotations

import argparse
from typing import Any

from assay.core.errors import Problem, UsageError
from assay.faces.cli.options import settings_from
from assay.faces.cli.other_systems import ForeignParser, foreign_command, parse
from assay.faces.cli.run import evaluate


@foreign_command
def opencompass(arguments: tuple[str, ...]) -> int:
    """Evaluate custom datasets with OpenCompass's own flags."""
    given = parse(_parser(), arguments)
    if given is None:
        return 0
    datasets = _datasets(given)
    statuses = []
    for model, model_args in _models(given):
        flags: dict[str, Any] = {
            "model": model,
            "model_args": model_args,
            "method": (given.custom_dataset_infer_method,) if given.custom_dataset_infer_method else (),
            "data_type": given.custom_dataset_data_type,
            "meta": given.custom_dataset_meta_path,
            "max_tokens": given.max_out_len,
            "stop": tuple(given.stop_words.split(",")) if given.stop_words else (),
            "chat": {"base": "off", "chat": "on", None: None}[given.hf_type],
            "runs_dir": given.work_dir,
            "fidelity": given.fidelity,
        }
        statuses.append(evaluate(datasets, settings_from(flags)))
    return max(statuses)


def _parser() -> ForeignParser:
    parser = ForeignParser("opencompass", "[CONFIG] --models MODEL... --custom-dataset-path FILE [FLAGS]")
    parser.add_argument("config", nargs="?", help="Python config with a datasets list")
    parser.add_argument("--models", nargs="+", help="models as Assay names them: smollm2, hf:FOLDER, mock")
    parser.add_argument("--hf-path", help="folder or hub name of a model")
    parser.add_argument("--hf-type", choices=["base", "chat"])
    parser.add_argument("--custom-dataset-path")
    parser.add_argument("--custom-dataset-meta-path")
    parser.add_argument("--custom-dataset-data-type", choices=["mcq", "qa"])
    parser.add_argument("--custom-dataset-infer-method", choices=["gen", "ppl"])
    parser.add_argument("--max-out-len", type=int)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--stop-words")
    parser.add_argument("-w", "--work-dir", default=None)
    parser.add_argument("--fidelity", choices=["corrected", "faithful"], help="Assay's own: reproduce quirks")
    return parser


def _datasets(given: argparse.Namespace) -> tuple[str, ...]:
    if given.config and given.custom_dataset_path:
        raise UsageError(
            Problem(
                "USAGE-006",
                "both a config and --custom-dataset-path were given; the original would ignore the second",
                "give one of them",
            )
        )
    if not given.config and not given.custom_dataset_path:
        raise UsageError(
            Problem("USAGE-006", "no dataset was named", "--custom-dataset-path data.csv, or a config file")
        )
    return (given.config or given.custom_dataset_path,)


def _models(given: argparse.Namespace) -> list[tuple[str, tuple[str, ...]]]:
    args = () if given.batch_size is None else (f"max_batch={given.batch_size}",)
    if given.hf_path:
        return [(f"hf:{given.hf_path}", args)]
    if not given.models:
        raise UsageError(Problem("USAGE-006", "no model was named", "--models smollm2, or --hf-path FOLDER"))
    return [(model, args) for model in given.models]
