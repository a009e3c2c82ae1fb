"""`assay as llmbox`: the original's command line, unchanged."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.backends.registry import BACKENDS
from assay.core.errors import Problem, UsageError, suggest_name
from assay.dialects.llmbox.compile import DIALECT
from assay.dialects.llmbox.detect import is_class_file
from assay.faces.cli.options import build_settings
from assay.results.store import read_manifest
from assay.systems.command_line import foreign_command, join_flags, parse_with_run_flags
from assay.systems.llmbox.flags import build_parser, explain_ignored_flags, reject_flags

ORIGINAL_SEED = 2023
_DATASETS = Path("utilization/dataset")
"""The dataset folder in a checkout of the original."""
_LOCAL = ("hf", "smollm2")
_API_BACKENDS = ("openai", "anthropic", "dashscope", "qianfan")
_API_MODEL = re.compile(
    r"(gpt-[34]|o[134](-|$)|chatgpt|text-davinci|davinci|babbage|curie|claude|ernie|qwen-)"
)
"""Prefixes of models that are only available from a provider."""
_CLASS_ARGUMENTS = (
    "ranking_type",
    "instruction",
    "evaluation_set",
    "example_set",
    "dataset_path",
    "max_example_tokens",
    "pass_at_k",
    "system_prompt",
)
_WITHOUT_FILE = ("base", "tokenizer")
"""Values of `--chat_template` that name no file: plain text, and the model's own template."""
_STRATEGIES = ("kate", "globale", "ape")
_WMT = re.compile(r"wmt\d\d")
_TRANSLATION = "translation_dataset"
"""The original's class for all years of WMT."""


@foreign_command
def llmbox(arguments: tuple[str, ...]) -> int:
    """Evaluate dataset classes with LLMBox's own flags."""
    parsed = parse_with_run_flags(build_parser(), arguments)
    if parsed is None:
        return 0
    given, run_flags = parsed
    progress = run_flags.pop("progress", "auto")
    reject_flags(given)
    from rich.markup import escape

    from assay.faces.cli.check import show_dataset_check, show_dataset_checks
    from assay.faces.cli.render import err
    from assay.faces.cli.run import evaluate

    model = _model(given)
    datasets = tuple(name for named in given.dataset_names for name in _find_files(named, given.dataset_dir))
    settings = build_settings(join_flags(_flags(given, model), run_flags) | {"model": model})
    for line in (*explain_ignored_flags(given), *_explain_backend_flags(given, model)):
        err.print(f"[dim]{escape(line)}[/]", soft_wrap=True)
    if not given.dry_run:
        return evaluate(datasets, settings, progress)
    if len(datasets) == 1:
        return show_dataset_check(datasets, settings, with_model=True, n_prompts=2)
    return show_dataset_checks(datasets, (), settings, with_model=True)


def _flags(given: argparse.Namespace, model: str) -> dict[str, Any]:
    """Return the flags with the names of `assay run`."""
    return {
        "dialect": DIALECT,
        "model_args": tuple(_model_args(given, model)),
        "dataset_args": tuple(_dataset_args(given)),
        "chat": _chat(given),
        "shots": given.num_shots,
        "samples": given.sample_num,
        "cot": given.cot,
        "limit": _limit(given.max_evaluation_instances),
        "max_tokens": given.max_tokens,
        "temperature": given.temperature,
        "top_p": given.top_p,
        "stop": tuple(map(_unescape, given.stop or ())),
        "seed": ORIGINAL_SEED if given.seed is None else given.seed,
        "judge": given.judge,
        "fidelity": given.fidelity,
        "fresh": given.fresh,
        "data_root": given.data_root,
        "runs_dir": given.evaluation_results_dir,
        "out": _run_folder(given.continue_from),
    }


def _model(given: argparse.Namespace) -> str:
    """Return a model as Assay names it; any other name is a folder or a hub repository."""
    name: str = given.model_name_or_path
    if given.model_backend in _API_BACKENDS or (_API_MODEL.match(name) and not Path(name).exists()):
        raise UsageError(
            Problem(
                "USAGE-006",
                f"{name!r} is a model behind an API, which is not supported",
                "use a local model: a folder, a hub repository, or smollm2",
            )
        )
    return name if name.partition(":")[0] in BACKENDS else f"hf:{name}"


def _model_args(given: argparse.Namespace, model: str) -> Iterator[str]:
    if model.partition(":")[0] not in _LOCAL:
        return
    if given.batch_size is not None:
        match = re.fullmatch(r"(\d+)(:auto)?", given.batch_size)
        if match is None:
            what = f"--batch_size: found {given.batch_size!r}, expected N or N:auto"
            raise UsageError(Problem("USAGE-006", what, "write --batch_size 16"))
        yield f"max_batch={match[1]}"
    if given.torch_dtype is not None:
        yield f"dtype={given.torch_dtype}"
    if given.chat_template not in (None, *_WITHOUT_FILE):
        yield f"chat_template={_template_file(given.chat_template)}"


def _template_file(named: str) -> str:
    if Path(named).is_file():
        return named
    raise UsageError(
        Problem(
            "USAGE-006",
            f"--chat_template: {named!r} is not a file. Assay has none of the original's named templates, "
            "such as chatml or llama3: it uses the model's own template",
            "write --chat_template tokenizer for the model's own, base for plain text, or name a Jinja file",
        )
    )


def _chat(given: argparse.Namespace) -> str | None:
    """Return whether prompts are chats; as in the original, a base model has no chat template."""
    if given.model_type == "base" and given.chat_template is not None:
        raise UsageError(
            Problem(
                "USAGE-006",
                f"--chat_template {given.chat_template} contradicts --model_type base: a base model has none",
                "write --model_type chat, or remove --chat_template",
            )
        )
    if given.chat_template == "base":
        return "off"
    if given.chat_template is not None:
        return "on"
    return {"base": "off", "chat": "on", None: None}[given.model_type]


def _model_type(given: argparse.Namespace) -> str | None:
    """Return the model type that a class sees, which `--chat_template base` does not change."""
    return "chat" if given.chat_template is not None else given.model_type


def _explain_backend_flags(given: argparse.Namespace, model: str) -> Iterator[str]:
    if given.chat_template == "tokenizer":
        yield "--chat_template tokenizer: the model's own template is used, which is the default"
    if given.model_backend == "vllm":
        yield "--model_backend vllm: the local model runs with transformers"
    if model.partition(":")[0] not in _LOCAL:
        for name in ("batch_size", "torch_dtype"):
            if getattr(given, name) is not None:
                yield f"--{name}: {model} does not support it"


def _dataset_args(given: argparse.Namespace) -> Iterator[str]:
    for name in _CLASS_ARGUMENTS:
        value = getattr(given, name)
        if value is not None:
            yield f"{name}={_unescape(str(value)) if name in ('instruction', 'system_prompt') else value}"
    model_type = _model_type(given)
    if model_type is not None:
        yield f"model_type={model_type}"
    yield from (f"{name}=true" for name in _STRATEGIES if getattr(given, name))


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


def _unescape(text: str) -> str:
    r"""Replace `\n` and similar escapes, which a shell cannot write; other characters stay unchanged."""
    return re.sub(r"\\([ntr\\\"'])", lambda match: _ESCAPES[match[1]], text)


def _limit(n: int | None) -> str | None:
    if not n:
        return None
    return f"first:{n}" if n > 0 else f"last:{-n}"


def _run_folder(named: str | None) -> str | None:
    """Return the run to resume; a file of the original contains too little to resume from."""
    if named is None:
        return None
    if Path(named).is_dir() and read_manifest(Path(named)) is not None:
        return named
    raise UsageError(
        Problem(
            "USAGE-006",
            f"--continue_from: {named!r} is not a run folder",
            "remove the flag: the same command resumes where it stopped; or name a folder under runs/",
        )
    )


def _find_files(named: str, folder: str | None) -> list[str]:
    """Return the files of a dataset name, each with the selection after the colon."""
    name, colon, selection = named.partition(":")
    if name.endswith(".py"):
        return [named]
    if name == "agieval":
        if selection:
            what = "agieval consists of two datasets, but a selection applies to only one of them"
            raise UsageError(Problem("USAGE-006", what, f"write agieval_cot:{selection}"))
        return [*_find_files("agieval_single_choice", folder), *_find_files("agieval_cot", folder)]
    renamed = f"{name}=" if _WMT.fullmatch(name) else ""
    stem = _TRANSLATION if renamed else name
    places = _list_places(folder)
    path = next((place / f"{stem}.py" for place in places if (place / f"{stem}.py").is_file()), None)
    if path is not None:
        return [f"{renamed}{path}{colon}{selection}"]
    known = sorted({file.stem for place in places for file in place.glob("*.py") if is_class_file(file)})
    raise UsageError(
        Problem(
            "USAGE-006",
            f"there is no dataset {name!r}{suggest_name(name, known)}; looked for "
            + ", ".join(f"{place / stem}.py" for place in places),
            "give the folder of its file, such as a checkout of the original: --dataset_dir DIR",
        )
    )


def _list_places(folder: str | None) -> list[Path]:
    roots = [Path()] if folder is None else [Path(folder), Path()]
    return [place for root in roots for place in (root, root / _DATASETS) if place.is_dir()]
