"""The files of a model: a folder, a repository of the hub, or a GGUF file.

Says what a plan needs (chat template, context length) from small files, finds what is missing as early as
possible, and names the bytes that make the model who it is. Imports neither torch nor transformers.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from assay.backends.gguf_header import NotGguf, Value, read_header
from assay.backends.problems import does_not_load, missing_files, require_packages
from assay.backends.weights import hash_each, one_hash
from assay.core.errors import listing, nearest
from assay.core.media import Medium

HUB_ID = re.compile(r"^[\w.-]+/[\w.-]+$")
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
_TOKENIZER_FILES = (
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
        """Return the hash, or the revision, of everything that decides an answer."""

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each file that `weights` is made of, as they were when first asked for."""

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
            raise _absent(folder, "folder", backend)
        if not (folder / "config.json").is_file():
            raise missing_files(
                f"{folder} has no config.json; it has {listing(_names(folder)) or 'nothing'}",
                _config_fix(folder, backend),
            )
        if not self.weight_files():
            raise missing_files(
                f"{folder} has no weights: looked for *.safetensors and *.bin", "put the weight files there"
            )
        if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
            raise missing_files(
                f"{folder} has no tokenizer: looked for {listing(_TOKENIZER_FILES[:3])}",
                "save the model's tokenizer into the same folder",
            )
        if self.config.get("is_encoder_decoder"):
            raise does_not_load(
                f"{folder} holds an encoder-decoder model ({self.config.get('model_type')})",
                "use a causal language model",
            )
        return self

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
        return one_hash(self.hashes)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each of these files, and of a model's own code beside them."""
        names = ("config.json", "generation_config.json", *_TOKENIZER_FILES, *_PROCESSOR_FILES)
        small = [path for path in (self.folder / name for name in names) if path.is_file()]
        others = (path for pattern in _BY_PATTERN for path in sorted(self.folder.glob(pattern)))
        return hash_each([*self.weight_files(), *small, *others])

    def ready(self) -> Path:
        """Return the folder."""
        return self.folder


class GgufFiles:
    """One GGUF file: weights, tokenizer and template in one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise _absent(path, "GGUF file")

    @cached_property
    def header(self) -> dict[str, Value]:
        """Return the file's metadata."""
        try:
            return read_header(self.path)
        except NotGguf as trouble:
            raise does_not_load(
                f"{self.path} is not a GGUF file: {trouble}", "fetch the file again"
            ) from None

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

    def ready(self) -> Path:
        """Return the file."""
        return self.path


class HubFiles:
    """A repository of the Hugging Face hub, fetched into the hub's own cache."""

    _SMALL = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")

    def __init__(self, repository: str, revision: str | None, *, with_code: bool = False) -> None:
        require_packages("huggingface_hub", needed_by=f"hf:{repository}")
        self.repository = repository
        self.revision = revision
        self._patterns = (*self._SMALL, "*.py") if with_code else self._SMALL

    @cached_property
    def snapshot(self) -> Path:
        """Return the folder of the small files; its name is the commit."""
        folder = self._fetch(self._patterns, self.revision)
        if not (folder / "config.json").is_file():
            raise missing_files(
                f"the hub repository {self.repository} has no config.json", "name a model's own"
            )
        return folder

    @property
    def chat_template(self) -> str | None:
        """Return the template's text."""
        return self._small.chat_template

    @property
    def context_length(self) -> int | None:
        """Return how many tokens the model can read."""
        return self._small.context_length

    @property
    def dtype(self) -> str:
        """Return the checkpoint's own type."""
        return self._small.dtype

    @property
    def media(self) -> frozenset[Medium]:
        """Return what the model takes beside text."""
        return self._small.media

    def weights(self) -> str:
        """Return the commit: it names every byte of the repository."""
        return f"{self.repository}@{self.snapshot.name}"

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return nothing: the commit names them all."""
        return {}

    def ready(self) -> Path:
        """Fetch the weights and return the folder."""
        # Of the very commit that was told: a branch may have moved on since.
        commit = self.snapshot.name
        folder = self._fetch((*self._patterns, "*.safetensors"), commit)
        if not list(folder.glob("*.safetensors")):
            folder = self._fetch((*self._patterns, "*.bin"), commit)
        return FolderFiles(folder).check().folder

    @cached_property
    def _small(self) -> FolderFiles:
        """Return a reader of the small files; weights are not there yet."""
        return FolderFiles(self.snapshot)

    def _fetch(self, patterns: tuple[str, ...], revision: str | None) -> Path:
        hub: Any = import_module("huggingface_hub")
        try:
            return Path(hub.snapshot_download(self.repository, revision=revision, allow_patterns=patterns))
        except (OSError, ValueError, RuntimeError) as trouble:  # The hub's own errors are kinds of these.
            at = f" at revision {revision}" if revision else ""
            is_offline = os.environ.get("HF_HUB_OFFLINE") == "1"
            fix = (
                "fetch it without --offline first"
                if is_offline
                else "check the name, the network and HF_TOKEN"
            )
            raise missing_files(
                f"no folder {self.repository!r} here, and the hub repository of that name{at} could not be "
                f"fetched: {_first_line(trouble)}",
                f"{fix}, or give the path of a local folder",
            ) from trouble


def find_files(
    where: str, revision: str | None, *, with_code: bool = False, backend: str = "hf"
) -> ModelFiles:
    """Return the files that `WHERE` names: a folder, a GGUF file, or a repository `org/name[@revision]`."""
    try:
        path = Path(where).expanduser()
        is_folder = path.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # Too long, a NUL, or the home of nobody.
        raise does_not_load(f"{where[:60]!r} is not a path: {error.__class__.__name__}", "check it") from None
    if is_folder:
        return FolderFiles(path).check(backend)
    if path.suffix == ".gguf":
        return GgufFiles(path)
    repository, _, written = where.partition("@")
    if HUB_ID.match(repository) and not where.startswith((".", "~", "/")):
        return HubFiles(repository, written or revision, with_code=with_code)
    raise _absent(path, "folder", backend)


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file of the model, or say that it is broken."""
    found = _parsed(path)
    if not isinstance(found, dict):
        raise does_not_load(f"{path} holds no JSON object", "fetch the file again")
    return found


def read_json_objects(path: Path) -> list[dict[str, Any]]:
    """Return a JSON list of objects from a file of the model, or say that it is broken."""
    found = _parsed(path)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise does_not_load(f"{path} holds no JSON list of objects", "fetch the file again")
    return found


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, RecursionError) as trouble:
        raise does_not_load(f"{path} is not readable JSON: {trouble}", "fetch the file again") from None


def _absent(path: Path, kind: str, backend: str = "hf") -> Exception:
    """Return the error for a path that is not there, with its nearest sibling."""
    parent = path.parent
    siblings = _names(parent) if parent.is_dir() else []
    hint = nearest(path.name, siblings) if siblings else ""
    if path.is_file():
        return missing_files(
            f"{path} is a file; expected a model folder or a .gguf file", f"write {backend}:{parent}"
        )
    looked = "with config.json, weights and a tokenizer in it" if kind == "folder" else "to read"
    return missing_files(f"there is no {kind} {path}{hint}", f"give the path of a {kind} {looked}")


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


def _first_line(trouble: Exception) -> str:
    return (str(trouble).strip() or type(trouble).__name__).splitlines()[0]
