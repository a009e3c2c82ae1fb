"""Scoring of LEAP's Task classes: aggregation functions, and results computed by authors' code."""
