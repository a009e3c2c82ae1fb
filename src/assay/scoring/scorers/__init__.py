"""Scorers: turn the responses of one track into a sample's score. `registry` creates them by name."""
