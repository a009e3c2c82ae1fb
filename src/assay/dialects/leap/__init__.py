"""Task classes of LEAP and of early lm-evaluation-harness versions, with their registry."""
