"""Every table of the database: whoever owns one is imported here, so that it is made with the others."""

from assay.ledger import datasets, jobs, models, tokens

__all__ = ["datasets", "jobs", "models", "tokens"]
