"""Files of settings: which ones apply in a folder, and what they and their profiles say.

The project file is `assay.toml` in the working folder or, inside a repository, in the nearest parent folder
up to the one that contains `.git`. The home file applies everywhere.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.origin import Origin

FILE = "assay.toml"
PROFILES = "profiles"
"""The table of a file that contains its profiles."""
PROFILE_VARIABLE = "ASSAY_PROFILE"
HOME_FILE_VARIABLE = "ASSAY_CONFIG"
_PATHS = ("out", "runs_dir", "data_root", "meta", "include_path", "benchmarks_from")
"""Settings whose values are paths."""
_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class SettingsFile(NamedTuple):
    """A file of settings."""

    source: str
    """`file`: the project's; `home`: the user's."""
    path: Path
    name: str
    """The path as messages show it."""
    exists: bool
    values: Mapping[str, Any]
    profiles: Mapping[str, Mapping[str, Any]]


class SettingsLayer(NamedTuple):
    """Settings from one source. Later layers override earlier ones."""

    source: str
    """home, file, profile NAME, env or flag."""
    place: str
    """The file, such as `assay.toml`; empty for flags and variables."""
    values: Mapping[str, Any]
    profile: str | None = None

    def name(self, setting: str) -> str:
        """Return a setting of a file as messages name it."""
        return f"{setting!r} {'in' if self.profile is None else f'of {self.source} in'} {self.place}"


def is_profile_name(text: str) -> bool:
    """Return whether a text can be the name of a profile: letters, digits, hyphens and underscores."""
    return _PROFILE_NAME.fullmatch(text) is not None


def read_settings_files(environment: Mapping[str, str], folder: Path) -> tuple[SettingsFile, ...]:
    """Return the home file, if the environment names a home folder, and then the project file."""
    files = []
    home = _find_home_file(environment)
    if home is not None:
        files.append(_read_file("home", home, folder, str(home)))
    path = _find_project_file(folder)
    name = FILE if path.parent == folder else str(path)
    files.append(_read_file("file", path, folder, name))
    return tuple(files)


def build_layers(files: tuple[SettingsFile, ...], profile: str | None) -> list[SettingsLayer]:
    """Return the settings of the files and of a profile; the project's profile overrides the home file's."""
    if profile is not None:
        _check_profile(profile, files)
    layers = [SettingsLayer(file.source, file.name, file.values) for file in files]
    return layers + [one for file in files for one in list_profile_layers(file) if one.profile == profile]


def list_profile_layers(file: SettingsFile) -> list[SettingsLayer]:
    """Return the settings of each profile of a file."""
    return [
        SettingsLayer(f"profile {name}", file.name, values, name) for name, values in file.profiles.items()
    ]


def _check_profile(profile: str, files: tuple[SettingsFile, ...]) -> None:
    names = sorted({name for file in files for name in file.profiles})
    if profile in names:
        return
    places = " or ".join(file.name for file in files)
    use = f"use one of {listing(names)}, or " if names else ""
    table = f"[{PROFILES}.{profile}]"
    raise UsageError(
        Problem(
            "USAGE-030",
            f"there is no profile {profile!r}{suggest_name(profile, names)}",
            f"{use}add a table {table} to {places}; `--timings` prints where the time of a run goes",
        )
    )


def _find_home_file(environment: Mapping[str, str]) -> Path | None:
    """Return the user's own file; None if the environment names no home folder."""
    named = environment.get(HOME_FILE_VARIABLE)
    if named == os.devnull:
        return None
    if named:
        if not Path(named).exists():
            what = f"{HOME_FILE_VARIABLE} names the file {named!r}, which does not exist"
            raise UsageError(Problem("USAGE-031", what, f"create the file, or unset {HOME_FILE_VARIABLE}"))
        return Path(named)
    if configs := environment.get("XDG_CONFIG_HOME"):
        return Path(configs) / "assay" / FILE
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) / ".config" / "assay" / FILE if home else None


def _find_project_file(folder: Path) -> Path:
    """Return the nearest file. Outside of a repository, parents do not count: they may be other people's."""
    parents = (folder, *folder.absolute().parents)
    for at, parent in enumerate(parents):
        if (parent / ".git").exists():
            candidates = (one / FILE for one in parents[: at + 1])
            return next((path for path in candidates if path.is_file()), folder / FILE)
    return folder / FILE


def _read_file(source: str, path: Path, folder: Path, name: str) -> SettingsFile:
    if not path.exists():
        return SettingsFile(source, path, name, exists=False, values={}, profiles={})
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            Problem("USAGE-003", f"the file is not valid TOML: {error}", "correct the file", Origin(name))
        ) from error
    # Paths in a file of a parent folder mean the same from every folder of the project.
    base = path.parent if source == "file" and path.parent != folder else None
    profiles = _read_profiles(values.pop(PROFILES, {}), name)
    return SettingsFile(
        source,
        path,
        name,
        exists=True,
        values=_locate_paths(values, base),
        profiles={profile: _locate_paths(own, base) for profile, own in profiles.items()},
    )


def _read_profiles(given: Any, file: str) -> dict[str, dict[str, Any]]:
    example = f"write [{PROFILES}.ci] and the profile's settings below it"
    if not isinstance(given, dict) or not all(isinstance(own, dict) for own in given.values()):
        raise UsageError(
            Problem("USAGE-032", f"{PROFILES!r} contains a value that is no table", example, Origin(file))
        )
    for name in given:
        if not is_profile_name(name):
            what = f"{name!r} cannot be the name of a profile, which may only have letters, digits, - and _"
            raise UsageError(Problem("USAGE-032", what, "choose another name", Origin(file)))
    return given


def _locate_paths(values: Mapping[str, Any], base: Path | None) -> dict[str, Any]:
    """Return the values of a file: `~` is the home folder, and relative paths begin at `base`."""

    def locate(path: Any) -> Any:
        if not isinstance(path, str):
            return path
        expanded = Path(path).expanduser() if path.startswith("~") else Path(path)
        return path if base is None and expanded == Path(path) else str((base or Path()) / expanded)

    return {
        name: value
        if name not in _PATHS
        else [locate(one) for one in value]
        if isinstance(value, list)
        else locate(value)
        for name, value in values.items()
    }
