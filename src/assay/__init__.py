"""Assay tells you what a language model scores on your own dataset."""

from __future__ import annotations

__version__ = "0.1.0"
