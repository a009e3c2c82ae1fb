"""assay as opencompass: the original's command line for custom datasets, as it was."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

import click

from assay.core.errors import Problem, UsageError


@click.group()
def other_systems() -> None:
    """Use the command line of another system."""


@other_systems.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def opencompass(arguments: tuple[str, ...]) -> int:
    """Evaluate custom datasets with OpenCompass's own flags."""
    from assay.app.run import run as evaluate
    from assay.faces.cli.options import settings_from
    from assay.faces.cli.progress import TerminalObserver
    from assay.faces.cli.render import show_result
    from assay.faces.cli.run import FAILED_SAMPLES

    parser = _parser()
    if "-h" in arguments or "--help" in arguments:
        click.echo(parser.format_help())
        return 0
    given = parser.parse_args(list(arguments))
    datasets = _datasets(given)
    failed = False
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
        with TerminalObserver() as observer:
            finished = evaluate(datasets, settings_from(flags), observer)
        show_result(finished)
        failed = failed or finished.tally.n_failed > 0
    return FAILED_SAMPLES if failed else 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(Problem("USAGE-006", message, "`assay as opencompass --help` lists the flags"))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="assay as opencompass", add_help=False)
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
