"""Answer extraction: find the answer in a reply as a separate step with named rules."""

from assay.scoring.extract.extraction import Extraction
from assay.scoring.extract.free_text import extract_text
from assay.scoring.extract.numbers import extract_number
from assay.scoring.extract.options import extract_option

__all__ = ["Extraction", "extract_number", "extract_option", "extract_text"]
