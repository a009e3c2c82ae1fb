"""Names of datasets on the Hugging Face hub as people write them. Does not check that they exist."""

from __future__ import annotations

import re
from typing import NamedTuple

from assay.hub.repository import is_commit
from assay.sources.files import find_suffix

SCHEME = "hf://"
_REPOSITORY = r"[\w.-]+(?:/[\w.-]+)?"
_NAME = re.compile(
    rf"(?P<repository>{_REPOSITORY})(?::(?P<config>[^@#]+))?(?:@(?P<revision>[^#]+))?(?:#(?P<split>.+))?",
    re.ASCII,
)
_PAGE = re.compile(rf"https?://[^/]+/datasets/(?P<repository>{_REPOSITORY})/?.*", re.ASCII)


class HubName(NamedTuple):
    """The parts of `hf://ORG/NAME[:config][@revision][#split]`."""

    repository: str
    """`ORG/NAME`, or only `NAME` for some datasets older than organizations."""
    config: str | None = None
    revision: str | None = None
    """A branch, a tag or a commit; None: the newest."""
    split: str | None = None

    @property
    def is_pinned(self) -> bool:
        """Whether the name always means the same rows."""
        return is_commit(self.revision or "")

    def __str__(self) -> str:
        return f"{SCHEME}{self.short}"

    @property
    def short(self) -> str:
        """The name without `hf://`."""
        parts = (("", self.repository), (":", self.config), ("@", self.revision), ("#", self.split))
        return "".join(f"{mark}{part}" for mark, part in parts if part is not None)


def is_address(text: str) -> bool:
    """Return whether a text can only be the name of a dataset on the hub."""
    return text.startswith(SCHEME) or _PAGE.fullmatch(text) is not None


def parse_hub_name(text: str) -> HubName | None:
    """Return the parts of a name that may be a dataset on the hub; None if it cannot be one.

    Without `hf://`, the name needs an organization and must not look like a file path.
    """
    if page := _PAGE.fullmatch(text):
        return HubName(page["repository"])
    bare = text.removeprefix(SCHEME).removeprefix("datasets/") if text.startswith(SCHEME) else text
    match = _NAME.fullmatch(bare)
    if match is None or ".." in match["repository"]:
        return None
    name = HubName(**match.groupdict())
    if text.startswith(SCHEME):
        return name
    organization, _, last = name.repository.partition("/")
    is_path = not last or organization in (".", "~") or find_suffix(last) or last.endswith(".py")
    return None if is_path else name
