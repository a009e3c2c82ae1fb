"""Scoring of LEAP's Task classes: their aggregation functions, and results that authors' code computes."""
