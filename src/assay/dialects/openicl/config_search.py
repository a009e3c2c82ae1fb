"""Search for configs by name in the user's folders and in those of a checkout."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.dialects.openicl.detect import is_config

ConfigKind: TypeAlias = Literal["models", "datasets", "summarizers"]

CONFIG_NAME_CODE = "USAGE-009"
DATASET_FOLDERS = ("datasets", "dataset_collections")
_FOLDERS: Mapping[ConfigKind, Sequence[str]] = {
    "models": ("models",),
    "datasets": DATASET_FOLDERS,
    "summarizers": ("summarizers",),
}
CONFIG_FOLDERS = ("opencompass/configs", "ais_bench/benchmark/configs", "configs")
"""The config folders of a checkout."""


class NamedConfig(NamedTuple):
    """A config found by name."""

    path: Path
    suffix: str | None
    """The text after a slash: selects one of its variables."""
    others: tuple[Path, ...] = ()
    """Other files of the same name, which are not used."""


class ConfigFolders:
    """The folders to search for configs, in order."""

    def __init__(self, config_dir: Path | None, root: Path | None) -> None:
        self._own = [] if config_dir is None else [config_dir]
        packages = [] if root is None else [root / package for package in CONFIG_FOLDERS]
        self._places = [place for place in (config_dir, *packages) if place is not None and place.is_dir()]
        self._files: dict[ConfigKind, dict[str, list[Path]]] = {}

    def files(self, kind: ConfigKind) -> Mapping[str, Sequence[Path]]:
        """Return the files of a kind by lower-case name, in search order."""
        if kind not in self._files:
            found: dict[str, list[Path]] = {}
            # List each file once, even if a folder is searched twice.
            for path in {path.resolve(): path for path in reversed(list(self._walk(kind)))}.values():
                found.setdefault(path.stem.lower(), []).insert(0, path)
            self._files[kind] = found
        return self._files[kind]

    def _walk(self, kind: ConfigKind) -> Iterator[Path]:
        for place in self._places:
            for folder in _FOLDERS[kind]:
                yield from sorted(
                    path for path in (place / folder).rglob("*.py") if path.name != "__init__.py"
                )
        if kind == "datasets":
            yield from self._find_nearby()

    def _find_nearby(self) -> Iterator[Path]:
        """Yield dataset configs in the current folder and its direct subfolders."""
        for place in dict.fromkeys((*self._own, Path())):
            near = (*sorted(place.glob("*.py")), *sorted(place.glob("*/*.py")))
            yield from (path for path in near if is_config(str(path)))

    def find(self, name: str, kind: ConfigKind) -> NamedConfig | None:
        """Return the config with a name, `NAME` or `NAME/SUFFIX`; None if there is none."""
        base, _, suffix = name.partition("/")
        every = self.files(kind).get(base.removesuffix(".py").lower(), ())
        return NamedConfig(every[0], suffix or None, tuple(every[1:])) if every else None

    def require(self, name: str, kind: ConfigKind, also: Sequence[str] = ()) -> NamedConfig:
        """Return the config with a name, or raise. `also`: names that are known without a file."""
        found = self.find(name, kind)
        if found is not None:
            return found
        known = [*also, *sorted(self.files(kind))]
        looked = (
            listing(map(str, self._places)) or "no folder: neither --config-dir nor --openicl-root is given"
        )
        noun = kind.removesuffix("s")
        what = f"there is no {noun} config {name!r}{suggest_name(name.partition('/')[0].lower(), known)}"
        fix = f"name a file, or the folder of a checkout with --openicl-root DIR; searched {looked}"
        raise UsageError(Problem(CONFIG_NAME_CODE, what, fix))


def find_installed_root(package: str) -> Path | None:
    """Return the folder of an original's installed package, if it has configs. Imports nothing."""
    spec = importlib.util.find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    roots = (Path(folder).parent for folder in folders)
    return next(
        (root for root in roots if any((root / one).is_dir() for one in _list_config_folders(package))), None
    )


def _list_config_folders(package: str) -> list[str]:
    return [one for one in CONFIG_FOLDERS if one.partition("/")[0] == package]


def format_ambiguous_name(name: str, config: NamedConfig) -> str:
    """Return a note that names the file used among several of one name."""
    return f"{name}: {len(config.others) + 1} files have this name; using {config.path}"
