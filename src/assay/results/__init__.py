"""Run folders: writing them, reading them, reporting on them."""
