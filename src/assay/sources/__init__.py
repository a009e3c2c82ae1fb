"""Bytes to records. Knows file formats, not benchmarks; every record knows where it was written."""
