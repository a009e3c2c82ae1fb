"""Metrics that a dataset's author names: calls over whole lists of predictions and references."""
