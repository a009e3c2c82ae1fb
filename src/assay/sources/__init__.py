"""Readers of data files. Each one turns a file format into records that know their file, row and line."""
