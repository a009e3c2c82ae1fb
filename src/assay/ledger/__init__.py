"""The team database: indexed runs, models, datasets, the queue of evaluations, tokens.

Imports only `core`. A run's folder remains the source of truth. Everything here can be rebuilt from the
folders, except the queue, the tokens and the registered models and datasets.
"""
