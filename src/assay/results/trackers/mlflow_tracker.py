"""MLflow: one run per Assay run, in the tracking store that MLFLOW_TRACKING_URI names."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

from assay.core.secrets import mask_user_info
from assay.core.text_preview import shorten_text
from assay.results.trackers.tracked_run import TrackedRun

_RETRIES = ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
"""MLflow's own default, 7, waits for minutes if the server is down."""
_METRICS_PER_REQUEST = 500
_PARAMETERS_PER_REQUEST = 100
_NAME_CHARS = 250
_VALUE_CHARS = 5000
_FORBIDDEN = re.compile(r"[^\w.\-/ ]")
_TABLE = "samples.json"
T = TypeVar("T")


def find_problem(*, is_offline: bool) -> tuple[str, str] | None:
    """Return what is missing before a run can be logged, and the fix."""
    from mlflow import get_tracking_uri

    uri = get_tracking_uri()
    if is_offline and not _is_local(uri):
        return (
            f"--offline allows no connection to MLflow's server {mask_user_info(uri)}",
            "unset MLFLOW_TRACKING_URI, or run without --offline",
        )
    if _is_database(uri) and find_spec("alembic") is None:
        return (
            f"MLflow's store {mask_user_info(uri)} needs the package alembic, which is not installed",
            "pip install alembic, or set MLFLOW_TRACKING_URI to a server",
        )
    return None


def log_run(run: TrackedRun, project: str | None, *, is_offline: bool) -> str:
    """Log a run; return where it is."""
    os.environ.setdefault(*_RETRIES)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    from mlflow.entities import Dataset, DatasetInput, Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    experiment = _find_experiment(client, project)
    started, finished = _milliseconds(run.started), _milliseconds(run.finished or run.started)
    tags = {_clean_name(name): shorten_text(value, _VALUE_CHARS) for name, value in run.tags.items()}
    # How MLflow marks tables that its pages show.
    tags["mlflow.loggedArtifacts"] = f'[{{"path": "{_TABLE}", "type": "table"}}]'
    created = client.create_run(experiment, start_time=started, tags=tags, run_name=run.name)
    run_id = created.info.run_id
    state = "FAILED"
    try:
        parameters = [
            Param(name, shorten_text(str(value), _VALUE_CHARS)) for name, value in _unique(run.parameters)
        ]
        for batch in _batches(parameters, _PARAMETERS_PER_REQUEST):
            client.log_batch(run_id, params=batch)
        metrics = [Metric(name, value, finished, 0) for name, value in _unique(run.metrics)]
        for batch in _batches(metrics, _METRICS_PER_REQUEST):
            client.log_batch(run_id, metrics=batch)
        datasets = [
            DatasetInput(
                Dataset(one.name, one.digest[:36], "local", one.source),
                [RunTag("mlflow.data.context", "eval")],
            )
            for one in run.datasets
        ]
        client.log_inputs(run_id, datasets=datasets)
        columns = {"columns": list(run.columns), "data": run.rows}
        client.log_dict(run_id, columns, _TABLE)
        for path in run.files:
            client.log_artifact(run_id, str(path))
        state = "FINISHED"
    finally:
        client.set_terminated(run_id, state, finished)
    return _describe_place(client.tracking_uri, experiment, run_id)


def _find_experiment(client: Any, project: str | None) -> str:
    """Return the id of the experiment, which is created if there is none."""
    if project is None and (named := os.environ.get("MLFLOW_EXPERIMENT_ID")):
        return named
    name = project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "assay"
    found = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if found is None else found.experiment_id)


def _describe_place(uri: str, experiment: str, run_id: str) -> str:
    if uri.startswith(("http://", "https://")):
        return f"{mask_user_info(uri)}/#/experiments/{experiment}/runs/{run_id}"
    return f"run {run_id} in {mask_user_info(uri)}"


def _is_local(uri: str) -> bool:
    return uri.startswith(("sqlite:", "file:")) or ("://" not in uri and uri != "databricks")


def _is_database(uri: str) -> bool:
    return uri.partition(":")[0].partition("+")[0] in ("sqlite", "postgresql", "mysql", "mssql")


def _milliseconds(moment: str) -> int | None:
    return int(datetime.fromisoformat(moment).timestamp() * 1000) if moment else None


def _unique(values: dict[str, T]) -> Iterator[tuple[str, T]]:
    """Yield names that MLflow accepts, all different, with their values."""
    used: set[str] = set()
    for name, value in values.items():
        clean = _clean_name(name)
        while clean in used:
            clean += "_"
        used.add(clean)
        yield clean, value


def _clean_name(name: str) -> str:
    """Return a name that MLflow accepts: it must also be a normalized relative path."""
    parts = (part.strip() for part in _FORBIDDEN.sub("_", name).split("/"))
    return "/".join("_" if part in ("", ".", "..") else part for part in parts)[:_NAME_CHARS]


def _batches(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
