"""Tables that a test writes."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def table(folder: Path, rows: Sequence[dict[str, Any]], name: str = "data.jsonl") -> str:
    """Write rows as csv or json lines, by the name; return the path."""
    path = folder / name
    if path.suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)
