"""Retrievers: the choice of train rows as solved examples for each test row."""
