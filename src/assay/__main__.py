"""python -m assay"""

from __future__ import annotations

from assay.faces.cli.main import run_process

run_process()
