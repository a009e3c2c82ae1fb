"""Metrics that a dataset's author names: called with all predictions and references at once."""
