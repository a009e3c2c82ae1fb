"""Scorers: from the responses of one track to one sample's score. `registry` makes them by name."""
