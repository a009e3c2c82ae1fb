"""LLMBox-style dataset classes: a Python file with one small class becomes a task."""
