"""Groups of runs: the runs that one command started together, as `group.json` in a folder of their own.

The runs stay ordinary run folders. The group only names them, so a run can belong to several groups.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from assay.core.errors import Problem, StoreError, listing
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.results.damaged_files import DECODE_ERRORS
from assay.results.draft_file import draft_path, replacing_file
from assay.results.output_folder import build_not_writable_error
from assay.results.read import StoredRun, list_run_folders
from assay.results.store import MANIFEST

GROUP = "group.json"
PAGE = "compare.html"
SCHEMA_VERSION = 1


class GroupMember(msgspec.Struct, frozen=True):
    """One run of a group."""

    run: str
    """The run's id."""
    folder: str
    """The run's folder, relative to that of the group."""
    model: str
    """The model's label, or its name without the address of a server."""
    prompt: str | None = None
    """The name of the prompt; None if the command gave none."""
    problems: tuple[Problem, ...] = ()
    """Why the run did not end, if it did not."""

    @property
    def title(self) -> str:
        """Return the model's name, with that of the prompt if it has one."""
        return f"{self.model} · {self.prompt}" if self.prompt else self.model


class RunGroup(msgspec.Struct, frozen=True):
    """A state: stored as group.json when its runs start, and again when they have ended."""

    id: str
    started: str
    """UTC, ISO 8601."""
    runs: tuple[GroupMember, ...]
    """In the order of the command."""
    finished: str | None = None
    schema_version: int = SCHEMA_VERSION


class StoredGroup:
    """A stored group."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.group = _read_group(path)

    @property
    def folders(self) -> list[Path]:
        """Return the folders of its runs, in the command's order."""
        return [Path(os.path.normpath(self.path / one.folder)) for one in self.group.runs]

    def list_runs(self) -> list[StoredRun]:
        """Return its runs; raise STORE-005 if a folder is missing."""
        return [StoredRun(folder) for folder in self.folders]


def build_group_id(title: str, run_ids: Iterable[str]) -> str:
    """Return the id of a group: equal for the same runs in the same order."""
    ids = list(run_ids)
    return f"{title}-{len(ids)}-runs-{digest(ids)[:8]}"


def require_free_folder(folder: Path, runs: Iterable[str]) -> None:
    """Raise GROUP-005 if a folder contains anything but this group; `runs` are the folders of its runs."""
    if not folder.is_dir():
        return
    if (folder / MANIFEST).is_file():
        what = "the folder contains a single run"
    else:
        own = {GROUP, PAGE, *(draft_path(folder / name).name for name in (GROUP, PAGE)), *runs}
        archived = tuple(f"{name}.old-" for name in runs)
        others = [one.name for one in folder.iterdir() if one.name not in own]
        others = sorted(name for name in others if not name.startswith(archived))
        if not others:
            return
        what = f"the folder contains files that are not of these runs: {listing(others[:3])}"
    fix = "choose another --out, or omit it: each run then gets its own folder"
    raise StoreError(Problem("GROUP-005", what, fix, Origin(str(folder))))


def write_group(folder: Path, group: RunGroup) -> None:
    """Write a group into its folder; a reader sees the old one or the new one, never a part."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing_file(folder / GROUP) as file:
            file.write(msgspec.json.format(msgspec.json.encode(group), indent=1) + b"\n")
    except OSError as error:
        raise build_not_writable_error(folder, error) from error


def is_group_folder(folder: Path) -> bool:
    """Return whether a folder is that of a group."""
    return (folder / GROUP).is_file()


def list_group_folders(root: Path) -> list[Path]:
    """Return the folders of groups under a root, oldest first."""
    if not root.is_dir():
        return []
    found: list[tuple[float, Path]] = []
    for folder in root.iterdir():
        try:
            found.append(((folder / GROUP).stat().st_mtime, folder))
        except OSError:
            continue
    return [folder for _, folder in sorted(found)]


def find_group_folder(name: str, root: Path) -> Path | None:
    """Return the folder of a group by its path, its id or a prefix that begins no run; None without one."""
    if is_group_folder(Path(name)):
        return Path(name)
    folders = {folder.name: folder for folder in list_group_folders(root)}
    if name in folders or not name:
        return folders.get(name)
    matching = [folder for known, folder in folders.items() if known.startswith(name)]
    is_run = any(folder.name.startswith(name) for folder in list_run_folders(root))
    return matching[0] if len(matching) == 1 and not is_run else None


def find_latest_group(root: Path) -> Path | None:
    """Return the folder of the latest group; None if a run is newer."""
    groups = list_group_folders(root)
    if not groups:
        return None
    runs = list_run_folders(root)
    latest = (groups[-1] / GROUP).stat().st_mtime_ns
    is_latest = not runs or latest >= (runs[-1] / MANIFEST).stat().st_mtime_ns
    return groups[-1] if is_latest else None


def _read_group(folder: Path) -> RunGroup:
    path = folder / GROUP
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunGroup)
    except (*DECODE_ERRORS, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        fix = "repeat the `assay run` command, which writes it again; its runs are not affected"
        what = f"the group of runs cannot be read: {why}"
        raise StoreError(Problem("GROUP-008", what, fix, Origin(str(path)))) from error
