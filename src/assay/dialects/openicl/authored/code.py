"""Lookup of the code that a config refers to: the person's own, a checkout's, or Assay's own."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.authored.base_classes import BaseEvaluator
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.authored.library import build_library
from assay.dialects.openicl.authored.modules import AUTHOR_MODULE_CODE, OPENCOMPASS, PACKAGES, ConfigModules
from assay.dialects.openicl.config.symbol import Symbol
from assay.dialects.shared.author_modules import AuthorModules

_DATASETS_INFO_MODULE = f"{OPENCOMPASS}.utils.datasets_info"
"""The module of an OpenCompass checkout that maps dataset names to folders."""


class LibraryParts(NamedTuple):
    """Parts of other packages that authors' files can import under the originals' names."""

    postprocessors: Mapping[str, Any]
    """Functions from text to text, by import name."""
    evaluators: Mapping[str, type[BaseEvaluator]]


class AuthorCode:
    """The code that the configs of given folders can refer to."""

    def __init__(
        self, folders: Sequence[Path], root: Path | None, data_root: Path | None, offered: LibraryParts
    ) -> None:
        self.root = root
        places = [place for place in (data_root, *folders, root) if place is not None]
        self.data = DataPaths(places, _read_dataset_places(root))
        self._library = build_library(self.data, offered.postprocessors, offered.evaluators)
        self.modules = ConfigModules(self._library.namespaces, folders, root)

    def find(self, kind: Any) -> Any:
        """Return the class or function that a `type` names, or None."""
        if isinstance(kind, Symbol):
            return self._find_symbol(kind)
        if not isinstance(kind, str):
            return kind
        if "." in kind and (found := self._find_symbol(Symbol.of(kind))) is not None:
            return found
        found = self._find_registered(kind)
        # The originals require registration for a quoted name; here a definition in a file is enough.
        return self.modules.code(OPENCOMPASS, kind) if found is None and self.is_own(kind) else found

    def is_own(self, kind: Any) -> bool:
        """Whether a file of the person's own, next to the config, defines a name."""
        return self.modules.has_own_definition(get_short_name(kind))

    def require(self, kind: Any, what: str, where: Origin, known: Iterable[str] = ()) -> Any:
        """Return the class or function, or raise with the reason why it was not found.

        `known`: names of Assay's own parts, for suggestions.
        """
        found = self.find(kind)
        if found is not None:
            return found
        name = get_short_name(kind)
        reason = "no file next to the config defines it"
        fix = "define it in a file next to the config, or name a checkout that has it with --openicl-root DIR"
        if self.root is not None:
            reason += f", nor does {str(self.root)!r}"
            fix = "correct the name, or define it in a file next to the config"
        hint = suggest_name(name, [*self.modules.list_own_names(), *known])
        missing = f"there is no {what} {name!r}{hint}: {reason}"
        raise AuthorError(Problem(AUTHOR_MODULE_CODE, missing, fix, where))

    def _find_symbol(self, symbol: Symbol) -> Any:
        if symbol.module.startswith(PACKAGES) or not symbol.module:
            return self.modules.code(symbol.module or OPENCOMPASS, symbol.name)
        found = self.modules.code(symbol.module, symbol.name)
        return _import_installed(symbol) if found is None else found

    def _find_registered(self, name: str) -> Any:
        for attempt in (False, True):
            if attempt and not self.modules.run_registering_file(name):
                return None
            for registry in self._library.registries.values():
                if (found := registry.get(name)) is not None:
                    return found
        return None


def get_short_name(kind: Any) -> str:
    """Return the name of a class or function without its module."""
    if isinstance(kind, Symbol):
        return kind.name
    return kind.rpartition(".")[2] if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def find_source_file(code: Any) -> Path | None:
    """Return the file that defines a class or function."""
    try:
        return Path(inspect.getfile(code))
    except (TypeError, OSError):
        return None


def _import_installed(symbol: Symbol) -> Any:
    """Return a name from an installed package of the person's own."""
    try:
        module = __import__(symbol.module, fromlist=[symbol.name])
    except ImportError:
        return None
    return getattr(module, symbol.name, None)


def _read_dataset_places(root: Path | None) -> Mapping[str, Any]:
    """Return the dataset folders from an OpenCompass checkout; its module contains nothing else."""
    file = None if root is None else root.joinpath(*_DATASETS_INFO_MODULE.split(".")).with_suffix(".py")
    if file is None or not file.is_file():
        return {}
    places = getattr(
        AuthorModules(OPENCOMPASS, {}, code=AUTHOR_MODULE_CODE).run(file), "DATASETS_MAPPING", {}
    )
    return places if isinstance(places, Mapping) else {}
