"""Evaluators, post-processors and the option reader of OpenCompass and AISBench, by config name."""
