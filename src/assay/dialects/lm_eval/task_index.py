"""The index of task files: every task, group and tag in some folders, by name.

Reading thousands of files takes seconds, so the entries of a folder are kept in a cache file. The cache is
valid as long as no file of the folder was added, removed or changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError
from assay.core.ids import digest
from assay.dialects.lm_eval.task_files import SUFFIX, FunctionReference, TaskConfig, TaskFileReader

_SKIPPED_FOLDERS = frozenset({"__pycache__", ".ipynb_checkpoints"})
_CACHE_FORMAT = 1
"""Increased when entries change, so that older cache files are not read."""


class EntryKind(StrEnum):
    """What a name refers to."""

    TASK = "task"
    CLASS = "class"
    """A task that a Python class defines."""
    GROUP = "group"
    TAG = "tag"


class IndexEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name, and what a list of benchmarks shows about it."""

    name: str
    kind: EntryKind
    path: str = ""
    """The task file; empty for a tag."""
    members: tuple[str, ...] = ()
    """The tasks of a tag, or the named members of a group."""
    tags: tuple[str, ...] = ()
    alias: str = ""
    output_type: str = ""
    dataset: str = ""
    """`path` or `path:name` of its data."""
    split: str = ""
    """The split that is evaluated."""
    shots: int | None = None
    description: str = ""


class SkippedFile(msgspec.Struct, frozen=True):
    """A file that is no task file, or cannot be read."""

    path: str
    why: str


class FolderIndex(msgspec.Struct, frozen=True):
    """The entries of one folder."""

    signature: str
    entries: tuple[IndexEntry, ...]
    skipped: tuple[SkippedFile, ...] = ()


class TaskIndex:
    """The entries of several folders; in a later folder, a name replaces that of an earlier one."""

    def __init__(self, folders: Sequence[FolderIndex]) -> None:
        self._entries: dict[str, IndexEntry] = {}
        self.skipped: tuple[SkippedFile, ...] = tuple(file for folder in folders for file in folder.skipped)
        for folder in folders:
            self._entries.update((entry.name, entry) for entry in folder.entries)

    def __iter__(self) -> Iterator[IndexEntry]:
        return iter(self._entries.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def get(self, name: str) -> IndexEntry | None:
        """Return the entry of a name, or None."""
        return self._entries.get(name)

    @property
    def names(self) -> Sequence[str]:
        """Return all names, sorted."""
        return sorted(self._entries)


def load_folder_index(folder: Path, cache: Path) -> FolderIndex:
    """Return the index of a folder: from its cache file, or read anew and written there."""
    folder = folder.resolve()
    signature = _compute_signature(folder)
    stored = cache / f"lm-eval-index-{digest(str(folder))}.json"
    try:
        known = msgspec.json.decode(stored.read_bytes(), type=FolderIndex)
    except (OSError, msgspec.DecodeError):
        known = None
    if known is not None and known.signature == signature:
        return known
    built = build_folder_index(folder, signature)
    _write_cache(stored, built)
    return built


def build_folder_index(folder: Path, signature: str = "") -> FolderIndex:
    """Read every task file below a folder; in one folder, the first file with a name counts."""
    reader = TaskFileReader()
    entries: dict[str, IndexEntry] = {}
    tagged: dict[str, list[str]] = {}
    skipped: list[SkippedFile] = []
    for path in find_task_files(folder):
        try:
            keys = reader.read(path)
        except AuthorError as error:
            skipped.append(SkippedFile(str(path), error.problems[0].what))
            continue
        entry = describe_task_file(keys, path)
        if entry is None:
            skipped.append(SkippedFile(str(path), "it names neither a task nor a group"))
        elif entry.name in entries:
            skipped.append(SkippedFile(str(path), f"{entries[entry.name].path} has the same name"))
        else:
            entries[entry.name] = entry
            for tag in entry.tags if entry.kind is not EntryKind.GROUP else ():
                tagged.setdefault(tag, []).append(entry.name)
    for tag, names in tagged.items():
        # A task or group with the name of a tag is found under that name.
        entries.setdefault(tag, IndexEntry(tag, EntryKind.TAG, members=tuple(sorted(names))))
    return FolderIndex(signature, tuple(entries.values()), tuple(skipped))


def find_task_files(folder: Path) -> list[Path]:
    """Return the task files below a folder, in a fixed order."""
    return sorted(Path(path) for path in _walk_files(folder) if path.endswith(SUFFIX))


def describe_task_file(keys: TaskConfig, path: Path) -> IndexEntry | None:
    """Return what the index keeps about a task file; None if it names neither a task nor a group."""
    kind = next((kind for kind in (EntryKind.CLASS, EntryKind.GROUP, EntryKind.TASK) if kind in keys), None)
    name = keys.get("group" if kind is EntryKind.GROUP else "task")
    if kind is None or not isinstance(name, str):
        return None
    metadata = keys.get("metadata")
    return IndexEntry(
        name,
        kind,
        str(path),
        members=_list_members(keys) if kind is EntryKind.GROUP else (),
        tags=_list_tags(keys),
        alias=str(keys.get("group_alias" if kind is EntryKind.GROUP else "task_alias") or ""),
        output_type="" if kind is EntryKind.GROUP else str(keys.get("output_type") or "generate_until"),
        dataset=_format_dataset(keys),
        split=str(keys.get("test_split") or keys.get("validation_split") or ""),
        shots=shots if isinstance(shots := keys.get("num_fewshot"), int) else None,
        description=_get_description(metadata),
    )


def _list_members(keys: TaskConfig) -> tuple[str, ...]:
    members = keys.get("task")
    several = members if isinstance(members, list) else [members]
    names = (
        member if isinstance(member, str) else member.get("group") or member.get("task")
        for member in several
        if isinstance(member, str | Mapping)
    )
    return tuple(str(name) for name in names if name)


def _list_tags(keys: TaskConfig) -> tuple[str, ...]:
    tags = keys.get("tag")
    return tuple(map(str, tags if isinstance(tags, list) else [tags])) if tags else ()


def _format_dataset(keys: TaskConfig) -> str:
    path, name = keys.get("dataset_path"), keys.get("dataset_name")
    if not path:
        custom = keys.get("custom_dataset")
        return str(custom) if isinstance(custom, FunctionReference) else ""
    return f"{path}:{name}" if name else str(path)


def _get_description(metadata: Any) -> str:
    return str(metadata.get("description") or "") if isinstance(metadata, Mapping) else ""


def _compute_signature(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files below a folder."""
    files = []
    for path in _walk_files(folder):
        status = os.stat(path)
        files.append((path, status.st_size, status.st_mtime_ns))
    return digest((_CACHE_FORMAT, sorted(files)), size=16)


def _walk_files(folder: Path) -> Iterator[str]:
    """Yield the files below a folder that can be task files or parts of them."""
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        yield from (os.path.join(place, name) for name in files if not name.endswith((".py", ".pyc", ".md")))


def _write_cache(path: Path, index: FolderIndex) -> None:
    """Write a cache file; a folder that cannot be written costs time, nothing else."""
    temporary = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(index))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
