"""Names of the folders that store scorings, and the way from a scoring to its run."""

from __future__ import annotations

import re
from pathlib import Path

SCORINGS = "scorings"
DRAFTS = ".scorings"
"""Next to the scorings, so that relative links stay valid when a draft is moved."""
SCORING_NAME = re.compile(r"(?P<number>\d{3,})-(?P<label>.+)")


def find_parent_run(folder: Path) -> Path | None:
    """Return the run of a scoring or of a draft of one; None for any other folder."""
    path = folder.resolve()
    if path.parent.name in (SCORINGS, DRAFTS) and SCORING_NAME.fullmatch(path.name):
        return path.parent.parent
    return None
