"""Lookup of module files: relative to the importing file, or in a checkout of the original."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.errors import suggest_name
from assay.dialects.openicl.config.parsed import BaseImport

_CONFIG_FOLDERS = (Path("opencompass", "configs"), Path("ais_bench", "benchmark", "configs"))
"""The config folders in the originals' checkouts."""


class ModuleLocator:
    """Finds files, with a cache, because configs import the same few modules."""

    def __init__(self, root: Path | None) -> None:
        """Store the folder that contains the original's package; None: search above each file."""
        self.root = root
        self._checkouts: dict[tuple[Path, tuple[str, ...]], Path | None] = {}
        self._code_files: dict[tuple[Path, str], Path | None] = {}

    def find_base_file(self, base_import: BaseImport, asking: Path) -> Path | None:
        """Return the expected path of a base, which may not exist; None if no checkout is known."""
        parts = base_import.module.split(".")
        if base_import.level:
            # Do not resolve links: use the path that the person sees.
            folder = Path(os.path.normpath(asking.parent / Path(*[os.pardir] * (base_import.level - 1))))
        else:
            checkout = self._checkout(parts, asking)
            if checkout is None:
                return None
            folder = checkout
        return folder.joinpath(*parts[:-1], f"{parts[-1]}.py")

    def find_code_file(self, module: str, asking: Path) -> Path | None:
        """Return the file of a code module in a checkout, or None."""
        parts = module.split(".")
        checkout = self._checkout(parts, asking)
        if checkout is None:
            return None
        if (checkout, module) not in self._code_files:
            place = checkout.joinpath(*parts)
            either = (place.with_name(f"{place.name}.py"), place / "__init__.py")
            self._code_files[checkout, module] = next((path for path in either if path.is_file()), None)
        return self._code_files[checkout, module]

    def _checkout(self, parts: list[str], asking: Path) -> Path | None:
        # Any folder may be named `opencompass`; only a checkout's contains `configs`.
        package = tuple(parts[: parts.index("configs") + 1] if "configs" in parts else parts[:1])
        key = (asking.parent, package)
        if key not in self._checkouts:
            folders = [self.root] if self.root is not None else list(asking.absolute().parents)
            found = (folder for folder in folders if folder.joinpath(*package).is_dir())
            self._checkouts[key] = next(found, None)
        return self._checkouts[key]


def find_checkout(config: Path) -> Path | None:
    """Return the checkout that contains a config, or None."""
    place = config.absolute()
    found = (
        folder
        for folder in place.parents
        for inside in _CONFIG_FOLDERS
        if place.is_relative_to(folder / inside)
    )
    return next(found, None)


def suggest_file(missing: Path) -> str:
    """Return ` (did you mean 'x'?)` for a missing file or folder, or an empty text."""
    wanted = missing
    while not wanted.parent.is_dir():
        wanted = wanted.parent
    is_file = wanted == missing
    there = (path for path in wanted.parent.iterdir() if (path.suffix == ".py" if is_file else path.is_dir()))
    return suggest_name(wanted.stem if is_file else wanted.name, sorted(path.stem for path in there))
