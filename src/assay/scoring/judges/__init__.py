"""Grading by another model: what a judge is shown, how its reply is read, what a sample gets of it.

Asks through the port `core.ports.Judge`; which model that is, is no concern of this room.
"""
