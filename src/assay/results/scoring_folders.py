"""Where scorings of a run lie, for those who look for what a scoring shares with its run."""

from __future__ import annotations

import re
from pathlib import Path

SCORINGS = "scorings"
DRAFTS = ".scorings"
"""Beside the scorings, so that links lead to the same place before and after a draft becomes one."""
SCORING_NAME = re.compile(r"(?P<number>\d{3,})-(?P<label>.+)")


def find_parent_run(folder: Path) -> Path | None:
    """Return the run that a folder is a scoring of, or the draft of one; None where it is neither."""
    found = folder.resolve()
    if found.parent.name in (SCORINGS, DRAFTS) and SCORING_NAME.fullmatch(found.name):
        return found.parent.parent
    return None
