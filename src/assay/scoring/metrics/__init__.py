"""Metrics over whole lists, by the names that dataset authors write, and the functions they are made of."""
