"""All tables of the database: imports every module that declares one, so that all are created together."""

from assay.ledger import datasets, jobs, models, runs, tokens

__all__ = ["datasets", "jobs", "models", "runs", "tokens"]
