"""The original side of conformance_option_readers.py, in an environment that has the originals' packages.

    python option_reader_worker.py opencompass|ais_bench asked.json answered.json

Runs the original's own post-processors and option evaluator. Only these two modules are loaded: the rest of
the package, and packages that they import without using them here, are replaced by empty classes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGES = {"opencompass": "opencompass", "ais_bench": "ais_bench.benchmark"}
_POSTPROCESSORS = {
    "opencompass": "opencompass.utils.text_postprocessors",
    "ais_bench": "ais_bench.benchmark.utils.postprocess.text_postprocessors",
}
_UNUSED = ("datasets", "numpy")
"""Packages that the modules import and that their readers of replies do not use."""
_EVALUATOR = "OptionSimAccEvaluator"


def main(system: str, asked_path: Path, answered_path: Path) -> None:
    """Answer every question of a file: what a function, or the evaluator, makes of each reply."""
    package = _PACKAGES[system]
    real = {_POSTPROCESSORS[system], f"{package}.datasets.custom"}
    sys.meta_path.insert(0, _Finder(package, real))
    functions = vars(import_module(_POSTPROCESSORS[system]))
    evaluator = getattr(import_module(f"{package}.datasets.custom"), _EVALUATOR)
    asked = json.loads(asked_path.read_text(encoding="utf-8"))
    answered = [_answers(job, functions, evaluator) for job in asked]
    answered_path.write_text(json.dumps(answered), encoding="utf-8")


def _answers(job: Mapping[str, Any], functions: Mapping[str, Any], evaluator: Any) -> list[Any] | None:
    name, arguments, replies = job["function"], job["arguments"], job["replies"]
    if name == _EVALUATOR:
        read = evaluator(**arguments).match_any_label
        return [read(reply["text"], reply["row"]) for reply in replies]
    if name not in functions:
        return None
    return [functions[name](reply["text"], **arguments) for reply in replies]


class _Empty:
    """Stands in for a class, a registry or a logger that the two modules import."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what the original would be given."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


class _EmptyRegistry:
    @staticmethod
    def register_module(*_: Any, **__: Any) -> Callable[[Any], Any]:
        return lambda registered: registered


class _EmptyModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name.isupper():
            return _EmptyRegistry
        return type(name, (type,) if name.endswith("Meta") else (_Empty,), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives empty modules for all of a package but the modules named, and for packages not used."""

    def __init__(self, package: str, real: set[str]) -> None:
        self._package = package
        self._real = real

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = self._package.partition(".")[0]
        if fullname in (top, *self._real) or fullname.partition(".")[0] not in (top, *_UNUSED):
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        if found is not None and found.submodule_search_locations:
            spec.submodule_search_locations = list(found.submodule_search_locations)
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _EmptyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """An empty module has nothing to run."""


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
