"""The files of an adapter (LoRA): its hash, its rank, and the layers it changes. Does not import torch."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.backends.local.hub_files import HubAdapterFiles, HubName, read_hub_name
from assay.backends.local.model_files import hash_files, read_json
from assay.backends.problems import missing_files_error
from assay.core.errors import listing
from assay.hub.client import cache_folder

_CONFIG = "adapter_config.json"
_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")


@dataclass(frozen=True)
class Adapter:
    """An adapter folder as saved by peft."""

    folder: Path
    weights: Path

    @property
    def digest(self) -> str:
        """Return the hash of its files."""
        return hash_files([self.folder / _CONFIG, self.weights])

    @property
    def rank(self) -> int:
        """Return the maximum rank of its layers."""
        ranks = [self._config.get("r"), *(self._config.get("rank_pattern") or {}).values()]
        valid = [rank for rank in ranks if isinstance(rank, int) and rank > 0]
        if not valid:
            what = f"{self.folder / _CONFIG} does not contain the rank r"
            raise missing_files_error(what, "save the adapter again")
        return max(valid)

    @property
    def modules(self) -> list[str] | None:
        """Return the last names of the layers it changes, such as q_proj; None if unknown."""
        if self.weights.suffix == ".safetensors":
            parts = [name.split(".") for name in _tensor_names(self.weights)]
            names = {
                part[part.index(word) - 1] for part in parts for word in part if word.startswith("lora_")
            }
            return sorted(names)
        named = self._config.get("target_modules")
        return sorted(named) if isinstance(named, list) else None

    @cached_property
    def _config(self) -> dict[str, Any]:
        return read_json(self.folder / _CONFIG)


def find_adapter(path: str) -> Adapter:
    """Return the adapter in a folder, or of a hub repository `ORG/NAME[@REVISION]`; raise MODEL-003."""
    folder = Path(path).expanduser().resolve()
    if not folder.exists() and (name := read_hub_name(path)) is not None:
        folder = _download(name, cache_folder())
    weights = [folder / name for name in _WEIGHTS if (folder / name).is_file()]
    if not (folder / _CONFIG).is_file() or not weights:
        raise missing_files_error(
            f"lora={path}: no adapter found: expected {_CONFIG} and one of {listing(_WEIGHTS)}",
            "give the folder into which the adapter was saved",
        )
    return Adapter(folder, weights[0])


@cache
def _download(name: HubName, cache_folder: Path) -> Path:
    """Return the folder of an adapter on the hub: the same commit for the whole process."""
    return HubAdapterFiles(name).prepare_path()


def _tensor_names(path: Path) -> list[str]:
    """Return the names of the tensors in a safetensors file, from its header."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = msgspec.json.decode(file.read(size), type=dict[str, Any])
    return [name for name in header if name != "__metadata__"]
