"""Logs of inspect_ai, `.eval` and `.json`, by their documented format and without the program itself."""

from assay.results.exchange.formats import LogFormat
from assay.results.exchange.inspect_ai.reader import find_mismatch, read
from assay.results.exchange.inspect_ai.schema import NAME
from assay.results.exchange.inspect_ai.writer import write

FORMAT = LogFormat(NAME, "inspect_ai logs: .eval and .json", find_mismatch, read, write)
