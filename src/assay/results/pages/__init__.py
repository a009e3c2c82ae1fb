"""Results in a browser: the data of pages, their script and style, and single-file pages.

The script consists of plain JavaScript modules that `bundle` joins. It creates elements only from text, never
from markup, so the output of a model always stays text.
"""
