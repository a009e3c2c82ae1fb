"""Scoring rules of other systems, one package per system.

Assay's own rules are in the sibling packages: `extract`, `metrics`, `judges`, `scorers`.
"""
