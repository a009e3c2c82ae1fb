"""Registries for authors' files: decorators that store classes and functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

REGISTRY_NAMES = (
    "CLIENTS",
    "DICT_POSTPROCESSORS",
    "EVALUATORS",
    "ICL_DATASET_READERS",
    "ICL_EVALUATORS",
    "ICL_INFERENCERS",
    "ICL_PROMPT_TEMPLATES",
    "ICL_RETRIEVERS",
    "LOAD_DATASET",
    "METRICS",
    "MODELS",
    "PARTITIONERS",
    "PERF_METRIC_CALCULATORS",
    "RUNNERS",
    "TASKS",
    "TEXT_POSTPROCESSORS",
    "TOT_WRAPPER",
)


class Registry:
    """Classes and functions by registered name; the last registration of a name wins."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module_dict: dict[str, Any] = {}

    def register_module(
        self, name: Any = None, force: bool = True, module: Any = None
    ) -> Callable[[T], T] | Any:
        """Register a class or function, as a decorator or directly; without names, under its own name."""
        if module is not None:
            return self._keep(module, name)
        if name is not None and not isinstance(name, str | list):
            # Used without brackets: the decorated object is passed as the name.
            return self._keep(name, None)

        def keep(registered: T) -> T:
            kept: T = self._keep(registered, name)
            return kept

        return keep

    def get(self, name: str) -> Any:
        """Return the object registered under a name, or None."""
        return self.module_dict.get(name)

    def _keep(self, module: Any, name: Any) -> Any:
        names = [module.__name__] if name is None else [name] if isinstance(name, str) else name
        for one in names:
            self.module_dict[one] = module
        return module


def build_registries() -> dict[str, Registry]:
    """Return empty registries by import name."""
    return {name: Registry(name.lower()) for name in REGISTRY_NAMES}
