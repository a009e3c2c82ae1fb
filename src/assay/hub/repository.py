"""A repository on the hub: its files at a commit, its branches and tags, and its files in the cache."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from assay.core.download import format_folder
from assay.core.errors import listing
from assay.hub.client import cache_folder, is_offline, quiet_client
from assay.hub.errors import HubTrouble, TroubleKind, first_line, hub_calls

RepositoryKind = Literal["model", "dataset"]

DEFAULT_REVISION = "main"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,39}")
_ANSWER_WITHIN_S = 30.0
_RETRY_WAITS_S = (0.5, 2.0)
"""Waits between attempts to look up a repository if the hub fails."""
_PATHS_AT_ONCE = 500
_MOST_SIMILAR = 3
_LOOKED_AT = 50
_LIKE = 75
"""Minimum similarity, in percent, of a suggested name."""


def is_commit(revision: str) -> bool:
    """Return whether a revision is a whole commit, which never changes, and not a branch or tag."""
    return _COMMIT.fullmatch(revision) is not None


class RepositoryFile(NamedTuple):
    """A file at a commit, as listed by the hub."""

    path: str
    size: int
    blob: str | None = None
    """The name of its content in the cache: its SHA-256 if it is stored outside git, else its git id."""
    is_large: bool = False
    """Whether it is stored outside git, so that `blob` is a SHA-256."""


class Snapshot(NamedTuple):
    """A repository at one commit."""

    commit: str
    files: dict[str, RepositoryFile]
    is_cached: bool = False
    """Whether only the cache was read: `files` are those in the cache."""
    unreached: str | None = None
    """Why the cache was read instead of the hub; None: the hub answered, or was not contacted."""
    name: str = ""
    """The repository's current name on the hub; empty if the hub was not contacted."""
    is_gated: bool = False
    """Whether files are available only to users with access."""


class Repository:
    """A model or dataset by name, at a revision."""

    def __init__(self, name: str, revision: str | None = None, kind: RepositoryKind = "model") -> None:
        self.name = name
        self.kind: RepositoryKind = kind
        self.revision = revision or DEFAULT_REVISION
        """The requested branch, tag or commit."""

    # --- from the hub ---

    def resolve(self) -> Snapshot:
        """Return the revision's current commit with its files; from the cache if offline.

        If the hub cannot be reached, a cached commit of a branch is used: `unreached` says why.
        """
        if is_offline():
            return self._find_cached_snapshot()
        try:
            return self.list_files()
        except HubTrouble as trouble:
            if not trouble.may_pass or (commit := self.find_cached_commit()) is None:
                raise
            return self._read_cache(commit)._replace(unreached=trouble.detail)

    def list_files(self, *, with_sizes: bool = True) -> Snapshot:
        """Return the revision's current commit with its files, as listed by the hub."""
        for wait_s in (*_RETRY_WAITS_S, None):
            try:
                return self._ask(with_sizes)
            except HubTrouble as trouble:
                # A server error may be temporary; a missing server usually is not.
                if wait_s is None or trouble.kind is not TroubleKind.SERVER or not trouble.may_pass:
                    raise
                time.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def _ask(self, with_sizes: bool) -> Snapshot:
        with quiet_client() as client, hub_calls():
            try:
                info = client.HfApi().repo_info(
                    self.name,
                    repo_type=self.kind,
                    revision=self.revision,
                    files_metadata=with_sizes,
                    timeout=_ANSWER_WITHIN_S,
                )
                files = [_read_file(sibling.rfilename, sibling) for sibling in info.siblings or ()]
            except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
                what = f"the answer is not a hub's: {first_line(error)}"
                raise HubTrouble(TroubleKind.SERVER, what) from error
        listed = {file.path: file for file in files}
        return Snapshot(info.sha, listed, name=info.id, is_gated=bool(info.gated))

    def check_access(self) -> None:
        """Raise if the files may not be read; the file list of a gated repository is public."""
        with quiet_client() as client, hub_calls():
            client.HfApi().auth_check(self.name, repo_type=self.kind)

    def find_files(self, paths: Sequence[str]) -> list[RepositoryFile]:
        """Return the named files with their sizes, for repositories whose full list would be long."""
        files: list[RepositoryFile] = []
        with quiet_client() as client, hub_calls():
            for begin in range(0, len(paths), _PATHS_AT_ONCE):
                batch = list(paths[begin : begin + _PATHS_AT_ONCE])
                files += [
                    _read_file(info.path, info)
                    for info in client.HfApi().get_paths_info(
                        self.name, batch, revision=self.revision, repo_type=self.kind
                    )
                ]
        return files

    def revisions(self) -> list[str]:
        """Return the names of its branches and tags; empty if the hub does not list them."""
        with suppress(HubTrouble), quiet_client() as client, hub_calls():
            refs = client.HfApi().list_repo_refs(self.name, repo_type=self.kind)
            return [ref.name for ref in (*refs.branches, *refs.tags)]
        return []

    def find_similar_names(self) -> list[str]:
        """Return similar names from the hub's search, most similar first; empty if the search fails."""
        from rapidfuzz import fuzz

        organization, _, alone = self.name.rpartition("/")
        begin = alone[: max(3, len(alone) * 2 // 3)]
        searches: list[dict[str, str]] = [{"search": alone}, {"search": begin}]
        searches += [{"author": organization}] if organization else []
        scores: dict[str, float] = {}
        for words in searches:
            with suppress(HubTrouble), quiet_client() as client, hub_calls():
                api = client.HfApi()
                search = api.list_models if self.kind == "model" else api.list_datasets
                for match in search(**words, limit=_LOOKED_AT):
                    similarity = fuzz.ratio(match.id.rpartition("/")[2].lower(), alone.lower())
                    scores[match.id] = max(similarity, fuzz.ratio(match.id.lower(), self.name.lower()))
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        return [name for name in ranked if scores[name] >= _LIKE][:_MOST_SIMILAR]

    # --- from the cache ---

    @property
    def folder(self) -> Path:
        """Return its folder in the cache."""
        return cache_folder() / "--".join((f"{self.kind}s", *self.name.split("/")))

    def snapshot_folder(self, commit: str) -> Path:
        """Return the folder with the files of a commit, by their paths."""
        return self.folder / "snapshots" / commit

    def list_cached_commits(self) -> list[str]:
        """Return the commits with files in the cache."""
        return _names(self.folder / "snapshots")

    def find_cached_commit(self) -> str | None:
        """Return the revision's commit when the cache was filled; None if the cache does not know it."""
        commits = self.list_cached_commits()
        if is_commit(self.revision):
            return self.revision if self.revision in commits else None
        ref = self.folder / "refs" / self.revision
        if ref.is_file() and (commit := ref.read_text("utf-8").strip()) in commits:
            return commit
        if _SHORT_COMMIT.fullmatch(self.revision):
            return next((commit for commit in commits if commit.startswith(self.revision)), None)
        return None

    def find_cached(self) -> Snapshot | None:
        """Return the cached files of the revision; None if there are none. Does not contact the hub."""
        commit = self.find_cached_commit()
        return None if commit is None else self._read_cache(commit)

    def list_cached_revisions(self) -> list[str]:
        """Return the branches, tags and commits with files in the cache."""
        refs = self.folder / "refs"
        named = [ref for ref in sorted(refs.rglob("*")) if ref.is_file()] if refs.is_dir() else []
        known = {ref.read_text("utf-8").strip(): str(ref.relative_to(refs)) for ref in named}
        return [known.get(commit, commit) for commit in self.list_cached_commits()]

    def _find_cached_snapshot(self) -> Snapshot:
        commit = self.find_cached_commit()
        if commit is None:
            cached = self.list_cached_revisions()
            what = (
                f"the cache has {self.name} at {listing(cached)}, not at {self.revision!r}"
                if cached
                else f"{self.name} is not in the cache {format_folder(cache_folder())}"
            )
            raise HubTrouble(TroubleKind.OFFLINE, what)
        return self._read_cache(commit)

    def _read_cache(self, commit: str) -> Snapshot:
        folder = self.snapshot_folder(commit)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        files = {str(path.relative_to(folder)): path.stat().st_size for path in paths}
        return Snapshot(commit, {path: RepositoryFile(path, files[path]) for path in files}, is_cached=True)

    def remember(self, commit: str, *, is_complete: bool) -> None:
        """Store the revision's commit for a later offline run; the cache may be read-only.

        An incompletely downloaded commit does not replace another one.
        """
        ref = self.folder / "refs" / self.revision
        is_known = ref.is_file() and (not is_complete or ref.read_text("utf-8") == commit)
        if is_commit(self.revision) or is_known:
            return
        with suppress(OSError):
            ref.parent.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=ref.parent, prefix=".")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(commit)
            os.replace(draft, ref)


def list_cached_names(kind: RepositoryKind = "model") -> list[str]:
    """Return the names of all repositories with files in the cache."""
    prefix = f"{kind}s--"
    folders = [name for name in _names(cache_folder()) if name.startswith(prefix)]
    cached = [name for name in folders if _names(cache_folder() / name / "snapshots")]
    return [name.removeprefix(prefix).replace("--", "/", 1) for name in cached]


def _read_file(path: str, info: Any) -> RepositoryFile:
    size = int(info.size or 0)
    if info.lfs is not None:
        return RepositoryFile(path, size, info.lfs.sha256, is_large=True)
    return RepositoryFile(path, size, info.blob_id)


def _names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir()) if folder.is_dir() else []
