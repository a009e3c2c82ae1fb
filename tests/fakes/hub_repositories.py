"""Repositories as a hub keeps them: files by commit, branches and tags. Knows no protocol."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

Kind = Literal["dataset", "model"]
Content = bytes | str | Path
Gated = Literal["auto", "manual", False]

_LARGE = "parquet arrow safetensors bin gguf pt model zip gz png jpg jpeg wav mp3 flac"
LARGE_SUFFIXES = tuple(f".{name}" for name in re.split(" ", _LARGE))
"""What the hub's own .gitattributes keep outside of git."""
LARGE_BYTES = 1_000_000
_CHUNK = 1 << 18


class Blob:
    """The content of one file, in memory or on the disk."""

    def __init__(self, path: str, content: Content) -> None:
        self.path = path
        self._content = content.encode() if isinstance(content, str) else content

    @cached_property
    def size(self) -> int:
        return self._content.stat().st_size if isinstance(self._content, Path) else len(self._content)

    @property
    def is_large(self) -> bool:
        """Whether it is kept outside of git, and so served by another address."""
        return self.size >= LARGE_BYTES or self.path.endswith(LARGE_SUFFIXES)

    @cached_property
    def sha256(self) -> str:
        return self._digest(hashlib.sha256())

    @cached_property
    def oid(self) -> str:
        """The id that git gives the file, or the pointer to it."""
        if not self.is_large:
            return self._digest(hashlib.sha1(b"blob %d\0" % self.size))
        return hashlib.sha1(f"pointer {self.sha256}".encode()).hexdigest()

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes of a range."""
        stop = self.size if stop is None else stop
        if isinstance(self._content, bytes):
            yield self._content[start:stop]
            return
        with self._content.open("rb") as stream:
            stream.seek(start)
            while start < stop and (chunk := stream.read(min(_CHUNK, stop - start))):
                start += len(chunk)
                yield chunk

    def read(self) -> bytes:
        return b"".join(self.chunks())

    def _digest(self, digest: Any) -> str:
        for chunk in self.chunks():
            digest.update(chunk)
        return str(digest.hexdigest())


class Commit:
    """The files of a repository at one time."""

    def __init__(self, files: Mapping[str, Blob], title: str, parent: Commit | None) -> None:
        self.files = dict(sorted(files.items()))
        self.title = title
        self.parent = parent
        named = [(path, blob.oid) for path, blob in self.files.items()]
        text = json.dumps([named, title, parent.sha if parent else None])
        self.sha: str = hashlib.sha1(text.encode()).hexdigest()

    @property
    def folders(self) -> list[str]:
        found = {str(parent) for path in self.files for parent in Path(path).parents if str(parent) != "."}
        return sorted(found)

    @cached_property
    def card(self) -> dict[str, Any]:
        """What the head of README.md says."""
        readme = self.files.get("README.md")
        parts = readme.read().decode().split("---\n", 2) if readme else []
        return dict(yaml.safe_load(parts[1]) or {}) if len(parts) == 3 and not parts[0].strip() else {}


class Repository:
    """A dataset or model with its history."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        *,
        gated: Gated = False,
        is_private: bool = False,
        tags: tuple[str, ...] = (),
        downloads: int = 0,
    ) -> None:
        self.name = name
        self.kind: Kind = kind
        self.gated: Gated = gated
        self.is_private = is_private
        self.tags = tags
        self.downloads = downloads
        self.refs: dict[str, Commit] = {}
        """Branches, tags and converted branches by name."""

    @property
    def head(self) -> Commit:
        return self.refs["main"]

    def commit(self, files: Mapping[str, Content], title: str = "Add files", *, branch: str = "main") -> str:
        """Add or replace files on a branch; return the sha."""
        parent = self.refs.get(branch)
        blobs = {**(parent.files if parent else {}), **{path: Blob(path, at) for path, at in files.items()}}
        self.refs[branch] = Commit(blobs, title, parent)
        return self.refs[branch].sha

    def tag(self, name: str) -> None:
        """Name the newest commit."""
        self.refs[f"refs/tags/{name}"] = self.head

    def at(self, revision: str) -> Commit | None:
        """Return the commit that a branch, tag or sha (also a beginning of one) names."""
        for ref in (revision, f"refs/tags/{revision}", revision.removeprefix("refs/heads/")):
            if ref in self.refs:
                return self.refs[ref]
        return next(
            (one for one in self.commits() if len(revision) >= 7 and one.sha.startswith(revision)), None
        )

    def commits(self) -> Iterator[Commit]:
        """Yield all commits, the newest of each branch first."""
        for ref in self.refs.values():
            commit: Commit | None = ref
            while commit is not None:
                yield commit
                commit = commit.parent

    def weights(self, commit: Commit) -> dict[str, int]:
        """Return how many parameters of which type the .safetensors files hold."""
        counts: dict[str, int] = {}
        for path, blob in commit.files.items():
            if path.endswith(".safetensors") and blob.size > 8:
                (length,) = struct.unpack("<Q", b"".join(blob.chunks(0, 8)))
                if length > blob.size:
                    continue
                head = json.loads(b"".join(blob.chunks(8, 8 + length)))
                for name, tensor in head.items():
                    if name != "__metadata__":
                        n = 1
                        for size in tensor["shape"]:
                            n *= size
                        counts[tensor["dtype"]] = counts.get(tensor["dtype"], 0) + n
        return counts
