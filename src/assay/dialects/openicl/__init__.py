"""The language of OpenCompass and AISBench: Python configs that tie loader, prompts and scores together."""
