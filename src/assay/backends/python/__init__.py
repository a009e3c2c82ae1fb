"""Models that are objects of the calling Python program: functions, and loaded transformers models."""
