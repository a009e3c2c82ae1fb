"""Scoring of LLMBox's dataset classes: metrics over whole lists of predictions and references."""
