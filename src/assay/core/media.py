"""Parts of a message: text, images, audio and video.

A medium is identified by its location and its content. The content determines a request's key: a moved file
keeps its answers, and a changed one loses them. The bytes are not part of a medium, because files are read
when they are sent. Only base64 data from the dataset itself is kept, while its request is in progress.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self, TypeAlias

import msgspec


class Medium(StrEnum):
    """What a model can accept besides text."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"


class Text(msgspec.Struct, frozen=True, tag="text"):
    """A piece of text."""

    text: str


class Media(msgspec.Struct, frozen=True, omit_defaults=True):
    """One image, audio or video: a local file, a URL, or data in the dataset itself."""

    medium: ClassVar[Medium]

    media_type: str = ""
    """Such as `image/png`, from the content rather than the name; empty if a URL does not say."""
    path: str = ""
    """The file; empty if it is not a file."""
    url: str = ""
    """The address from which the model's server fetches it; empty without one."""
    sha256: str = ""
    """Hash of the content; empty if only an address is known."""
    n_bytes: int = 0
    extent: str = ""
    """The size shown to people, such as `64x64` or `0.6 s`; empty if the header does not say."""
    data: str = ""
    """The content in base64, if the dataset contains it; the frames of a video are separated by commas. Never
    stored: `prompt.strip_media_data` removes it."""

    def __str__(self) -> str:
        """Return the form shown to people: `[image cat.png 64x64]`."""
        where = self.path or self.url or f"{self.media_type} of {self.n_bytes:,} bytes in base64"
        return f"[{self.medium} {where}{self.extent and ' '}{self.extent}]"

    def content(self) -> Self:
        """Return what determines the answer: the content, or the address if the content is not known."""
        if self.sha256:
            return type(self)(media_type=self.media_type, sha256=self.sha256)
        return type(self)(media_type=self.media_type, url=self.url)


class Image(Media, frozen=True, tag="image"):
    """An image."""

    medium = Medium.IMAGE


class Audio(Media, frozen=True, tag="audio"):
    """An audio clip."""

    medium = Medium.AUDIO


class Video(Media, frozen=True, tag="video"):
    """A video."""

    medium = Medium.VIDEO


AnyMedia: TypeAlias = Image | Audio | Video
Part: TypeAlias = Text | Image | Audio | Video

MEDIA: dict[Medium, type[AnyMedia]] = {
    Medium.IMAGE: Image,
    Medium.AUDIO: Audio,
    Medium.VIDEO: Video,
}
"""The part class for each medium."""
