"""The files of a model on this machine: a folder, or a GGUF file.

Says what a plan needs (chat template, context length) from small files, finds what is missing as early as
possible, and names the bytes that make the model who it is. Imports neither torch nor transformers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from assay.backends.cache_dir import cache_dir
from assay.backends.hf.gguf_header import NotGguf, Value, read_header
from assay.backends.problems import load_error, missing_files_error
from assay.core.errors import listing, suggest_name
from assay.core.ids import digest
from assay.core.media import Medium

_BLOCK = 1 << 22


def hash_file(path: Path) -> str:
    """Return the hash of a file's bytes; at once when the file is as it was the last time."""
    path = path.resolve()
    stat = path.stat()
    # A copy may keep the time at which its content was changed, and nodes of a cluster may share this folder
    # while each has a file of its own under the path. When it came to lie there nobody can set.
    when = (stat.st_mtime_ns, stat.st_ctime_ns)
    note = cache_dir() / "hashes" / digest((str(path), stat.st_size, *when), size=16)
    if note.is_file() and (kept := note.read_text()):
        return kept
    running = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            running.update(block)
    found = running.hexdigest()
    _write_note(note, found)
    return found


def hash_each(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of each file by its name."""
    return {path.name: hash_file(path) for path in paths}


def hash_files(paths: Sequence[Path]) -> str:
    """Return one hash for several files, by name and content, in whatever order they come."""
    return combine_hashes(hash_each(paths))


def combine_hashes(hashes: Mapping[str, str]) -> str:
    """Return one hash for the hashes of several files."""
    return digest(sorted(hashes.items()), size=16)


def _write_note(note: Path, text: str) -> None:
    """Write a note so that no process ever sees half of it. A cache that cannot be written is no loss."""
    draft = note.with_suffix(f".{os.getpid()}")
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text)
        draft.replace(note)
    except OSError:
        with suppress(OSError):
            draft.unlink()


_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json",
    "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "tekken.json",
)  # fmt: skip

_BY_PATTERN = ("*.tiktoken", "*.py")
"""Tokenizers without a name of their own, and the code of `trust_remote_code`."""
_PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
_MEDIA_KEYS = {
    Medium.IMAGE: ("vision_config", {"image_processor", "image_processor_type"}),
    Medium.AUDIO: ("audio_config", {"feature_extractor", "feature_extractor_type"}),
}
"""For each medium: the key of config.json that says the model has a part for it, and the keys of the
processor's files that say how it is made ready."""


class ModelFiles(Protocol):
    """Where a model's files are and what they say about it."""

    @property
    def chat_template(self) -> str | None:
        """Return the template's text, or None for a base model."""

    @property
    def context_length(self) -> int | None:
        """Return how many tokens the model can read."""

    @property
    def dtype(self) -> str:
        """Return the type the weights are kept in."""

    @property
    def media(self) -> frozenset[Medium]:
        """Return what the model takes beside text, as far as it is read here."""

    def weights(self) -> str:
        """Return the hash, or the commit, of everything that decides an answer."""

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each file that `weights` is made of, as they were when first asked for."""

    @property
    def notes(self) -> Sequence[str]:
        """Return what a person should know about the files."""

    def tokenizer_source(self) -> Path:
        """Return the folder or GGUF file that the tokenizer is read from; fetches no weights for it."""

    def ready(self) -> Path:
        """Return the folder or GGUF file to load, fetched or made if it has to be."""


class FolderFiles:
    """A folder as transformers writes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self, backend: str = "hf") -> FolderFiles:
        """Raise MODEL-003 unless configuration, weights and tokenizer are there."""
        folder = self.folder
        if not folder.is_dir():
            raise absent_model_error(folder, "folder", backend)
        if not (folder / "config.json").is_file():
            raise missing_files_error(
                f"{folder} has no config.json; it has {listing(_names(folder)) or 'nothing'}",
                _config_fix(folder, backend),
            )
        if not self.weight_files():
            raise missing_files_error(
                f"{folder} has no weights: looked for *.safetensors and *.bin", "put the weight files there"
            )
        if not any((folder / name).is_file() for name in TOKENIZER_FILES):
            raise missing_files_error(
                f"{folder} has no tokenizer: looked for {listing(TOKENIZER_FILES[:3])}",
                "save the model's tokenizer into the same folder",
            )
        self.check_architecture()
        return self

    def check_architecture(self) -> None:
        """Raise MODEL-005 where config.json says that the model is no causal language model."""
        if self.config.get("is_encoder_decoder"):
            raise load_error(
                f"{self.folder} holds an encoder-decoder model ({self.config.get('model_type')})",
                "use a causal language model",
            )

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return config.json."""
        return read_json(self.folder / "config.json")

    @cached_property
    def chat_template(self) -> str | None:
        """Return chat_template.jinja, else the one in tokenizer_config.json."""
        alone = self.folder / "chat_template.jinja"
        if alone.is_file():
            return alone.read_text("utf-8")
        # Processors of older versions keep theirs in a file of its own.
        names = ("chat_template.json", "tokenizer_config.json")
        written = [self.folder / name for name in names if (self.folder / name).is_file()]
        found = next(
            (template for path in written if (template := read_json(path).get("chat_template"))), None
        )
        if isinstance(found, list):  # Several by name; transformers takes the one called default.
            found = {item["name"]: item["template"] for item in found}.get("default")
        return found if isinstance(found, str) else None

    @property
    def context_length(self) -> int | None:
        """Return how many tokens the model can read, by whichever name its family gives it."""
        for config in (self.config, self.config.get("text_config") or {}):
            for key in _CONTEXT_KEYS:
                if isinstance(config.get(key), int):
                    return int(config[key])
        return None

    @property
    def dtype(self) -> str:
        """Return the checkpoint's own type."""
        inner = self.config.get("text_config") or {}
        found = [c.get(k) for c in (self.config, inner) for k in ("dtype", "torch_dtype")]
        return next((str(dtype) for dtype in found if dtype), "float32")

    @cached_property
    def media(self) -> frozenset[Medium]:
        """Return what the model has a part for, and its processor too. Films are not read here."""
        written = [self.folder / name for name in _PROCESSOR_FILES]
        processor = {key for path in written if path.is_file() for key in read_json(path)}
        return frozenset(
            medium
            for medium, (part, makers) in _MEDIA_KEYS.items()
            if self.config.get(part) and processor & makers
        )

    def weight_files(self) -> list[Path]:
        """Return the files the weights are read from."""
        safe = sorted(self.folder.glob("*.safetensors"))
        return safe or sorted(p for p in self.folder.glob("*.bin") if p.name != "training_args.bin")

    def weights(self) -> str:
        """Return the hash of weights, configuration and tokenizer."""
        return combine_hashes(self.hashes)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each of these files, and of a model's own code beside them."""
        names = ("config.json", "generation_config.json", *TOKENIZER_FILES, *_PROCESSOR_FILES)
        small = [path for path in (self.folder / name for name in names) if path.is_file()]
        others = (path for pattern in _BY_PATTERN for path in sorted(self.folder.glob(pattern)))
        return hash_each([*self.weight_files(), *small, *others])

    @property
    def notes(self) -> Sequence[str]:
        """Return nothing."""
        return ()

    def tokenizer_source(self) -> Path:
        """Return the folder."""
        return self.folder

    def ready(self) -> Path:
        """Return the folder."""
        return self.folder


class GgufFiles:
    """One GGUF file: weights, tokenizer and template in one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise absent_model_error(path, "GGUF file")

    @cached_property
    def header(self) -> dict[str, Value]:
        """Return the file's metadata."""
        try:
            return read_header(self.path)
        except NotGguf as trouble:
            raise load_error(f"{self.path} is not a GGUF file: {trouble}", "fetch the file again") from None

    @property
    def chat_template(self) -> str | None:
        """Return the template in the metadata."""
        found = self.header.get("tokenizer.chat_template")
        return str(found) if found else None

    @property
    def context_length(self) -> int | None:
        """Return the context length in the metadata."""
        found = self.header.get(f"{self.header.get('general.architecture')}.context_length")
        return int(found) if found else None

    @property
    def media(self) -> frozenset[Medium]:
        """Return nothing: the file holds no part that sees."""
        return frozenset()

    @property
    def dtype(self) -> str:
        """Return the type that quantised weights are unpacked to on a GPU."""
        return "float16"

    def weights(self) -> str:
        """Return the hash of the file."""
        return self.hashes[self.path.name]

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of the file by its name."""
        return hash_each([self.path])

    @property
    def notes(self) -> Sequence[str]:
        """Return nothing."""
        return ()

    def tokenizer_source(self) -> Path:
        """Return the file."""
        return self.path

    def ready(self) -> Path:
        """Return the file."""
        return self.path


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file of the model, or say that it is broken."""
    found = _load_json(path)
    if not isinstance(found, dict):
        raise load_error(f"{path} holds no JSON object", "fetch the file again")
    return found


def read_json_objects(path: Path) -> list[dict[str, Any]]:
    """Return a JSON list of objects from a file of the model, or say that it is broken."""
    found = _load_json(path)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise load_error(f"{path} holds no JSON list of objects", "fetch the file again")
    return found


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, RecursionError) as trouble:
        raise load_error(f"{path} is not readable JSON: {trouble}", "fetch the file again") from None


def absent_model_error(path: Path, kind: str, backend: str = "hf") -> Exception:
    """Return the error for a path that is not there, with its nearest sibling."""
    parent = path.parent
    siblings = _names(parent) if parent.is_dir() else []
    hint = suggest_name(path.name, siblings) if siblings else ""
    if path.is_file():
        return missing_files_error(
            f"{path} is a file; expected a model folder or a .gguf file", f"write {backend}:{parent}"
        )
    looked = "with config.json, weights and a tokenizer in it" if kind == "folder" else "to read"
    return missing_files_error(f"there is no {kind} {path}{hint}", f"give the path of a {kind} {looked}")


def _config_fix(folder: Path, backend: str) -> str:
    """Return what to do about a folder without config.json, by what is in it instead."""
    if (folder / "adapter_config.json").is_file():
        return "this is an adapter: merge it into its base model and save the result"
    if ggufs := sorted(folder.glob("*.gguf")):
        return f"write hf:{ggufs[0]}"
    inner = [child for child in sorted(folder.glob("*/config.json"))]
    return (
        f"write {backend}:{inner[0].parent}"
        if inner
        else "give the folder that holds config.json and weights"
    )


def _names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())
