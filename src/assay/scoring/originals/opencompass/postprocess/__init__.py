"""Post-processors: find the answer in a reply, by the names that task configs use.

They see only texts: no samples, no metrics, no models. docs/reference/metrics.md lists them.
"""

from assay.core.difference import Difference
from assay.scoring.originals.opencompass.postprocess.processor import PostProcessor
from assay.scoring.originals.opencompass.postprocess.registry import (
    ALIASES,
    CORRECTED,
    CORRECTED_BY_ANY_NAME,
    POSTPROCESSORS,
    find_postprocessor,
    postprocessor_name,
)

__all__ = [
    "ALIASES",
    "CORRECTED",
    "CORRECTED_BY_ANY_NAME",
    "POSTPROCESSORS",
    "Difference",
    "PostProcessor",
    "find_postprocessor",
    "postprocessor_name",
]
