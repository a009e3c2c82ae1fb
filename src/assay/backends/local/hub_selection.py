"""Selects the files of a hub repository that transformers reads, without duplicates.

Repositories often contain the same weights several times: as .safetensors and .bin, for other frameworks, in
an original format. Works on names and sizes; reads and downloads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from assay.backends.local.model_files import TOKENIZER_FILES
from assay.core.errors import listing
from assay.core.sizes import format_size
from assay.hub.repository import RepositoryFile

_SMALL_NAMES = (*TOKENIZER_FILES, "config.json", "generation_config.json")
_SMALL_SUFFIXES = (".json", ".jinja", ".model", ".tiktoken")
_CODE_SUFFIXES = (".py", ".txt")
_TEMPLATES = "additional_chat_templates/"
_NOT_READ = ("trainer_state.json", ".index.json")
_LARGEST_UNKNOWN = 20_000_000
"""A larger JSON file with an unknown name is data, not configuration."""
_WEIGHTS = (("model", ".safetensors"), ("pytorch_model", ".bin"))
"""The names that transformers looks for, in its order."""
_OTHER_WEIGHTS = (
    *(".safetensors", ".bin", ".pth", ".pt", ".ckpt", ".h5", ".msgpack", ".onnx", ".ot", ".npz", ".gguf"),
    *(".mlmodel", ".tflite", ".keras", ".params", ".ggml"),
)
_NO_WEIGHTS = ("training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth")
_SPLIT_GGUF = re.compile(r"-\d{5}-of-\d{5}\.gguf$")

Files = Mapping[str, RepositoryFile]


class Weights(NamedTuple):
    """The weight files of a repository."""

    files: list[RepositoryFile]
    """With an index: the files whose names match it."""
    index_file: str | None
    """The file that maps tensors to files; None: there is only one file."""
    is_pickle: bool


def select_small(files: Files, *, with_code: bool) -> list[RepositoryFile]:
    """Return the files besides the weights: configuration, tokenizer, templates, and code if it may run."""
    suffixes = (*_SMALL_SUFFIXES, *_CODE_SUFFIXES) if with_code else _SMALL_SUFFIXES
    weights = select_weights(files)
    index = weights.index_file if weights is not None else None
    return [
        file
        for path, file in files.items()
        if path in _SMALL_NAMES or path == index or _is_small(path, file.size, suffixes)
    ]


def _is_small(path: str, size: int, suffixes: tuple[str, ...]) -> bool:
    is_template = path.startswith(_TEMPLATES) and path.endswith(".jinja")
    is_setting = "/" not in path and path.endswith(suffixes) and not path.endswith(_NOT_READ)
    return is_template or (is_setting and size <= _LARGEST_UNKNOWN)


def select_weights(files: Files) -> Weights | None:
    """Return the weight files that transformers would load; None if there are none."""
    for stem, suffix in _WEIGHTS:
        is_pickle = suffix == ".bin"
        if (alone := files.get(f"{stem}{suffix}")) is not None:
            return Weights([alone], None, is_pickle)
        index = f"{stem}{suffix}.index.json"
        if index in files:
            shard = re.compile(rf"{stem}-\d+-of-\d+{re.escape(suffix)}")
            return Weights([file for path, file in files.items() if shard.fullmatch(path)], index, is_pickle)
    return None


def has_tokenizer(paths: Iterable[str]) -> bool:
    """Return whether the paths include a tokenizer file."""
    return any(path in TOKENIZER_FILES or path.endswith(".tiktoken") for path in paths)


def gguf_files(files: Files) -> list[RepositoryFile]:
    """Return the GGUF files that contain a whole model, smallest first."""
    ggufs = [file for path, file in files.items() if path.endswith(".gguf")]
    whole = [file for file in ggufs if not is_split_gguf(file.path) and "mmproj" not in file.path.lower()]
    return sorted(whole, key=lambda file: file.size)


def is_split_gguf(path: str) -> bool:
    """Return whether a GGUF file is one of several parts."""
    return _SPLIT_GGUF.search(path) is not None


def describe_files(files: Iterable[RepositoryFile]) -> str:
    """Return names with sizes, for an error message."""
    every = list(files)
    names = ", ".join(f"{file.path!r} ({format_size(file.size)})" for file in every[:12])
    return f"{names} and {len(every) - 12} more" if len(every) > 12 else names


def describe_contents(files: Files) -> str:
    """Return what a repository contains instead of weights that can be loaded."""
    others = [
        file
        for path, file in files.items()
        if path.endswith(_OTHER_WEIGHTS) and path.rpartition("/")[2] not in _NO_WEIGHTS
    ]
    if others:
        return f"it has {describe_files(others)}"
    return f"it has {listing(path for path in files if path != '.gitattributes') or 'no files'}"
