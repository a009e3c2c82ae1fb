"""Evaluators, post-processors and the option reader of OpenCompass and AISBench, by the names configs use."""
