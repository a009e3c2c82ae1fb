"""examples/ultraeval as a person has it who follows its README: raw data linked, data prepared."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "ultraeval"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("datasets/*/make_dataset.py"))


def prepared_examples(place: Path, raw_data: Path) -> Path:
    """Copy the examples to `place`/examples/ultraeval and make their data; return the folder of datasets."""
    copy = place / "examples" / "ultraeval"
    # What somebody has prepared in the repository itself plays no part.
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("data", "RawData", "__pycache__"))
    (copy / "RawData").symlink_to(raw_data)
    for name in NAMES:
        subprocess.run([sys.executable, copy / "datasets" / name / "make_dataset.py"], check=True)
    return copy / "datasets"
