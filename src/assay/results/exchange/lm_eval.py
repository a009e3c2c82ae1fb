"""Logs of lm-evaluation-harness: one results file with totals, and one samples file per task.

Newer versions name them `results_TIME.json` and `samples_TASK_TIME.jsonl`, older ones `results.json` and
`MODEL_ARGS_TASK.jsonl`. Each line of a samples file is one document after one filter, so a document of a task
with several filters has several lines, far apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.core.errors import StoreError
from assay.core.model import ModelIdentity
from assay.core.run import LoggedMetric
from assay.core.summary_group import Subset, SummaryGroup
from assay.results.exchange.assay_fields import KEY, read_run_fields, restore_run
from assay.results.exchange.formats import LogFormat
from assay.results.exchange.imported import (
    ImportedMetricFacts,
    ImportedRun,
    ImportedSample,
    ImportedTask,
)
from assay.results.exchange.lm_eval_documents import read_documents
from assay.results.exchange.log_files import (
    build_log_error,
    iter_json_lines,
    read_json_document,
    require_one_run,
)
from assay.results.read import StoredRun

NAME = "lm-eval"
_STAMP = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d[^/]*)$")
_NO_VALUES = frozenset({"alias", "name", "sample_len", "sample_count", "samples"})
_OFF_SCALE = frozenset({"bits_per_byte", "brier_score", "bleu", "chrf", "chrf++", "ter", "mcc"})
"""Metrics of lm-eval that are not shares, even if a value is between 0 and 1."""
_CLOSE = 1e-6
_BY_TASK = (
    *("results", "groups", "group_subtasks", "configs", "versions", "n-shot", "n-samples"),
    "higher_is_better",
)
"""The parts of a results file that have an entry for each task or group."""


def find_mismatch(path: Path) -> str | None:
    """Return why a path is not a log of lm-eval; None if it is one."""
    if path.is_dir():
        has_files = any(_find_results(path)) or any(_is_samples_file(one) for one in _find_lines(path))
        return None if has_files else "no results*.json with results of tasks, and no samples_*.jsonl"
    if path.suffix == ".json":
        return None if _is_results_file(path) else "no results of tasks in it"
    if path.suffix == ".jsonl":
        return None if _is_samples_file(path) else "its lines have no doc_id, arguments and resps"
    return "not a .json or .jsonl file"


def read(path: Path) -> ImportedRun:
    """Return the run in a folder, or the run that a results or samples file belongs to."""
    results, samples = _find_files(path)
    if not samples:
        raise build_log_error(
            "LOG-005",
            "the log has totals only: there is no samples file next to it",
            "run lm-eval with --log_samples and --output_path; totals alone have no samples to look at",
            path,
        )
    log = {} if results is None else _read_results_file(results)
    files = _name_tasks(samples, results, log)
    tasks = [_read_task(name, log) for name in files]
    run = ImportedRun(
        NAME,
        (*([] if results is None else [results]), *files.values()),
        tuple(tasks),
        lambda: _read_samples(files, log),
        model=_read_model(log),
        settings=_read_settings(log),
        versions=_read_versions(log),
        started=_read_date(log.get("date")),
        seconds=_read_number(log.get("total_evaluation_time_seconds")),
        metrics=tuple(_read_metrics(log)),
        groups=tuple(_read_groups(log)),
        notes=tuple(_list_notes(results, log)),
    )
    return restore_run(run, read_run_fields(log.get(KEY)))


def write(run: StoredRun, target: Path) -> Sequence[Path]:
    """Write a run as files of lm-eval below a folder."""
    from assay.results.exchange.lm_eval_runs import write_lm_eval_files

    results = write_lm_eval_files(run, target)
    return [results, *sorted(results.parent.rglob("samples_*.jsonl"))]


# --- finding the files ---


def _find_results(folder: Path) -> Iterator[Path]:
    """Yield the results files in a folder, or in the folders of models in it."""
    for pattern in ("*.json", "*/*.json"):
        found = [one for one in sorted(folder.glob(pattern)) if _is_results_file(one)]
        yield from found
        if found:
            return


def _find_lines(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.rglob("*.jsonl"))


def _is_results_file(path: Path) -> bool:
    """Whether the beginning of a file looks like the results of lm-eval."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096).lstrip()
    except OSError:
        return False
    return head.startswith(b"{") and head[1:].lstrip().startswith(b'"results"')


def _is_samples_file(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(1 << 16)
    except OSError:
        return False
    # A document can be long: its fields come before the arguments and replies.
    if not head.lstrip().startswith(b'{"doc_id"'):
        return False
    return len(head) == 1 << 16 or b'"resps"' in head


def _stamp_of(path: Path) -> str | None:
    found = _STAMP.search(path.stem)
    return None if found is None else found[1]


def _find_files(path: Path) -> tuple[Path | None, list[Path]]:
    """Return the results file, if there is one, and the samples files of one run."""
    folder = path if path.is_dir() else path.parent
    lines = [one for one in _find_lines(folder) if _is_samples_file(one)]
    if path.suffix == ".jsonl" and not path.is_dir():
        wanted = _stamp_of(path)
        results = [one for one in _find_results(folder) if _stamp_of(one) == wanted]
        return (results[0] if len(results) == 1 else None), [path]
    found = list(_find_results(path)) if path.is_dir() else [path]
    stamps = {_stamp_of(one): one for one in found}
    if not found:
        samples_stamps = {_stamp_of(one) for one in lines}
        require_one_run([str(one) for one in sorted(map(str, samples_stamps))], path, str(lines[0]))
        return None, lines
    require_one_run(
        [str(one.relative_to(folder)) for one in found], path, str(found[-1]) if found else str(path)
    )
    (stamp, results_file) = next(iter(stamps.items()))
    if stamp is None:
        return results_file, lines
    return results_file, [one for one in lines if _stamp_of(one) == stamp]


def _name_tasks(samples: Sequence[Path], results: Path | None, log: Mapping[str, Any]) -> dict[str, Path]:
    """Return the samples file of each task, in the order of the results."""
    known = [name for name in (*log.get("configs", {}), *log.get("results", {}))]
    named: dict[str, Path] = {}
    root = (results or samples[0]).parent
    for path in samples:
        relative = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
        stem = str(relative.with_suffix(""))
        if (found := _STAMP.search(stem)) is not None:
            stem = stem[: found.start()]
        name = stem.removeprefix("samples_")
        if name not in known:
            fitting = [one for one in known if stem.endswith(f"_{one}")]
            name = max(fitting, key=len, default=name)
        named[name] = path
    order = {name: place for place, name in enumerate(log.get("results", {}))}
    return dict(sorted(named.items(), key=lambda item: order.get(item[0], len(order))))


# --- the results file ---


def _read_results_file(path: Path) -> Mapping[str, Any]:
    """Return the content of a results file; raise if a part that is read by task has another type."""
    log = read_json_document(path)
    if not isinstance(log, Mapping):
        raise _build_type_error("the file", log, path)
    for name in _BY_TASK:
        if not isinstance(log.get(name, {}), Mapping):
            raise _build_type_error(repr(name), log[name], path)
    for group, members in log.get("group_subtasks", {}).items():
        if not isinstance(members, list) or not all(isinstance(one, str) for one in members):
            raise _build_type_error(f"the list of tasks of the group {group!r}", members, path)
    return log


def _build_type_error(what: str, value: Any, path: Path) -> StoreError:
    return build_log_error(
        "LOG-003",
        f"{what} is {value!r:.80}, which lm-eval does not write there",
        "import the results file that lm-eval wrote, unchanged",
        path,
    )


def _read_task(name: str, log: Mapping[str, Any]) -> ImportedTask:
    config = _get_mapping(log, "configs", name)
    counts = _get_mapping(log, "n-samples", name)
    shots = log.get("n-shot", {}).get(name)
    path, part = config.get("dataset_path"), config.get("dataset_name")
    settings = {key: value for key, value in config.items() if key not in ("metadata", "task")}
    if (version := log.get("versions", {}).get(name)) is not None:
        settings["version"] = version
    better = _get_mapping(log, "higher_is_better", name)
    return ImportedTask(
        name=name,
        source=None if path is None else str(path) if part is None else f"{path}:{part}",
        n_rows=counts.get("original") if isinstance(counts.get("original"), int) else None,
        shots=shots if isinstance(shots, int) else None,
        settings=settings,
        metrics={
            metric: ImportedMetricFacts(
                higher_is_better=better.get(plain := metric.partition(",")[0]),
                is_share=False if plain in _OFF_SCALE else None,
            )
            for metric in _list_values(name, log)
        },
    )


def _list_values(task: str, log: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of a task by metric; the filter is part of a name only if there are several."""
    entry = _get_mapping(log, "results", task)
    values: dict[tuple[str, str], float] = {}
    for key, value in entry.items():
        metric, _, chosen = key.partition(",")
        if key in _NO_VALUES or metric.endswith("_stderr") or isinstance(value, bool | str):
            continue
        if isinstance(value, int | float) and (number := _read_number(value)) is not None:
            values[metric, chosen] = number
    filters = {chosen for _, chosen in values}
    return {
        metric if len(filters) == 1 else f"{metric},{chosen}": value
        for (metric, chosen), value in values.items()
    }


def _read_metrics(log: Mapping[str, Any]) -> Iterator[LoggedMetric]:
    for name in log.get("results", {}):
        entry = _get_mapping(log, "results", name)
        n = _get_mapping(log, "n-samples", name).get("effective", entry.get("sample_len"))
        for metric, value in _list_values(name, log).items():
            plain, _, chosen = metric.partition(",")
            stderrs = (
                error
                for key, error in entry.items()
                if key.startswith(f"{plain}_stderr") and key.endswith(chosen)
            )
            stderr = _read_number(next(stderrs, None))
            yield LoggedMetric(name, metric, value, stderr, n if isinstance(n, int) else None)


def _read_groups(log: Mapping[str, Any]) -> Iterator[SummaryGroup]:
    """Yield the groups whose values are means of their tasks' values, weighted by size or not."""
    for name in log.get("groups", {}):
        leaves = list(_iter_leaves(name, log.get("group_subtasks", {})))
        for metric, value in _list_values(name, log).items():
            parts = {leaf: _list_values(leaf, log).get(metric) for leaf in leaves}
            known = {leaf: part for leaf, part in parts.items() if part is not None}
            sizes = {leaf: _count_samples(leaf, log) for leaf in known}
            subsets = tuple(Subset(leaf, metric) for leaf in known)
            if not known:
                continue
            if all(sizes.values()):
                total = sum(size or 0 for size in sizes.values())
                mean = sum(known[leaf] * (sizes[leaf] or 0) for leaf in known) / total
                if math.isclose(mean, value, abs_tol=_CLOSE):
                    weights = {leaf: float(size or 0) for leaf, size in sizes.items()}
                    yield SummaryGroup(name, subsets, "weighted_average", metric, weights)
                    continue
            if math.isclose(sum(known.values()) / len(known), value, abs_tol=_CLOSE):
                yield SummaryGroup(name, subsets, "naive_average", metric)


def _iter_leaves(name: str, members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for member in members.get(name, ()):
        if members.get(member):
            yield from _iter_leaves(member, members)
        else:
            yield member


def _count_samples(task: str, log: Mapping[str, Any]) -> int | None:
    n = _get_mapping(log, "n-samples", task).get(
        "effective", _get_mapping(log, "results", task).get("sample_len")
    )
    return n if isinstance(n, int) else None


def _read_model(log: Mapping[str, Any]) -> ModelIdentity | None:
    config = log.get("config") if isinstance(log.get("config"), Mapping) else {}
    assert isinstance(config, Mapping)
    args = read_model_args(config.get("model_args"))
    name = args.get("pretrained") or args.get("model") or log.get("model_name") or config.get("model")
    if not name:
        return None
    rest = {key: value for key, value in args.items() if key not in ("pretrained", "model", "api_key")}
    sha = config.get("model_sha")
    return ModelIdentity(
        str(config.get("model") or log.get("model_source") or ""),
        str(name),
        weights=f"{name}@{sha}" if sha else "",
        dtype=str(config.get("model_dtype") or ""),
        args={key: value for key, value in rest.items() if isinstance(value, str | int | float | bool)},
        revision=str(config.get("model_revision") or "") if sha else "",
    )


def read_model_args(value: Any) -> dict[str, Any]:
    """Return the model arguments: a mapping in newer logs, `name=value,...` in older ones."""
    if isinstance(value, Mapping):
        return dict(value)
    pairs = (part.partition("=") for part in str(value or "").split(",") if "=" in part)
    return {key.strip(): text.strip() for key, _, text in pairs}


def _read_settings(log: Mapping[str, Any]) -> dict[str, Any]:
    config = log.get("config")
    settings = dict(config) if isinstance(config, Mapping) else {}
    for name in ("system_instruction", "chat_template_sha", "fewshot_as_multiturn", "max_length"):
        if log.get(name) is not None:
            settings[name] = log[name]
    return {key: value for key, value in settings.items() if value not in (None, [], {}, "")}


def _read_versions(log: Mapping[str, Any]) -> dict[str, str]:
    names = {
        "lm_eval": "lm_eval_version",
        "transformers": "transformers_version",
        "lm_eval commit": "git_hash",
    }
    return {name: str(log[key]) for name, key in names.items() if log.get(key) not in (None, "N/A", "")}


def _read_date(value: Any) -> str | None:
    """Return a time in ISO 8601; lm-eval writes seconds since 1970."""
    number = _read_number(value)
    if number is None:
        return None
    try:
        return datetime.fromtimestamp(number, UTC).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None


def _read_number(value: Any) -> float | None:
    """Return a number that may be written as a text; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _list_notes(results: Path | None, log: Mapping[str, Any]) -> Iterator[str]:
    if results is None:
        yield "there is no results file next to the samples: model, settings and totals are not in the log"
    elif "config" not in log:
        yield f"{results.name} has no config: model and settings are not in the log"


def _get_mapping(log: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return a nested mapping; empty if it is missing."""
    found: Any = log
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


# --- the samples files ---


def _read_samples(files: Mapping[str, Path], log: Mapping[str, Any]) -> Iterator[ImportedSample]:
    """Yield the documents of all tasks; the exported methods of one task of Assay are read together."""
    together: dict[str, dict[str, Path]] = {}
    for name, path in files.items():
        together.setdefault(_find_own_task(path) or name, {})[name] = path
    for members in together.values():
        yield from read_documents(members, log)


def _find_own_task(path: Path) -> str | None:
    """Return the task of Assay that a samples file was exported from, if it was."""
    _, first = next(iter_json_lines(path), (0, None))
    fields = first.get(KEY) if isinstance(first, Mapping) else None
    return str(fields["task"]) if isinstance(fields, Mapping) and "task" in fields else None


FORMAT = LogFormat(
    NAME, "lm-evaluation-harness (results_*.json and samples_*.jsonl)", find_mismatch, read, write
)
