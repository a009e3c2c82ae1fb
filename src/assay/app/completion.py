"""Names for shell completion: run ids, benchmarks, profiles. Fast, and silent about problems.

A shell asks on every press of the tab key, so nothing is listed that takes long to find, and an error, such
as a damaged settings file, only means that there are no names: the command itself will report it.
"""

from __future__ import annotations

import os
from pathlib import Path

from assay.app.settings import RunSettings, resolve_settings
from assay.app.settings_files import read_settings_files
from assay.core.errors import AssayError


def list_run_names(given_folder: str | None) -> list[str]:
    """Return the ids of the runs, latest first, and `last`."""
    from assay.results.read import list_run_folders

    try:
        root = Path(resolve_settings({"runs_dir": given_folder}, os.environ, Path.cwd()).values.runs_dir)
        folders = list_run_folders(root)
    except (AssayError, OSError):
        return []
    return [*(("last",) if folders else ()), *(folder.name for folder in reversed(folders))]


def list_benchmark_names(prefix: str) -> list[str]:
    """Return the benchmarks that begin with a prefix such as `lm_eval:mm`; without a colon, the sources.

    Names come from the list that an earlier `assay ls benchmarks` or run stored.
    """
    from assay.app.benchmark_index import read_stored_benchmarks
    from assay.app.benchmark_sources import SOURCES
    from assay.app.benchmarks import find_folders

    source, colon, start = prefix.partition(":")
    if not colon:
        return [f"{name}:" for name in SOURCES if prefix and name.startswith(prefix)]
    if source not in SOURCES:
        return []
    try:
        values = resolve_settings({}, os.environ, Path.cwd()).values
        folders = find_folders(SOURCES[source], values)
    except (AssayError, OSError):
        return []
    names = {one.name for folder in folders for one in read_stored_benchmarks(folder)}
    return [f"{source}:{name}" for name in sorted(names) if name.startswith(start)]


def list_profiles() -> list[str]:
    """Return the profiles of the settings files."""
    try:
        files = read_settings_files(os.environ, Path.cwd())
    except (AssayError, OSError):
        return []
    return list(dict.fromkeys(name for file in files for name in file.profiles))


def list_setting_names() -> tuple[str, ...]:
    """Return the names of all settings."""
    return RunSettings.__struct_fields__


def list_model_kinds() -> list[str]:
    """Return the models without a name, and what the names of the others begin with."""
    from assay.backends.registry import BACKENDS

    alone = ("mock", "smollm2")
    return [*alone, *(f"{name}:" for name in sorted(BACKENDS) if name not in alone)]
