"""Imports transformers without scikit-learn and SciPy, which evaluations never call.

transformers imports both for one function each, if they are installed: a threshold of assisted generation,
and the matching of boxes in losses of object detection. With pandas and pyarrow, which scikit-learn imports,
these are a quarter of what a run would import. Here each is imported when its function is first called.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from assay.core.time_profile import measuring

_POSTPONED = {
    "is_sklearn_available": ("sklearn.metrics", "roc_curve"),
    "is_scipy_available": ("scipy.optimize", "linear_sum_assignment"),
}
"""By the function with which modules of transformers look for a package: what they import from it."""

_lock = threading.RLock()


def import_transformers() -> None:
    """Import what tokenizers and models of all families need; the time belongs to the phase `import`.

    Modules of a single family are imported later, as usual: they may use the packages in other ways.
    """
    with _lock, measuring("import"), _postponing_packages():
        # Each name brings modules that loaders would import otherwise; which ones, depends on the version.
        from transformers import (  # noqa: F401
            AutoModelForCausalLM,
            AutoTokenizer,
            GenerationMixin,
            PreTrainedModel,
        )


@contextmanager
def _postponing_packages() -> Iterator[None]:
    """Let modules that are imported in the block find no such package until the block ends."""
    from transformers import utils

    checks = {name: getattr(utils, name) for name in _POSTPONED if hasattr(utils, name)}
    try:
        for name in checks:
            setattr(utils, name, _find_nothing)
        yield
    finally:
        for name, check in checks.items():
            setattr(utils, name, check)
            _complete_modules(name, check)


def _find_nothing() -> bool:
    """Answer as if a package were not installed."""
    return False


def _complete_modules(name: str, check: Callable[[], bool]) -> None:
    """Give modules that found no package the real check, and the function that they did not import."""
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] == "transformers" and vars(module).get(name) is _find_nothing:
            setattr(module, name, check)
            if check():
                setattr(module, _POSTPONED[name][1], _import_when_called(*_POSTPONED[name]))


def _import_when_called(package: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a package and calls its function of that name."""

    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(package), name)(*args, **options)

    return call
