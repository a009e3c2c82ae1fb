"""The modules that authors' files import, found next to the config or in a checkout.

A package is a folder and is never run as a whole: an imported name comes from the one file that defines it.
Names of Assay's library (`library`) take precedence over those of a checkout, so that classes of a checkout
extend Assay's base classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.origin import Origin
from assay.dialects.openicl.authored.definitions import Definitions, has_definition
from assay.dialects.shared.author_modules import AuthorModules, Namespaces

AUTHOR_MODULE_CODE = "OPENICL-011"
OPENCOMPASS, AISBENCH = "opencompass", "ais_bench.benchmark"
PACKAGES = (OPENCOMPASS, AISBENCH)
"""The packages that files are written for."""
_DATASETS = "datasets"
"""The subpackage for authors' files."""
_OWN_DEPTH = 1
"""Search depth below the config's folder, which may contain very many folders."""


class _ModuleFolder(NamedTuple):
    """A folder whose files are the modules of a package."""

    package: str
    folder: Path
    definitions: Definitions


class ConfigModules(AuthorModules):
    """The modules that the files in a config's folders can import, including those of a checkout."""

    def __init__(self, namespaces: Namespaces, folders: Sequence[Path], root: Path | None) -> None:
        """Store the library, the person's own folders, and the folder that contains a checkout's package."""
        own = [
            _ModuleFolder(f"{package}.{_DATASETS}", folder, Definitions(folder, depth=_OWN_DEPTH))
            for folder in dict.fromkeys(folders)
            for package in reversed(PACKAGES)
        ]
        tops = {package.partition(".")[0] for package in PACKAGES} if root is not None else ()
        checkout = [_ModuleFolder(top, root / top, Definitions(root / top)) for top in sorted(tops) if root]
        self._own = own
        self._places = [*own, *checkout]
        self._lent = namespaces
        self._packages: dict[Path, Definitions] = {}
        super().__init__(f"{AISBENCH}.{_DATASETS}", namespaces, code=AUTHOR_MODULE_CODE)

    def code(self, module: str, name: str) -> Any:
        """Return a name of a module: the person's own, the library's, the checkout's, or None."""
        own = self._find_own_file(module, name)
        if own is not None:
            return vars(self._ran(own)).get(name)
        known = vars(self._modules[module]).get(name) if module in self._modules else None
        if known is not None or not self._try_add_name(module, name):
            return known
        return vars(self._module(module)).get(name)

    def _find_own_file(self, module: str, name: str) -> Path | None:
        """Return the person's file for a module, or else the only file that defines a name, or None."""
        for place in self._own:
            parts = module.removeprefix(f"{place.package}.").split(".")
            path = place.folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
            if path.is_file() and has_definition(path, name):
                return path
        found = next((files for place in self._own if (files := place.definitions.find_files(name))), [])
        beside = [path for path in found if path.parent == found[0].parent]
        if len(beside) > 1:
            names = listing(path.name for path in beside)
            what = f"{name!r} is defined in {names}, and the config does not specify which one to use"
            fix = f"import it from one of them: from {OPENCOMPASS}.{_DATASETS}.{beside[0].stem} import {name}"
            raise AuthorError(Problem(AUTHOR_MODULE_CODE, what, fix, Origin(str(found[0].parent))))
        return found[0] if found else None

    def run_registering_file(self, name: str) -> bool:
        """Run the file that registers something under a name; return whether there is one."""
        found = (place.definitions.find_registering_file(name) for place in self._places)
        path = next(filter(None, found), None)
        if path is not None:
            self._ran(path)
        return path is not None

    def has_own_definition(self, name: str) -> bool:
        """Whether one of the person's own files defines a name."""
        return any(place.definitions.find_file(name) for place in self._own)

    def list_own_names(self) -> list[str]:
        """Return all names that the person's own files define."""
        return [known for place in self._own for known in place.definitions.names()]

    def _try_add_name(self, name: str, wanted: str) -> bool:
        """Whether a file adds a name to a module of the library or to a package."""
        path = self._find_module_file(name)
        if path is not None and path not in self.files and has_definition(path, wanted):
            self._run(name, path)
            return wanted in vars(self._module(name))
        found = (self._definitions(folder).find_file(wanted) for folder in self._find_folders(name))
        defining = next(filter(None, found), None)
        if defining is None or defining == path:
            return False
        value = vars(self._ran(defining)).get(wanted)
        setattr(self._module(name), wanted, value)
        return value is not None

    def _ran(self, path: Path) -> ModuleType:
        """Return the module of a file, which is run only once. The library may have some of its names."""
        name = self._name_of(path)
        is_lent = name in self._modules and path not in self.files
        return self._run(name, path) if is_lent else self._find_module(name)

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        module = super()._import(name, globals, locals, fromlist, level)
        # A name of a package comes from one of its files, on which the importing file then depends.
        for wanted in fromlist or ():
            home = sys.modules.get(getattr(vars(module).get(wanted), "__module__", ""))
            if home is not None and home in self._modules.values():
                self._note(globals, home)
        return module

    def _find_module(self, name: str) -> ModuleType:
        if name not in self._modules and self._find_module_file(name) is None:
            if any(self._find_folders(name)):
                return self._module(name)
            above = self._map_to_config_package(name)
            if above in self._modules or self._find_module_file(above) is not None:
                return super()._find_module(above)
        return super()._find_module(name)

    def _map_to_config_package(self, name: str) -> str:
        """Return the name of a module in a subfolder as a module of the config's own package.

        A person's files may be in a subfolder and still be written like files of `datasets`.
        """
        package, _, last = name.rpartition(".")
        own = next((one.package for one in self._own if package.startswith(f"{one.package}.")), None)
        return name if own is None else f"{own}.{last}"

    def _run(self, name: str, path: Path) -> ModuleType:
        module = super()._run(name, path)
        # Names of a checkout that replace the library's own are not visible to other files.
        vars(module).update(self._lent.get(name, {}))
        return module

    def _find_module_file(self, name: str) -> Path | None:
        places = (place.with_name(f"{place.name}.py") for place in self._where(name))
        return next((path for path in places if path.is_file()), None)

    def _find_folders(self, name: str) -> Iterator[Path]:
        return (place for place in self._where(name) if place.is_dir())

    def _where(self, name: str) -> Iterator[Path]:
        """Yield the possible paths of a module or package."""
        for place in self._places:
            if name == place.package:
                yield place.folder
            elif name.startswith(f"{place.package}."):
                yield place.folder.joinpath(*name.removeprefix(f"{place.package}.").split("."))

    def _definitions(self, folder: Path) -> Definitions:
        for place in self._places:
            if place.folder == folder:
                return place.definitions
        return self._packages.setdefault(folder, Definitions(folder))

    def _name_of(self, path: Path) -> str:
        place = next(place for place in self._places if path.is_relative_to(place.folder))
        return ".".join((place.package, *path.relative_to(place.folder).with_suffix("").parts))
