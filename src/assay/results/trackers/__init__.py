"""Experiment trackers: MLflow, Weights & Biases and Trackio. Each logs a finished run folder as one run."""
