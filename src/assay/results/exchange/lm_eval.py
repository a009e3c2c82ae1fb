"""lm-eval (placeholder until its reader is written)."""

from __future__ import annotations

from assay.results.exchange.formats import LogFormat

FORMAT = LogFormat("lm-eval", "lm-evaluation-harness: results_*.json and samples_*.jsonl")
