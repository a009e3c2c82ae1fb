"""Configs by name: the files that lie under the folders of a person's own, and under those of a checkout."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.dialects.openicl.detect import is_config

ConfigKind: TypeAlias = Literal["models", "datasets", "summarizers"]

CONFIG_NAME_CODE = "USAGE-009"
_FOLDERS: Mapping[ConfigKind, Sequence[str]] = {
    "models": ("models",),
    "datasets": ("datasets", "dataset_collections"),
    "summarizers": ("summarizers",),
}
_PACKAGES = ("opencompass/configs", "ais_bench/benchmark/configs", "configs")
"""Where a checkout has its configs."""


class NamedConfig(NamedTuple):
    """A config that was found by its name."""

    path: Path
    suffix: str | None
    """What stood behind a slash: which of its variables is meant."""
    others: tuple[Path, ...] = ()
    """Further files of the same name, which are not used."""


class ConfigFolders:
    """The folders in which configs are looked for, in order."""

    def __init__(self, config_dir: Path | None, root: Path | None) -> None:
        self._own = [] if config_dir is None else [config_dir]
        packages = [] if root is None else [root / package for package in _PACKAGES]
        self._places = [place for place in (config_dir, *packages) if place is not None and place.is_dir()]
        self._files: dict[ConfigKind, dict[str, list[Path]]] = {}

    def files(self, kind: ConfigKind) -> Mapping[str, Sequence[Path]]:
        """Return the files of a kind by their names, in lower case; those found first come first."""
        if kind not in self._files:
            found: dict[str, list[Path]] = {}
            # A folder that is looked through twice has each of its files once.
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
        """Yield configs of datasets that lie where the person is, or just below."""
        for place in dict.fromkeys((*self._own, Path())):
            near = (*sorted(place.glob("*.py")), *sorted(place.glob("*/*.py")))
            yield from (path for path in near if is_config(str(path)))

    def find(self, name: str, kind: ConfigKind) -> NamedConfig | None:
        """Return the config of a name, `NAME` or `NAME/SUFFIX`; None where there is none."""
        base, _, suffix = name.partition("/")
        every = self.files(kind).get(base.removesuffix(".py").lower(), ())
        return NamedConfig(every[0], suffix or None, tuple(every[1:])) if every else None

    def require(self, name: str, kind: ConfigKind, also: Sequence[str] = ()) -> NamedConfig:
        """Return the config of a name; `also`: names that would be known without a file."""
        found = self.find(name, kind)
        if found is not None:
            return found
        known = [*also, *sorted(self.files(kind))]
        looked = (
            listing(map(str, self._places)) or "no folder: neither --config-dir nor --openicl-root is one"
        )
        noun = kind.removesuffix("s")
        what = f"there is no {noun} config {name!r}{suggest_name(name.partition('/')[0].lower(), known)}"
        fix = f"looked in {looked}; name a file, or the folder of a checkout: --openicl-root DIR"
        raise UsageError(Problem(CONFIG_NAME_CODE, what, fix))


def find_installed_root(package: str) -> Path | None:
    """Return the folder that holds an original's installed package, if it has configs; import nothing."""
    spec = importlib.util.find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    roots = (Path(folder).parent for folder in folders)
    return next(
        (root for root in roots if any((root / one).is_dir() for one in _list_config_folders(package))), None
    )


def _list_config_folders(package: str) -> list[str]:
    return [one for one in _PACKAGES if one.partition("/")[0] == package]


def format_ambiguous_name(name: str, found: NamedConfig) -> str:
    """Return in words which of several files of one name is used."""
    return f"{name}: {len(found.others) + 1} files have this name; {found.path} is used"
