"""The original side of conformance_aisbench_perf.py, in the environment that has AISBench.

    python aisbench_perf_worker.py loads.json tables.json

Gives the requests of each load to the original's own calculators, and writes down their tables.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_STAGES = {"total": "DefaultPerfMetricCalculator", "stable": "StablePerfMetricCalculator"}
_exceptions = import_module("ais_bench.benchmark.utils.logging.exceptions")
_calculators = import_module("ais_bench.benchmark.calculators")


def main(loads_path: Path, tables_path: Path) -> None:
    """Write the tables of every load."""
    loads = json.loads(loads_path.read_text(encoding="utf-8"))
    tables = [_tables(getattr(_calculators, _STAGES[load["stage"]])(), load) for load in loads]
    tables_path.write_text(json.dumps(tables), encoding="utf-8")


def _tables(calculator: Any, load: Mapping[str, Any]) -> dict[str, Any]:
    """Return both tables of a load, or the error where the original finds no result."""
    try:
        calculator._init_datas(_columns(load["requests"]), load["batch_size"])
        calculator.calculate()
    except (_exceptions.AISBenchDataContentError, ZeroDivisionError) as error:
        return {"error": type(error).__name__}
    parameters = {name: values[load["stage"]] for name, values in calculator.metrics.items()}
    common = {name: values[load["stage"]] for name, values in calculator.get_common_res().items()}
    return {"parameters": parameters, "common": common}


def _columns(requests: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return what the original derives from the moments and token counts of requests."""
    columns: dict[str, list[Any]] = {"success": [True] * len(requests), "id": list(range(len(requests)))}
    for request in requests:
        at, n_output = request["time_points"], request["n_output"]
        latency, ttft = at[-1] - at[0], at[1] - at[0]
        for name, value in (
            ("start_time", at[0]),
            ("end_time", at[-1]),
            ("latency", latency),
            ("ttft", ttft),
            ("tpot", (latency - ttft) / (n_output - 1) if n_output > 1 else 0),
            ("itl", np.diff(at[1:]) if len(at) > 2 else []),
            ("input_tokens", request["n_input"]),
            ("output_tokens", n_output),
            ("generate_tokens_speed", n_output / latency),
        ):
            columns.setdefault(name, []).append(value)
    return columns


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
