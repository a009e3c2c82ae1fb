"""`assay as llmbox`: the original's command line, unchanged."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from assay.backends.registry import BACKENDS
from assay.core.errors import suggest_name
from assay.dialects.llmbox.compile import DIALECT
from assay.dialects.llmbox.detect import is_class_file
from assay.systems.command_line import foreign_command, print_notes
from assay.systems.flag_table import CommandLine, usage_error
from assay.systems.llmbox.flags import FLAGS

_DATASETS = Path("utilization/dataset")
"""The dataset folder in a checkout of the original."""
_LOCAL = ("hf", "smollm2")
_WITH_TEMPLATE_FILE = (*_LOCAL, "vllm")
_API_BACKENDS = ("openai", "anthropic", "dashscope", "qianfan")
_API_MODEL = re.compile(
    r"(gpt-[34]|o[134](-|$)|chatgpt|text-davinci|davinci|babbage|curie|claude|ernie|qwen-)"
)
"""Prefixes of models that are only available from a provider."""
_WITHOUT_FILE = ("base", "tokenizer")
"""Values of `--chat_template` that name no file: plain text, and the model's own template."""
_WMT = re.compile(r"wmt\d\d")
_TRANSLATION = "translation_dataset"
"""The original's class for all years of WMT."""


@foreign_command(FLAGS)
def llmbox(line: CommandLine) -> int:
    """Evaluate dataset classes with LLMBox's own flags."""
    from assay.app.check_files import NamedDatasets
    from assay.faces.cli.check import show_dataset_check, show_dataset_checks
    from assay.faces.cli.run import evaluate

    flags = line.flags
    progress = line.run_flags.pop("progress", "auto")
    model = _resolve_model(flags)
    datasets = tuple(
        name for selector in flags.dataset_names for name in _find_files(selector, flags.dataset_dir)
    )
    model_type = _resolve_model_type(flags)
    settings = line.build_settings(
        {
            "dialect": DIALECT,
            "model": model,
            "model_args": dict(_list_model_args(flags, model)),
            "dataset_args": {} if model_type is None else {"model_type": model_type},
            "chat": _resolve_chat(flags),
        }
    )
    print_notes((*line.notes, *_explain_backend_flags(flags, model)))
    if not flags.dry_run:
        return evaluate(datasets, settings, progress)
    if len(datasets) == 1:
        return show_dataset_check(datasets, settings, with_model=True, n_prompts=2)
    return show_dataset_checks(NamedDatasets(datasets, ()), {}, settings, with_model=True)


def _resolve_model(flags: argparse.Namespace) -> str:
    """Return a model as Assay names it; any other name is a folder or a hub repository."""
    name: str = flags.model_name_or_path
    if flags.model_backend in _API_BACKENDS or (_API_MODEL.match(name) and not Path(name).exists()):
        raise usage_error(
            f"{name!r} is a model behind an API, which is not supported",
            "use a local model: a folder, a hub repository, or smollm2",
        )
    if flags.tokenizer_name_or_path not in (None, "", name):
        what = "--tokenizer_name_or_path: another tokenizer than the model's own gives other numbers"
        raise usage_error(what, "remove the flag")
    return name if name.partition(":")[0] in BACKENDS else f"hf:{name}"


def _list_model_args(flags: argparse.Namespace, model: str) -> Iterator[tuple[str, str]]:
    if flags.chat_template not in (None, *_WITHOUT_FILE):
        yield "chat_template", _require_template_file(flags.chat_template, model)
    if model.partition(":")[0] not in _LOCAL:
        return
    if flags.batch_size is not None:
        match = re.fullmatch(r"(\d+)(:auto)?", flags.batch_size)
        if match is None:
            what = f"--batch_size: found {flags.batch_size!r}, expected N or N:auto"
            raise usage_error(what, "write --batch_size 16")
        yield "max_batch", match[1]
    if flags.torch_dtype is not None:
        yield "dtype", flags.torch_dtype


def _require_template_file(name: str, model: str) -> str:
    if not Path(name).is_file():
        raise usage_error(
            f"--chat_template: {name!r} is not a file. Assay has none of the original's named templates, "
            "such as chatml or llama3: it uses the model's own template",
            "write --chat_template tokenizer for the model's own, base for plain text, or name a Jinja file",
        )
    if model.partition(":")[0] not in _WITH_TEMPLATE_FILE:
        raise usage_error(
            f"--chat_template {name}: {model} has its own chat template, which a file cannot replace",
            "remove the flag, or evaluate a local model",
        )
    return name


def _resolve_chat(flags: argparse.Namespace) -> str | None:
    """Return whether prompts are chats; as in the original, a base model has no chat template."""
    if flags.model_type == "base" and flags.chat_template is not None:
        raise usage_error(
            f"--chat_template {flags.chat_template} contradicts --model_type base: a base model has none",
            "write --model_type chat, or remove --chat_template",
        )
    if flags.chat_template == "base":
        return "off"
    if flags.chat_template is not None:
        return "on"
    return {"base": "off", "chat": "on", None: None}[flags.model_type]


def _resolve_model_type(flags: argparse.Namespace) -> str | None:
    """Return the model type that a class sees, which `--chat_template base` does not change."""
    return "chat" if flags.chat_template is not None else flags.model_type


def _explain_backend_flags(flags: argparse.Namespace, model: str) -> Iterator[str]:
    if flags.chat_template == "tokenizer":
        yield "--chat_template tokenizer: the model's own template is used, which is the default"
    if flags.model_backend == "vllm":
        yield "--model_backend vllm: the local model runs with transformers"
    if model.partition(":")[0] not in _LOCAL:
        for name in ("batch_size", "torch_dtype"):
            if getattr(flags, name) is not None:
                yield f"--{name}: {model} does not support it"


def _find_files(selector: str, folder: str | None) -> list[str]:
    """Return the files of a dataset name, each with the selection after the colon."""
    name, colon, selection = selector.partition(":")
    if name.endswith(".py"):
        return [selector]
    if name == "agieval":
        if selection:
            what = "agieval consists of two datasets, but a selection applies to only one of them"
            raise usage_error(what, f"write agieval_cot:{selection}")
        return [*_find_files("agieval_single_choice", folder), *_find_files("agieval_cot", folder)]
    renamed = f"{name}=" if _WMT.fullmatch(name) else ""
    stem = _TRANSLATION if renamed else name
    places = _list_places(folder)
    path = next((place / f"{stem}.py" for place in places if (place / f"{stem}.py").is_file()), None)
    if path is not None:
        return [f"{renamed}{path}{colon}{selection}"]
    known = sorted({file.stem for place in places for file in place.glob("*.py") if is_class_file(file)})
    raise usage_error(
        f"there is no dataset {name!r}{suggest_name(name, known)}; looked for "
        + ", ".join(f"{place / stem}.py" for place in places),
        "give the folder of its file, such as a checkout of the original: --dataset_dir DIR",
    )


def _list_places(folder: str | None) -> list[Path]:
    roots = [Path()] if folder is None else [Path(folder), Path()]
    return [place for root in roots for place in (root, root / _DATASETS) if place.is_dir()]
