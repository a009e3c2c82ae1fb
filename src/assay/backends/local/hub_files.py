"""The files of a model on the Hugging Face hub: one commit, resolved once, downloaded as needed.

Small files come first: they contain what a plan needs, and show whether the model can be loaded at all. The
weights follow when the first request is computed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from assay.backends.local.hub_problems import explaining_hub_errors, nothing_to_load_error
from assay.backends.local.hub_selection import (
    Weights,
    describe_contents,
    describe_files,
    gguf_files,
    has_tokenizer,
    is_split_gguf,
    select_small,
    select_weights,
)
from assay.backends.local.model_files import FolderFiles, GgufFiles, read_json, suggest_base_model
from assay.backends.problems import HF_EXTRA, load_error, require_packages
from assay.core.errors import listing
from assay.core.media import Medium
from assay.hub.downloads import check_disk_space, download_files, find_missing_files
from assay.hub.errors import HubTrouble, TroubleKind
from assay.hub.repository import Repository, RepositoryFile, Snapshot, is_commit

_NAME = re.compile(r"(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<file>[^@]+\.gguf))?(?:@(?P<revision>.+))?")
_PAGES = re.compile(r"(?:hf://|https?://(?:huggingface\.co|hf\.co)/)(?:models/)?")
"""Addresses of a repository, as copied from a browser or from code."""


class HubName(NamedTuple):
    """A model on the hub, as `hf:` and `vllm:` name it: ORG/NAME[/FILE.gguf][@REVISION]."""

    repository: str
    file: str | None
    revision: str | None


def read_hub_name(where: str) -> HubName | None:
    """Return the repository that a text names; None if it is not such a name."""
    match = _NAME.fullmatch(_PAGES.sub("", where).rstrip("/"))
    if match is None or where.startswith((".", "~", "/")):
        return None
    return HubName(match["name"], match["file"], match["revision"])


class HubCommit:
    """A model's repository at the commit to which its revision pointed when it was first needed."""

    def __init__(self, name: HubName, backend: str) -> None:
        require_packages("huggingface_hub", needed_by=f"{backend}:{name.repository}", fix=HF_EXTRA)
        self._hub_name = name
        self._backend = backend
        self._pinned: str | None = None
        self._repository = Repository(name.repository, name.revision)

    @property
    def repository(self) -> str:
        """Return the repository's name."""
        return self._hub_name.repository

    @property
    def revision(self) -> str:
        """Return the requested branch, tag or commit."""
        return self._repository.revision

    def pin(self, commit: str) -> None:
        """Use this commit instead of the revision's current one."""
        self._pinned = commit

    @property
    def commit(self) -> str:
        """Return the commit in use."""
        return self._snapshot.commit

    @property
    def notes(self) -> Sequence[str]:
        """Return a note if the hub was not reachable; empty before the files are needed."""
        if "_snapshot" not in self.__dict__ or self._snapshot.unreached is None:
            return ()
        return (
            f"{self._label}: the hub could not be reached ({self._snapshot.unreached}); Assay used the "
            f"cached commit {self.commit} for {self.revision!r}",
        )

    @property
    def _label(self) -> str:
        return f"{self._backend}:{self.repository}"

    @cached_property
    def _snapshot(self) -> Snapshot:
        repository = self._repository
        with self._explaining_errors():
            if self._pinned is not None:
                repository = Repository(self.repository, self._pinned)
            if is_commit(repository.revision):
                cached = repository.find_cached()
                if cached is not None and self._is_complete(cached):
                    return cached
            return repository.resolve()

    def _is_complete(self, cached: Snapshot) -> bool:
        """Return whether the cache has all required files of a commit, so that the hub is not needed."""
        raise NotImplementedError

    def _explaining_errors(self) -> Any:
        return explaining_hub_errors(self._repository, self._backend)

    def _download(
        self, files: Sequence[RepositoryFile], *, what: str = "", later: int = 0, is_all: bool = True
    ) -> Path:
        """Download files; return the folder of the commit. `is_all`: no other files are needed."""
        with self._explaining_errors():
            if self._snapshot.is_cached:
                return self._repository.snapshot_folder(self.commit)
            folder = download_files(self._repository, self.commit, files, what=what, later=later)
        if self._pinned is None:
            self._repository.remember(self.commit, is_complete=is_all)
        return folder


class HubFiles(HubCommit):
    """A repository with configuration, tokenizer and weights, as transformers reads them."""

    def __init__(self, name: HubName, *, with_code: bool = False, backend: str = "hf") -> None:
        super().__init__(name, backend)
        self._with_code = with_code

    @cached_property
    def snapshot(self) -> Path:
        """Return the folder of the small files, downloaded and checked."""
        files, weights = self._snapshot.files, self._weights
        if "config.json" not in files:
            raise nothing_to_load_error(
                f"the repository {self.repository} has no config.json; {describe_contents(files)}",
                "use a repository of a causal language model, with config.json and weights",
            )
        if not has_tokenizer(files):
            raise nothing_to_load_error(
                f"the repository {self.repository} has no tokenizer: no tokenizer.json, no tokenizer.model",
                "download it, save the tokenizer of its base model into the folder, and give the folder",
            )
        small = select_small(files, with_code=self._with_code)
        with self._explaining_errors():
            later = find_missing_files(self._repository, self.commit, weights.files)
            check_disk_space(
                self._repository, [*find_missing_files(self._repository, self.commit, small), *later]
            )
        what = "configuration and tokenizer"
        folder = self._download(small, what=what, later=sum(file.size for file in later), is_all=False)
        FolderFiles(folder).check_architecture()
        self._weight_files(folder)  # Raises if the index names a missing file.
        return folder

    @property
    def config(self) -> dict[str, Any]:
        """Return config.json."""
        return self._small.config

    @property
    def chat_template(self) -> str | None:
        """Return the template's text."""
        return self._small.chat_template

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return the templates by name, if the model has several."""
        return self._small.named_templates

    @property
    def context_length(self) -> int | None:
        """Return the model's maximum number of tokens."""
        return self._small.context_length

    @property
    def dtype(self) -> str:
        """Return the checkpoint's own type."""
        return self._small.dtype

    @property
    def media(self) -> frozenset[Medium]:
        """Return the media that the model accepts."""
        return self._small.media

    @property
    def notes(self) -> Sequence[str]:
        """Return notes about where the files came from, and about pickle files."""
        if "_snapshot" not in self.__dict__ or not self._weights.is_pickle:
            return super().notes
        return (
            *super().notes,
            f"{self._label}: the repository has no .safetensors files; its .bin files are pickles, which "
            "torch reads with weights_only=True, so no code in them runs",
        )

    def weights(self) -> str:
        """Return the commit: it identifies every byte of the repository."""
        return f"{self.repository}@{self.commit}"

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return no hashes: the commit identifies all files."""
        return {}

    def tokenizer_source(self) -> Path:
        """Return the folder of the small files; does not download weights."""
        return self.snapshot

    def prepare_path(self) -> Path:
        """Download the weights and return the folder."""
        folder = self.snapshot
        self._download(self._weight_files(folder))
        return FolderFiles(folder).check(self._backend).folder

    @cached_property
    def _small(self) -> FolderFiles:
        """Return a reader of the small files; the weights may not exist yet."""
        return FolderFiles(self.snapshot)

    @property
    def _weights(self) -> Weights:
        weights = select_weights(self._snapshot.files)
        if weights is None:
            raise self._no_weights()
        return weights

    def _weight_files(self, folder: Path) -> list[RepositoryFile]:
        """Return the weight files; with an index, exactly those that it names."""
        files, weights = self._snapshot.files, self._weights
        if weights.index_file is None:
            return weights.files
        named = sorted(set((read_json(folder / weights.index_file).get("weight_map") or {}).values()))
        absent = [path for path in named if path not in files]
        if absent and self._snapshot.is_cached:
            what = f"the cache has only a part of {self.repository}: {listing(absent)} is missing"
            with self._explaining_errors():
                raise HubTrouble(TroubleKind.OFFLINE, what)
        if absent or not named:
            what = (
                f"names {listing(absent)}, which the repository does not have" if absent else "names no file"
            )
            raise nothing_to_load_error(
                f"{self.repository}: {weights.index_file} {what}", "report this to the model's authors"
            )
        return [files[path] for path in named]

    def _is_complete(self, cached: Snapshot) -> bool:
        weights = select_weights(cached.files)
        if weights is None or "config.json" not in cached.files or not has_tokenizer(cached.files):
            return False
        if weights.index_file is None:
            return True
        index = read_json(self._repository.snapshot_folder(cached.commit) / weights.index_file)
        return set((index.get("weight_map") or {}).values()) <= set(cached.files)

    def _no_weights(self) -> Exception:
        """Return the error for a repository without weights that transformers can load."""
        files, name = self._snapshot.files, self.repository
        if self._snapshot.is_cached and not gguf_files(files):
            what = f"the cache has only a part of {name}: {listing(files) or 'no files'}"
            with self._explaining_errors():
                raise HubTrouble(TroubleKind.OFFLINE, what)
        if "adapter_config.json" in files:
            return self._adapter()
        if whole := gguf_files(files):
            fix = f"choose one of them: hf:{name}/{whole[0].path}"
            return nothing_to_load_error(
                f"the repository {name} has only GGUF files: {describe_files(whole)}", fix
            )
        what = f"the repository {name} has no weights that transformers can load; {describe_contents(files)}"
        inner = sorted(path.rpartition("/")[0] for path in files if path.endswith("/config.json"))
        if inner:
            fix = f"run `hf download {name}` and give the folder {inner[0]} in it"
        else:
            fix = (
                "use a repository with model.safetensors, or with model.safetensors.index.json and its files"
            )
        return nothing_to_load_error(what, fix)

    def _adapter(self) -> Exception:
        config = [self._snapshot.files["adapter_config.json"]]
        folder = self._download(config, what="adapter configuration", is_all=False)
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
        of = f" of {base}" if base else ""
        what = f"the repository {self.repository} is an adapter{of}, not a whole model"
        fix = suggest_base_model(base, self.repository)
        return nothing_to_load_error(what, fix)


class HubGgufFiles(HubCommit):
    """One GGUF file of a repository. It contains its own description, so it is downloaded at once."""

    def __init__(self, name: HubName, *, backend: str = "hf") -> None:
        super().__init__(name, backend)
        assert name.file is not None
        self._file = name.file
        if is_split_gguf(self._file):
            raise load_error(
                f"{self._file} is one part of a split GGUF file, which is not supported",
                "join the parts with llama.cpp's `llama-gguf-split --merge`, and give the path of the result",
            )

    @property
    def chat_template(self) -> str | None:
        """Return the template in the metadata."""
        return self._inner.chat_template

    @property
    def named_templates(self) -> Mapping[str, str]:
        """Return the further templates in the metadata."""
        return self._inner.named_templates

    @property
    def context_length(self) -> int | None:
        """Return the context length in the metadata."""
        return self._inner.context_length

    @property
    def dtype(self) -> str:
        """Return the type to which quantised weights are unpacked on a GPU."""
        return self._inner.dtype

    @property
    def media(self) -> frozenset[Medium]:
        """Return no media: the file contains no media encoder."""
        return self._inner.media

    def weights(self) -> str:
        """Return the commit and the file: they identify every byte."""
        return f"{self.repository}/{self._file}@{self.commit}"

    @property
    def hashes(self) -> Mapping[str, str]:
        """Return no hashes: the commit identifies the file."""
        return {}

    def tokenizer_source(self) -> Path:
        """Return the file."""
        return self._inner.path

    def prepare_path(self) -> Path:
        """Return the file."""
        return self._inner.path

    @cached_property
    def _inner(self) -> GgufFiles:
        file = self._snapshot.files.get(self._file)
        if file is None:
            ggufs = gguf_files(self._snapshot.files)
            what = f"the repository {self.repository} has no file {self._file!r}"
            if self._snapshot.is_cached:
                with self._explaining_errors():
                    raise HubTrouble(TroubleKind.OFFLINE, f"{what} in the cache")
            available = f"; it has {describe_files(ggufs)}" if ggufs else "; it has no GGUF files"
            fix = f"write hf:{self.repository}/{ggufs[0].path}" if ggufs else f"write hf:{self.repository}"
            raise nothing_to_load_error(f"{what}{available}", fix)
        return GgufFiles(self._download([file]) / self._file)

    def _is_complete(self, cached: Snapshot) -> bool:
        return self._file in cached.files


class HubTokenizerFile(HubCommit):
    """The tokenizer.json of a repository, if nothing else of the model is needed."""

    _FILE = "tokenizer.json"

    def __init__(self, name: HubName) -> None:
        super().__init__(name, "hf")

    def weights(self) -> str:
        """Return the commit: it identifies the file."""
        return f"{self.repository}@{self.commit}"

    def tokenizer_source(self) -> Path:
        """Return the file, downloaded if necessary."""
        file = self._snapshot.files.get(self._FILE)
        if file is None:
            has = f"it has {listing(self._snapshot.files)}"
            what = f"the repository {self.repository} has no {self._FILE}; {has}"
            raise nothing_to_load_error(
                what, "use a repository that has one, or give the path of a tokenizer.json"
            )
        return self._download([file], what="tokenizer", is_all=False) / self._FILE

    def _is_complete(self, cached: Snapshot) -> bool:
        return self._FILE in cached.files


class HubAdapterFiles(HubCommit):
    """An adapter (LoRA) in a repository: its configuration and its weights."""

    _FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")

    def __init__(self, name: HubName) -> None:
        super().__init__(name, "vllm")

    def prepare_path(self) -> Path:
        """Download the files, .safetensors in preference to .bin, and return the folder."""
        files = [self._snapshot.files[path] for path in self._FILES if path in self._snapshot.files]
        if len(files) < 2 or files[0].path != self._FILES[0]:
            what = (
                f"the repository {self.repository} is not an adapter: it has no {self._FILES[0]} with weights"
            )
            fix = "use the repository of an adapter, or the folder into which one was saved"
            raise nothing_to_load_error(f"{what}; {describe_contents(self._snapshot.files)}", fix)
        return self._download(files[:2])

    def _is_complete(self, cached: Snapshot) -> bool:
        return self._FILES[0] in cached.files and not cached.files.keys().isdisjoint(self._FILES[1:])
