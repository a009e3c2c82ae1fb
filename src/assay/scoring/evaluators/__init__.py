"""Evaluators by the names that configs of OpenCompass and AISBench give: whole lists in, numbers out."""
