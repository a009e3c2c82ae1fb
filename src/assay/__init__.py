"""Assay tells you what a language model scores on your own dataset.

import assay
result = assay.run("data.csv", model="smollm2", method=["ppl", "gen"])
result.metrics, result.scores, result.rows
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.app.api import RunResult, export_run, import_log, run, score
    from assay.core.errors import AssayError

__version__ = "0.2.0"
__all__ = ["AssayError", "RunResult", "__version__", "export_run", "import_log", "run", "score"]

_HOMES = {
    "AssayError": "assay.core.errors",
    "RunResult": "assay.app.api",
    "export_run": "assay.app.api",
    "import_log": "assay.app.api",
    "run": "assay.app.api",
    "score": "assay.app.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import assay` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
