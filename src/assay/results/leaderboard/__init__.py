"""The leaderboard: models by datasets, with intervals and ranks based on statistical significance."""
