"""every_eval_ever's own validator, if there is one on this machine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "ASSAY_EEE_PYTHON"


def validate_records(folder: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the validator's report on each file below `folder/data`; skip the test if there is none."""
    if VARIABLE not in os.environ:
        pytest.skip(
            f"{VARIABLE} does not name the python (3.12 or later) of an environment with every-eval-ever"
        )
    names = [str(one.relative_to(folder)) for one in files]
    done = subprocess.run(
        [os.environ[VARIABLE], "-m", "every_eval_ever", "validate", "--format", "json", *names],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    reports: list[dict[str, Any]] = json.loads(done.stdout)
    return reports
