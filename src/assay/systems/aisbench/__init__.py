"""AISBench: its command line (`flags`, `command`), its result files, custom datasets and performance mode.

What AISBench shares with OpenCompass is in `assay.systems.opencompass`.
"""
