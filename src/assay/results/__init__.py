"""Run folders: write, read, report, compare and rank them."""
