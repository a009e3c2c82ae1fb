"""The settings that apply here, each with its source: the data of `assay config`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.app.config_declarations import KEY_VARIABLE
from assay.app.settings import RunSettings, Settings
from assay.app.settings_files import HOME_FILE_VARIABLE, PROFILE_VARIABLE, read_settings_files
from assay.core.errors import Problem, UsageError, listing, suggest_name

_OTHER_VARIABLES = {
    *(PROFILE_VARIABLE, HOME_FILE_VARIABLE, "ASSAY_CACHE", "ASSAY_VIEW_TOKEN", "ASSAY_COMPLETE"),
}
"""Variables of Assay that are not settings of a run."""
_TEAM = "ASSAY_TEAM_"


class ReportedSetting(msgspec.Struct, frozen=True):
    """The value of a setting and where it comes from."""

    name: str
    value: Any
    """A secret is hidden."""
    source: str
    """flag, env, profile NAME, file (the project's), home (the user's) or default."""
    place: str
    """The file or the variable; empty for flags and defaults."""


class ReportedFile(msgspec.Struct, frozen=True):
    """A file of settings."""

    kind: Literal["project", "home"]
    path: str
    exists: bool
    profiles: tuple[str, ...]


class ConfigReport(msgspec.Struct, frozen=True):
    """The settings that apply in a folder."""

    files: tuple[ReportedFile, ...]
    profile: str | None
    """The profile in use."""
    settings: tuple[ReportedSetting, ...]
    unused_variables: dict[str, str]
    """Environment variables that look like settings but have no effect, and the most similar name."""


def report_config(settings: Settings, names: tuple[str, ...] = ()) -> ConfigReport:
    """Return settings with their sources; `names` selects some, otherwise all."""
    for name in names:
        if name not in RunSettings.__struct_fields__:
            known = RunSettings.__struct_fields__
            what = f"there is no setting {name!r}{suggest_name(name, known)}"
            raise UsageError(Problem("USAGE-001", what, f"use one of {listing(known, at_most=40)}"))
    files = read_settings_files(os.environ, Path.cwd())
    return ConfigReport(
        tuple(
            ReportedFile(
                "home" if file.source == "home" else "project", file.name, file.exists, tuple(file.profiles)
            )
            for file in files
        ),
        settings.profile,
        tuple(
            ReportedSetting(name, setting.value, setting.source, _find_place(settings, name, setting.source))
            for name, setting in settings.to_manifest().items()
            if not names or name in names
        ),
        find_unused_variables(os.environ),
    )


def find_unused_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables named like a setting that are none, with the most similar name or an empty text."""
    known = {f"ASSAY_{name.upper()}" for name in RunSettings.__struct_fields__} | _OTHER_VARIABLES
    return {
        name: suggest_name(name, sorted(known)).strip()
        for name in sorted(environment)
        if name.startswith("ASSAY_") and name not in known and not name.startswith((_TEAM, KEY_VARIABLE))
    }


def _find_place(settings: Settings, name: str, source: str) -> str:
    return f"ASSAY_{name.upper()}" if source == "env" else settings.places.get(name, "")
