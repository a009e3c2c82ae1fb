"""Scorers of inspect: what they read in a reply (`values`), and the scorers by name (`scorers`)."""
