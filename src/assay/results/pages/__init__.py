"""How results look in a browser: what pages show, what shows it, and pages of one file.

The script ships as it is written, in modules of plain JavaScript that `bundle` joins. It makes elements only
from text, never from markup, so whatever a model wrote stays text.
"""
