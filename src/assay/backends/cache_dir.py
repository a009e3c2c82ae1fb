"""The folder that keeps converted weights and file hashes between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return `$ASSAY_CACHE`, else `$XDG_CACHE_HOME/assay`, else `~/.cache/assay`. May not exist yet."""
    if own := os.environ.get("ASSAY_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "assay"
    return Path.home() / ".cache" / "assay"
