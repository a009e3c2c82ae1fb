"""Grading by another model: judge prompts, parsing of replies, and the resulting judgements.

Requests go through the port `core.ports.Judge`; this package does not know which model answers.
"""
