"""Models by datasets: one headline each, with intervals, and ranks that say which differences are real."""
