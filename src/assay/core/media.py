"""Parts of a message: text, and the images, sounds and films that stand between it.

A medium is named by where it lies and by what is in it. What is in it decides a request's key, so a file that
is moved keeps its answers and one that changes loses them. The bytes are no part of this: a file is read when
it is sent. Only what a dataset itself holds in base64 travels along, while its request is under way.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self, TypeAlias

import msgspec


class Medium(StrEnum):
    """What a model can take beside text."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A stretch of text."""

    text: str


class Media(msgspec.Struct, frozen=True, omit_defaults=True):
    """One image, sound or film: a local file, an address, or data of the dataset itself."""

    medium: ClassVar[Medium]

    media_type: str = ""
    """Such as `image/png`, by the content rather than by the name; empty: an address does not tell."""
    path: str = ""
    """The file; empty: it is none."""
    url: str = ""
    """The address that the model's server fetches it from; empty: it has none."""
    sha256: str = ""
    """Hash of the content; empty: only an address is known."""
    n_bytes: int = 0
    extent: str = ""
    """What a person sees of its size, such as `64x64` or `0.6 s`; empty: the header does not tell."""
    data: str = ""
    """The content in base64, where the dataset holds it so; the frames of a film with commas between. Never
    stored: `prompt.without_data` takes it out."""

    def __str__(self) -> str:
        """Return what stands for it where a person reads: `[image cat.png 64x64]`."""
        where = self.path or self.url or f"{self.media_type} of {self.n_bytes:,} bytes in base64"
        return f"[{self.medium} {where}{self.extent and ' '}{self.extent}]"

    def content(self) -> Self:
        """Return what decides the answer: what it holds, or its address when nobody looked inside."""
        if self.sha256:
            return type(self)(media_type=self.media_type, sha256=self.sha256)
        return type(self)(media_type=self.media_type, url=self.url)


class Image(Media, frozen=True, tag="image"):
    """A picture."""

    medium = Medium.IMAGE


class Audio(Media, frozen=True, tag="audio"):
    """A sound."""

    medium = Medium.AUDIO


class Video(Media, frozen=True, tag="video"):
    """A film."""

    medium = Medium.VIDEO


AnyMedia: TypeAlias = Image | Audio | Video
Part: TypeAlias = Text | Image | Audio | Video

MEDIA: dict[Medium, type[AnyMedia]] = {
    Medium.IMAGE: Image,
    Medium.AUDIO: Audio,
    Medium.VIDEO: Video,
}
"""The part for each medium."""
