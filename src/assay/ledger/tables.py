"""Every table of the database: whoever owns one is imported here, so that it is made with the others."""

from assay.ledger import datasets, jobs, models, runs, tokens

__all__ = ["datasets", "jobs", "models", "runs", "tokens"]
