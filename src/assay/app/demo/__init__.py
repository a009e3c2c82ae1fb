"""The demonstration: a folder with bundled questions, and the settings of their evaluation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from assay.app.open_model import open_model
from assay.app.settings import Settings, resolve_settings

QUESTIONS = "questions.csv"
RUNS = "runs"
_SETTINGS = {
    "method": ("ppl", "gen"),
    "max_tokens": 16,
    "table": {"ppl_target": "text", "category_column": "topic"},
}


def prepare_demo(folder: Path, model: str) -> tuple[Path, Settings]:
    """Write the questions into a folder and return their file and the settings of the run.

    Raises before anything is written if the model's packages are missing. Questions that are already there
    stay as they are: people edit them. Settings of the project and of the user play no part.
    """
    flags = {**_SETTINGS, "model": model, "runs_dir": str(folder / RUNS)}
    settings = resolve_settings(flags, {}, folder)
    open_model(settings.values)
    file = folder / QUESTIONS
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_bytes(files(__package__).joinpath(QUESTIONS).read_bytes())
    return file, settings
