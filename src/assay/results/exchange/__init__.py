"""Logs of other programs: their forms, written from runs."""
