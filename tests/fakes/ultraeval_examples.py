"""examples/ultraeval as a person has it who follows its README: raw data linked, data prepared."""

from __future__ import annotations

import shutil
from pathlib import Path

from assay.app.dataset_state import DatasetState
from assay.app.prepare import prepare

EXAMPLES = Path(__file__).parents[2] / "examples" / "ultraeval"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("datasets/*/make_dataset.py"))


def prepared_examples(place: Path, raw_data: Path) -> Path:
    """Copy the examples to `place`/examples/ultraeval and make their data; return the folder of datasets."""
    copy = place / "examples" / "ultraeval"
    # What somebody has prepared in the repository itself plays no part.
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("data", "RawData", "__pycache__"))
    (copy / "RawData").symlink_to(raw_data)
    for one in prepare([copy / "datasets" / name for name in NAMES]):
        assert one.state is DatasetState.OK, one.problem
    return copy / "datasets"
