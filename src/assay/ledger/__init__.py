"""What a team keeps in a database: indexed runs, models, datasets, the queue of evaluations, tokens.

Sees `core` only. The folder of a run stays the truth about it; what is here can be made again from the
folders, but for the queue, the tokens and what was registered.
"""
