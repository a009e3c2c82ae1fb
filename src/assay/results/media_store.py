"""The images, audio and video of a run's prompts, stored as RUN/media/<sha256>.<extension>.

Pages show media only from here, so a dataset may move, and no address is ever fetched. A file is stored after
its bytes matched the hash in samples.jsonl, with an extension derived from its content. Types that a browser
would execute, such as SVG or HTML, are not stored. Files are copied and not linked, since a file that is
overwritten later would show another picture than the model saw.

Must not know datasets, servers or pages.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from assay.core.media import AnyMedia, Medium
from assay.core.prompt import Prompt
from assay.core.request import Request
from assay.core.sizes import format_size
from assay.results.scoring_folders import find_parent_run

MEDIA_FOLDER = "media"

EXTENSIONS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/webm": "weba",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/ogg": "ogv",
}
"""The stored types: those that browsers show and do not execute."""

MediaTypeOf: TypeAlias = Callable[[BinaryIO, Medium], str]
"""Returns the type of a medium from its content, such as `image/png`; empty if unknown."""

_ADDRESS: Final = "known only by their address"
_FRAMES: Final = "videos given as single frames"
_TYPE: Final = "of a type that browsers do not show"
_UNAVAILABLE: Final = "missing or changed since"
_OVER_LIMIT: Final = "over the limit of --keep-media {room}"
_DRAFT: Final = ".new"
_CHUNK: Final = 1 << 20


class StoredMedium(NamedTuple):
    """One file of the media folder."""

    path: Path
    media_type: str


def get_media_folder(run: Path) -> Path:
    """Return the media folder of a run; a scoring shares that of its run."""
    return (find_parent_run(run) or run).resolve() / MEDIA_FOLDER


def find_medium(run: Path, sha256: str) -> StoredMedium | None:
    """Return the stored medium with this hash; None if there is none or the text is not a hash."""
    if not _is_hash(sha256):
        return None  # For example a path that leads out of the folder.
    folder = get_media_folder(run)
    for media_type, extension in EXTENSIONS.items():
        path = folder / f"{sha256}.{extension}"
        # A link could lead anywhere; the store creates none.
        if path.is_file() and path.resolve() == path:
            return StoredMedium(path, media_type)
    return None


class MediaStore:
    """Stores the media of one run, each once, up to a size limit."""

    def __init__(self, run: Path, most_bytes: int, media_type_of: MediaTypeOf) -> None:
        self._folder = run / MEDIA_FOLDER
        self._most_bytes = most_bytes
        self._media_type_of = media_type_of
        self._seen: set[str] = set()
        self._left_out: Counter[str] = Counter()
        self._n_bytes = 0
        if self._folder.is_dir():
            self._resume()

    def keep(self, requests: Iterable[Request]) -> None:
        """Store the media in the prompts of requests; count those that cannot be stored."""
        self.keep_prompts(request.ask.prompt for request in requests)

    def keep_prompts(self, prompts: Iterable[Prompt]) -> None:
        """Store the media in prompts; count those that cannot be stored."""
        if not self._most_bytes:
            return
        for prompt in prompts:
            if isinstance(prompt, str):
                continue
            for message in prompt:
                for part in message.media:
                    self._store_once(part)

    def notes(self) -> tuple[str, ...]:
        """Return a note with the number of omitted media and the reasons."""
        if not self._left_out:
            return ()
        n_left_out = self._left_out.total()
        room = format_size(self._most_bytes)
        reasons = ", ".join(f"{n:,} {why.format(room=room)}" for why, n in self._left_out.most_common())
        return (f"{n_left_out:,} of {len(self._seen):,} media are not stored with the run: {reasons}",)

    def _resume(self) -> None:
        """Count what an earlier start stored, and remove an incomplete file."""
        for path in self._folder.iterdir():
            if path.name == _DRAFT:
                path.unlink()
            else:
                self._seen.add(path.stem)
                self._n_bytes += path.stat().st_size

    def _store_once(self, part: AnyMedia) -> None:
        name = part.sha256 or part.url
        if name in self._seen:
            return
        self._seen.add(name)
        reason = self._try_to_store(part)
        if reason is not None:
            self._left_out[reason] += 1

    def _try_to_store(self, part: AnyMedia) -> str | None:
        """Store a medium; return the reason if it was not stored, otherwise None."""
        if not part.sha256:
            return _ADDRESS
        if not part.path and "," in part.data:
            return _FRAMES
        if self._n_bytes + part.n_bytes > self._most_bytes:
            return _OVER_LIMIT
        try:
            with _open_medium(part) as source:
                extension = self._extension(source, part.medium)
                if extension is None:
                    return _TYPE
                self._copy(_content(source, part), f"{part.sha256}.{extension}")
        except _UnavailableError:
            return _UNAVAILABLE
        return None

    def _extension(self, source: BinaryIO, medium: Medium) -> str | None:
        try:
            return EXTENSIONS.get(self._media_type_of(source, medium))
        except OSError as trouble:
            raise _UnavailableError from trouble

    def _copy(self, content: Iterator[bytes], name: str) -> None:
        """Write a medium completely or not at all."""
        self._folder.mkdir(exist_ok=True)
        draft = self._folder / _DRAFT
        try:
            with open(draft, "wb") as target:
                n_bytes = sum(target.write(chunk) for chunk in content)
        except _UnavailableError:
            draft.unlink()
            raise
        draft.replace(self._folder / name)
        self._n_bytes += n_bytes


class _UnavailableError(Exception):
    """A medium cannot be read, or is not what the model saw."""


def _open_medium(part: AnyMedia) -> BinaryIO:
    """Open a medium for reading."""
    if not part.path:
        return io.BytesIO(base64.b64decode(part.data))
    try:
        if not stat.S_ISREG(os.stat(part.path).st_mode):
            raise _UnavailableError  # Opening a pipe would block until someone writes to it.
        return open(part.path, "rb")
    except OSError as trouble:
        raise _UnavailableError from trouble


def _content(source: BinaryIO, part: AnyMedia) -> Iterator[bytes]:
    """Yield the content from its beginning; raise at the end if its hash is not the request's."""
    sha256 = hashlib.sha256()
    n_left = part.n_bytes + 1  # A limit, since a growing file must not fill the disk.
    try:
        source.seek(0)
        while n_left and (chunk := source.read(min(_CHUNK, n_left))):
            sha256.update(chunk)
            n_left -= len(chunk)
            yield chunk
    except OSError as trouble:
        raise _UnavailableError from trouble
    if sha256.hexdigest() != part.sha256:
        raise _UnavailableError


def _is_hash(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
