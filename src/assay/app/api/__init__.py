"""The Python API: `assay` exports its public names, and imports each when it is first used."""
