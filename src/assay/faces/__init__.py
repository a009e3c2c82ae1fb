"""How a person meets Assay."""
