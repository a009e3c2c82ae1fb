"""csv (placeholder until its reader is written)."""

from __future__ import annotations

from assay.results.exchange.formats import LogFormat

FORMAT = LogFormat("csv", "csv tables with one row per sample and method")
