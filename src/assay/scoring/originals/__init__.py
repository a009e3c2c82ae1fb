"""Scoring rules of other systems, each under the name of the system that defines them.

Rules of our own are in the sibling packages: `extract`, `metrics`, `judges`, `scorers`.
"""
