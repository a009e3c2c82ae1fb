"""Assay reports what a language model scores on your own dataset.

import assay
result = assay.run("data.csv", model="smollm2", method=["ppl", "gen"])
result["gen"].accuracy.low, result.samples.wrong, result.frame()

run          Evaluate a model on files, rows in memory or benchmarks.
load         Open the result of an earlier run.
score        Score the answers of a run again, without its model.
import_log   Read the log of another evaluation program as a run.
export_run   Write a run in the format of another program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.app.api.comparison import Comparison
    from assay.app.api.estimates import Estimate
    from assay.app.api.result import RunResult
    from assay.app.api.run import run
    from assay.app.api.samples import SampleResult
    from assay.app.api.stored import export_run, import_log, load, score
    from assay.core.errors import AssayError

__version__ = "0.2.0"
__all__ = [
    "AssayError",
    "Comparison",
    "Estimate",
    "RunResult",
    "SampleResult",
    "__version__",
    "export_run",
    "import_log",
    "load",
    "run",
    "score",
]

_HOMES = {
    "AssayError": "assay.core.errors",
    "Comparison": "assay.app.api.comparison",
    "Estimate": "assay.app.api.estimates",
    "RunResult": "assay.app.api.result",
    "SampleResult": "assay.app.api.samples",
    "export_run": "assay.app.api.stored",
    "import_log": "assay.app.api.stored",
    "load": "assay.app.api.stored",
    "run": "assay.app.api.run",
    "score": "assay.app.api.stored",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import assay` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
