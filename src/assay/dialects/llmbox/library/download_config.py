"""The one name of the `datasets` package that dataset files use; it has no effect here."""

from __future__ import annotations

from typing import Any


class DownloadConfig:
    """Settings of a download, kept as they were given and without effect."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
