"""All tables of the database: imports every module that declares one, so that all are created together."""

from assay.ledger import annotations, datasets, jobs, models, runs, tokens

__all__ = ["annotations", "datasets", "jobs", "models", "runs", "tokens"]
