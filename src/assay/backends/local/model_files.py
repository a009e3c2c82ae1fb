"""The files of a local model: a folder, or a GGUF file.

Reads what a plan needs (chat template, context length) from small files, finds missing files as early as
possible, and computes the hash that identifies the model. Imports neither torch nor transformers.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from assay.backends.cache_dir import cache_dir
from assay.backends.hf.gguf_header import NotGguf, Value, read_header
from assay.backends.problems import load_error, missing_files_error
from assay.core.errors import listing, suggest_name
from assay.core.ids import digest
from assay.core.media import Medium

_BLOCK = 1 << 22
_PART = 1 << 26
"""Bytes of a file that one thread hashes."""
_FLOATS = ("BF16", "F16", "F32", "F64")


def hash_file(path: Path) -> str:
    """Return the hash of a file."""
    return hash_each([path])[path.name]


def hash_each(paths: Sequence[Path]) -> dict[str, str]:
    """Return the hash of each file by its name; from a cache if the file is unchanged.

    Several threads hash the parts of large files. The hash of such a file is the hash of its parts' hashes.
    """
    notes = {path: _find_note(path) for path in paths}
    known = {path: note.read_text() for path, note in notes.items() if note.is_file()}
    parts = [
        (path, start)
        for path in paths
        if not known.get(path)
        for start in range(0, max(path.stat().st_size, 1), _PART)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        hashes = list(threads.map(_hash_part, *zip(*parts, strict=True))) if parts else []
    for path, same in groupby(zip(parts, hashes, strict=True), key=lambda one: one[0][0]):
        found = [part_hash for _, part_hash in same]
        known[path] = found[0] if len(found) == 1 else digest(found, size=16)
        _write_note(notes[path], known[path])
    return {path.name: known[path] for path in paths}


def _find_note(path: Path) -> Path:
    """Return the place of a file's hash in the cache."""
    path = path.resolve()
    stat = path.stat()
    # A copied file can keep its modification time, and cluster nodes can share this cache while each has its
    # own file under the same path. The time of the last status change cannot be set by a program.
    when = (stat.st_mtime_ns, stat.st_ctime_ns)
    return cache_dir() / "hashes" / digest((str(path), stat.st_size, *when, _PART), size=16)


def _hash_part(path: Path, start: int) -> str:
    running = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        file.seek(start)
        left = _PART
        while left and (block := file.read(min(_BLOCK, left))):
            running.update(block)
            left -= len(block)
    return running.hexdigest()


def hash_files(paths: Sequence[Path]) -> str:
    """Return one hash for several files, by name and content, independent of their order."""
    return combine_hashes(hash_each(paths))


def count_parameters(folder: Path) -> int | None:
    """Return the number of weights in the safetensors files of a folder; None if unknown or quantized."""
    count = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
        if any(tensor["dtype"] not in _FLOATS for tensor in tensors):
            return None
        count += sum(math.prod(tensor["shape"]) for tensor in tensors)
    return count or None


def combine_hashes(hashes: Mapping[str, str]) -> str:
    """Return one hash for the hashes of several files."""
    return digest(sorted(hashes.items()), size=16)


def _write_note(note: Path, text: str) -> None:
    """Write a cache entry atomically. A cache that cannot be written is not an error."""
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
"""Tokenizers without a fixed file name, and the code of `trust_remote_code`."""
_PROCESSOR_FILES = ("processor_config.json", "preprocessor_config.json")
_MEDIA_KEYS = {
    Medium.IMAGE: ("vision_config", {"image_processor", "image_processor_type"}),
    Medium.AUDIO: ("audio_config", {"feature_extractor", "feature_extractor_type"}),
}
"""For each medium: the key of config.json for the model's encoder, and the keys in the processor's files that
prepare the medium."""


_GGUF_TEMPLATE = "tokenizer.chat_template"


class ModelFiles(Protocol):
    """A model's files, and what they say about it."""

    @property
    def chat_template(self) -> str | None:
        """Return the template's text, or None for a base model."""

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return the templates by name, if the model has several."""

    @property
    def context_length(self) -> int | None:
        """Return the model's maximum number of tokens."""

    @property
    def dtype(self) -> str:
        """Return the number type of the stored weights."""

    @property
    def media(self) -> frozenset[Medium]:
        """Return the media that the model accepts, among those supported here."""

    def weights(self) -> str:
        """Return the hash or the commit that identifies everything that decides an answer."""

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each file behind `weights`, as computed the first time."""

    @property
    def notes(self) -> Sequence[str]:
        """Return notes about the files for the user."""

    def tokenizer_source(self) -> Path:
        """Return the folder or GGUF file with the tokenizer; does not download weights."""

    def prepare_path(self) -> Path:
        """Return the folder or GGUF file to load, downloaded or created if necessary."""


class FolderFiles:
    """A folder as saved by transformers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self, backend: str = "hf") -> FolderFiles:
        """Raise MODEL-003 unless configuration, weights and tokenizer exist."""
        folder = self.folder
        if not folder.is_dir():
            raise absent_model_error(folder, "folder", backend)
        if not (folder / "config.json").is_file():
            raise missing_files_error(
                f"{folder} has no config.json; it contains {listing(_names(folder)) or 'no files'}",
                _config_fix(folder, backend),
            )
        if not self.weight_files():
            raise missing_files_error(
                f"{folder} has no weights: expected *.safetensors or *.bin", "add the weight files"
            )
        if not any((folder / name).is_file() for name in TOKENIZER_FILES):
            raise missing_files_error(
                f"{folder} has no tokenizer: expected {listing(TOKENIZER_FILES[:3])}",
                "save the model's tokenizer into the same folder",
            )
        self.check_architecture()
        return self

    def check_architecture(self) -> None:
        """Raise MODEL-005 if config.json describes a model that is not a causal language model."""
        if self.config.get("is_encoder_decoder"):
            raise load_error(
                f"{self.folder} contains an encoder-decoder model ({self.config.get('model_type')})",
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
        # Processors of older versions have their template in a separate file.
        names = ("chat_template.json", "tokenizer_config.json")
        written = [self.folder / name for name in names if (self.folder / name).is_file()]
        template = next(
            (template for path in written if (template := read_json(path).get("chat_template"))), None
        )
        if isinstance(template, list):  # Several by name; transformers uses the one called default.
            template = _list_templates(template).get("default")
        return template if isinstance(template, str) else None

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return those in tokenizer_config.json, and the files in additional_chat_templates."""
        config = self.folder / "tokenizer_config.json"
        listed = read_json(config).get("chat_template") if config.is_file() else None
        templates = _list_templates(listed) if isinstance(listed, list) else {}
        files = sorted((self.folder / "additional_chat_templates").glob("*.jinja"))
        templates |= {path.stem: path.read_text("utf-8") for path in files}
        if templates and self.chat_template is not None:
            templates.setdefault("default", self.chat_template)
        return templates

    @property
    def context_length(self) -> int | None:
        """Return the model's maximum number of tokens, under the name that its family uses."""
        for config in (self.config, self.config.get("text_config") or {}):
            for key in _CONTEXT_KEYS:
                if isinstance(config.get(key), int):
                    return int(config[key])
        return None

    @property
    def dtype(self) -> str:
        """Return the checkpoint's own type."""
        inner = self.config.get("text_config") or {}
        declared = [c.get(k) for c in (self.config, inner) for k in ("dtype", "torch_dtype")]
        return next((str(dtype) for dtype in declared if dtype), "float32")

    @cached_property
    def media(self) -> frozenset[Medium]:
        """Return the media for which both model and processor have a part. Video is not supported."""
        written = [self.folder / name for name in _PROCESSOR_FILES]
        processor = {key for path in written if path.is_file() for key in read_json(path)}
        return frozenset(
            medium
            for medium, (part, makers) in _MEDIA_KEYS.items()
            if self.config.get(part) and processor & makers
        )

    def weight_files(self) -> list[Path]:
        """Return the files with the weights."""
        safe = sorted(self.folder.glob("*.safetensors"))
        return safe or sorted(p for p in self.folder.glob("*.bin") if p.name != "training_args.bin")

    def weights(self) -> str:
        """Return the hash of weights, configuration and tokenizer."""
        return combine_hashes(self.hashes)

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Return the hash of each of these files, and of the model's own code next to them."""
        names = ("config.json", "generation_config.json", *TOKENIZER_FILES, *_PROCESSOR_FILES)
        small = [path for path in (self.folder / name for name in names) if path.is_file()]
        others = (path for pattern in _BY_PATTERN for path in sorted(self.folder.glob(pattern)))
        return hash_each([*self.weight_files(), *small, *others])

    @property
    def notes(self) -> Sequence[str]:
        """Return no notes."""
        return ()

    def tokenizer_source(self) -> Path:
        """Return the folder."""
        return self.folder

    def prepare_path(self) -> Path:
        """Return the folder."""
        return self.folder


class GgufFiles:
    """One GGUF file with weights, tokenizer and template."""

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
            what = f"{self.path} is not a GGUF file: {trouble}"
            raise load_error(what, "download the file again") from None

    @property
    def chat_template(self) -> str | None:
        """Return the template in the metadata."""
        template = self.header.get(_GGUF_TEMPLATE)
        return str(template) if template else None

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return the further templates in the metadata."""
        prefix = f"{_GGUF_TEMPLATE}."
        found = {
            key.removeprefix(prefix): str(self.header[key]) for key in self.header if key.startswith(prefix)
        }
        if found and self.chat_template is not None:
            found.setdefault("default", self.chat_template)
        return found

    @property
    def context_length(self) -> int | None:
        """Return the context length in the metadata."""
        length = self.header.get(f"{self.header.get('general.architecture')}.context_length")
        return int(length) if length else None

    @property
    def media(self) -> frozenset[Medium]:
        """Return no media: the file contains no media encoder."""
        return frozenset()

    @property
    def dtype(self) -> str:
        """Return the type to which quantised weights are unpacked on a GPU."""
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
        """Return no notes."""
        return ()

    def tokenizer_source(self) -> Path:
        """Return the file."""
        return self.path

    def prepare_path(self) -> Path:
        """Return the file."""
        return self.path


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of the model; raise MODEL-005 if the file is damaged."""
    document = _load_json(path)
    if not isinstance(document, dict):
        raise load_error(f"{path} does not contain a JSON object", "download the file again")
    return document


def read_json_objects(path: Path) -> list[dict[str, Any]]:
    """Return the JSON list of objects in a file of the model; raise MODEL-005 if the file is damaged."""
    document = _load_json(path)
    if not isinstance(document, list) or not all(isinstance(item, dict) for item in document):
        raise load_error(f"{path} does not contain a JSON list of objects", "download the file again")
    return document


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, OSError, RecursionError) as trouble:
        raise load_error(f"{path} is not readable JSON: {trouble}", "download the file again") from None


def absent_model_error(path: Path, kind: str, backend: str = "hf") -> Exception:
    """Return the error for a path that does not exist, with the most similar name next to it."""
    parent = path.parent
    siblings = _names(parent) if parent.is_dir() else []
    hint = suggest_name(path.name, siblings) if siblings else ""
    if path.is_file():
        return missing_files_error(
            f"{path} is a file; expected a model folder or a .gguf file", f"write {backend}:{parent}"
        )
    looked = "with config.json, weights and a tokenizer in it" if kind == "folder" else "to read"
    return missing_files_error(f"there is no {kind} {path}{hint}", f"give the path of a {kind} {looked}")


def suggest_base_model(base: str | None, adapter: str) -> str:
    """Return how to use an adapter: with its base model, if that is known."""
    model = base or "BASE"
    return f"name its base model: hf:{model} --model-arg lora={adapter} (or vllm:{model})"


def _config_fix(folder: Path, backend: str) -> str:
    """Return the fix for a folder without config.json, by what it contains instead."""
    if (folder / "adapter_config.json").is_file():
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
        return f"this is an adapter: {suggest_base_model(base, str(folder))}"
    if ggufs := sorted(folder.glob("*.gguf")):
        return f"write hf:{ggufs[0]}"
    inner = [child for child in sorted(folder.glob("*/config.json"))]
    return (
        f"write {backend}:{inner[0].parent}"
        if inner
        else "give the folder that contains config.json and weights"
    )


def _names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())


def _list_templates(listed: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the templates of tokenizer_config.json by name."""
    return {item["name"]: item["template"] for item in listed}
