"""LLMBox dataset classes, compiled into tasks."""
