"""The nouns of Assay. Frozen data and the ports between rooms; no I/O, no other room is known here."""
