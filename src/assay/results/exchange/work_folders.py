"""Work folders of OpenCompass and AISBench: predictions and results of datasets, by model.

    WORK/TIME/predictions/MODEL/DATASET.json     OpenCompass: one dict, rows by number
    WORK/TIME/predictions/MODEL/DATASET.jsonl    AISBench: one line per text
    WORK/TIME/results/MODEL/DATASET.json         the values, and details of each row if requested

Shares are from 0 to 100 in these files. Only details say which rows are right; without them, a run has
responses and totals, and `assay score` can score the responses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import listing
from assay.core.method import Method
from assay.core.metric_order import IGNORED_METRICS, rank_metric
from assay.core.model import ModelIdentity
from assay.core.prompt import Message, Prompt
from assay.core.run import LoggedMetric
from assay.results.exchange.imported import (
    ImportedMetricFacts,
    ImportedOption,
    ImportedReply,
    ImportedResult,
    ImportedRun,
    ImportedSample,
    ImportedTask,
)
from assay.results.exchange.log_files import build_log_error, read_json_document

PREDICTIONS, RESULTS = "predictions", "results"
_TIME = re.compile(r"\d{8}_\d{6}")
_SHARES = re.compile(
    r"(accuracy( \(\d+ runs average\))?|acc|score|exact_match|em|f1|extract_rate|humaneval_pass@1"
    r"|g?-?pass@.*|avg@.*|cons@.*)",
    re.I,
)
"""Metrics that the originals write as a percentage."""
_ROLES = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system", "user": "user", "assistant": "assistant"}
_CLOSE = 0.006
"""Results are rounded to two decimals of a percentage."""
_OPTION = "label: "
_UNFINISHED = "tmp"
_LIKELIHOODS = "ppl_list"
"""AISBench's numbers of the options."""


class Row(NamedTuple):
    """One row of a dataset: its predictions, in the order of the repeats."""

    id: str
    predictions: list[Mapping[str, Any]]
    line: int | None
    failure: str | None = None


class WorkFolder(NamedTuple):
    """The files of one model in one work folder."""

    root: Path
    model: str
    predictions: Mapping[str, tuple[Path, ...]]
    """By dataset."""
    results: Mapping[str, Path]

    @property
    def files(self) -> tuple[Path, ...]:
        """Return all files."""
        return (*(path for paths in self.predictions.values() for path in paths), *self.results.values())


def find_predictions(path: Path, suffix: str) -> list[Path]:
    """Return the files of predictions at or below a path."""
    if not path.is_dir():
        return []
    own = [path] if PREDICTIONS in path.parts else []
    for folder in (*own, path / PREDICTIONS, *sorted(path.glob(f"*/{PREDICTIONS}"))):
        if folder.is_dir() and (found := _list_files(folder, suffix)):
            return found
    return []


def open_work_folder(path: Path, suffix: str, program: str) -> WorkFolder:
    """Return the files of the only model in the only work folder at a path."""
    folders = [path] if (path / PREDICTIONS).is_dir() or PREDICTIONS in path.parts else []
    folders = folders or [one.parent for one in sorted(path.glob(f"*/{PREDICTIONS}"))]
    if not folders:
        raise build_log_error(
            "LOG-005",
            f"the folder has no {PREDICTIONS}/ of {program}",
            f"name the work folder that contains {PREDICTIONS}/ and {RESULTS}/",
            path,
        )
    if len(folders) > 1:
        times = [one.name for one in folders]
        raise build_log_error(
            "LOG-004",
            f"the folder has the logs of {len(folders)} runs: {listing(times, at_most=6)}",
            f"import one of them: assay import {folders[-1]}",
            path,
        )
    root, model = _split_model(folders[0])
    base = root / PREDICTIONS
    models = [model] if model else sorted(one.name for one in base.iterdir() if one.is_dir())
    if len(models) != 1:
        raise build_log_error(
            "LOG-004" if models else "LOG-005",
            f"the folder has the predictions of {len(models)} models: {listing(models, at_most=6)}",
            f"import one of them: assay import {base / models[-1]}" if models else "name another folder",
            root,
        )
    results = {
        str(one.relative_to(root / RESULTS / models[0]).with_suffix("")): one
        for one in sorted((root / RESULTS / models[0]).rglob("*.json"))
    }
    return WorkFolder(root, models[0], _group_parts(base / models[0], suffix, results), results)


def _split_model(path: Path) -> tuple[Path, str | None]:
    """Return the work folder of a path, and the model if the path names one."""
    if PREDICTIONS not in path.parts:
        return path, None
    at = len(path.parts) - 1 - path.parts[::-1].index(PREDICTIONS)
    return Path(*path.parts[:at]), path.parts[at + 1] if at + 1 < len(path.parts) else None


def _list_files(folder: Path, suffix: str) -> list[Path]:
    """Return the files below a folder, without those that a run in progress or a stopped one left."""
    files = sorted(folder.rglob(f"*{suffix}"))
    return [one for one in files if _UNFINISHED not in one.relative_to(folder).parts]


def _group_parts(folder: Path, suffix: str, results: Mapping[str, Path]) -> dict[str, tuple[Path, ...]]:
    """Return the files of each dataset; OpenCompass splits large ones into NAME_0, NAME_1, ..."""
    found: dict[str, list[tuple[int, Path]]] = {}
    for path in _list_files(folder, suffix):
        name = str(path.relative_to(folder))[: -len(suffix)]
        base, _, number = name.rpartition("_")
        if (
            name not in results
            and number.isdecimal()
            and (base in results or (folder / f"{base}_0{suffix}").exists())
        ):
            found.setdefault(base, []).append((int(number), path))
        else:
            found.setdefault(name.removesuffix("_failed"), []).append((0, path))
    return {name: tuple(path for _, path in sorted(parts)) for name, parts in found.items()}


def read_work_folder(
    format_name: str, work: WorkFolder, read_rows: Callable[[tuple[Path, ...]], Iterator[Row]]
) -> ImportedRun:
    """Return the run in a work folder. `read_rows` yields the rows of a dataset from its files."""
    tasks = {name: _TaskResults(name, work.results.get(name)) for name in work.predictions}
    for name, paths in work.predictions.items():
        tasks[name].find_deciding_metric(read_rows(paths))

    def read_samples() -> Iterator[ImportedSample]:
        for name, paths in work.predictions.items():
            for position, row in enumerate(read_rows(paths)):
                yield _build_sample(name, row, tasks[name], position, paths[0])

    time = _TIME.fullmatch(work.root.name)
    return ImportedRun(
        format_name,
        work.files,
        tuple(task.describe() for task in tasks.values()),
        read_samples,
        model=ModelIdentity("", work.model),
        settings={"work folder": work.root.name} if time else {},
        metrics=tuple(metric for task in tasks.values() for metric in task.iterate_metrics()),
        notes=tuple(note for task in tasks.values() for note in task.notes),
    )


class _TaskResults:
    """The results file of one dataset."""

    def __init__(self, name: str, path: Path | None) -> None:
        self.name = name
        self.notes: list[str] = []
        content = {} if path is None else read_json_document(path)
        if not isinstance(content, Mapping):
            raise build_log_error(
                "LOG-003", "the results are not a JSON object", "write the results again", path or Path(name)
            )
        self.values = {
            str(key): float(value)
            for key, value in content.items()
            if isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and key not in IGNORED_METRICS
        }
        details = content.get("details")
        self._details: Mapping[str, Any] = {}
        if isinstance(details, Mapping):
            self._details = {str(key): one for key, one in details.items() if isinstance(one, Mapping)}
        elif isinstance(details, list):
            self._details = {str(place): one for place, one in enumerate(details) if isinstance(one, Mapping)}
        self._is_listed = isinstance(details, list)
        self.metric = min(self.values, key=rank_metric, default="")
        self.recomputes = False
        """Whether rows count as right if the prediction equals the reference."""
        if path is None:
            self.notes.append(f"{name} has predictions, but no results file: only its responses are imported")

    def find_deciding_metric(self, rows: Iterator[Row]) -> None:
        """Find which metric the rows' own values belong to: the one that is their mean."""
        known = [value for key in self._details if (value := _read_correct(self._details[key])) is not None]
        if known:
            self.metric = self._find_mean(known) or "correct"
            return
        numbered = enumerate(rows)
        compared = [self._compare_answer(row, position) for position, row in numbered]
        equal = [one for one in compared if one is not None]
        found = self._find_mean(equal) if equal and any(equal) else None
        if found is not None:
            self.metric, self.recomputes = found, True
            self.notes.append(
                f"{self.name}: the log does not say which rows are right; a row counts as right if its "
                f"prediction equals the reference, which gives the log's own {found}"
            )
        elif self.values:
            self.notes.append(
                f"{self.name}: the log does not say which rows are right, so its values have no interval; "
                "write details with --dump-eval-details, or score the responses with `assay score`"
            )

    def _compare_answer(self, row: Row, position: int) -> float | None:
        """Return whether a row's prediction equals its reference; None if the log lacks one of them."""
        detail = self.detail(row, position)
        if "predictions" in detail and "references" in detail:
            return float(str(detail["predictions"]) == str(detail["references"]))
        if len(row.predictions) != 1 or "gold" not in row.predictions[0]:
            return None
        return float(str(row.predictions[0].get("prediction")) == str(row.predictions[0]["gold"]))

    def _find_mean(self, values: list[float]) -> str | None:
        mean = 100 * sum(values) / len(values)
        fitting = [name for name, value in self.values.items() if abs(value - mean) < _CLOSE]
        return min(fitting, key=rank_metric, default=None)

    def value(self, row: Row, position: int) -> float | None:
        """Return whether a row is right, as far as the log says."""
        if self.recomputes:
            return self._compare_answer(row, position)
        return _read_correct(self.detail(row, position))

    def detail(self, row: Row, position: int) -> Mapping[str, Any]:
        """Return the details of a row; empty if there are none."""
        found = self._details.get(str(position) if self._is_listed else row.id, {})
        return found if isinstance(found, Mapping) else {}

    def describe(self) -> ImportedTask:
        names = sorted(self.values, key=lambda name: (name != self.metric, rank_metric(name)))
        if self.metric and self.metric not in names:
            names.insert(0, self.metric)
        return ImportedTask(
            name=self.name,
            metrics={name: ImportedMetricFacts(is_share=_is_percentage(name)) for name in names},
        )

    def iterate_metrics(self) -> Iterator[LoggedMetric]:
        for name, value in self.values.items():
            yield LoggedMetric(self.name, name, value / 100 if _is_percentage(name) else value)


def _is_percentage(name: str) -> bool:
    return _SHARES.fullmatch(name) is not None


def _read_correct(detail: Mapping[str, Any]) -> float | None:
    """Return whether a row is right; with several answers, their mean."""
    for name in ("correct", "is_correct", "cascade_correct"):
        value = detail.get(name)
        several = value if isinstance(value, list) else [value]
        if several and all(isinstance(one, bool | int | float) for one in several):
            return float(sum(several) / len(several))
    return None


def _build_sample(name: str, row: Row, task: _TaskResults, position: int, path: Path) -> ImportedSample:
    first = row.predictions[0] if row.predictions else {}
    gold = first.get("gold")
    detail = task.detail(row, position)
    if gold is None:
        gold = detail.get("references", detail.get("answer"))
    several = gold if isinstance(gold, list) else [] if gold in (None, "") else [gold]
    options = {
        key.removeprefix(_OPTION): value
        for key, value in first.items()
        if key.startswith(_OPTION) and isinstance(value, Mapping)
    }
    value = task.value(row, position)
    labels = tuple(options)
    is_ppl = bool(options) or _LIKELIHOODS in first
    answer = _read_answer(detail, first if is_ppl or task.recomputes else {})
    result = ImportedResult(
        method=Method.PPL if is_ppl else Method.GEN,
        metric=task.metric,
        values={} if value is None else {task.metric: value},
        answer=answer,
        prompt=None if is_ppl else _read_prompt(first.get("origin_prompt")),
        replies=() if is_ppl else tuple(_read_replies(row)),
        # The original scores the whole text of an option, and keeps only the mean per token.
        options=tuple(ImportedOption(text=str(_flatten(one.get("prompt", "")))) for one in options.values()),
        details=tuple(
            {"label": label, **{key: one[key] for key in ("PPL", "BPB") if key in one}}
            for label, one in options.items()
        ),
        failure=row.failure,
    )
    return ImportedSample(
        task=name,
        id=row.id,
        line=row.line,
        file=str(path),
        choices=labels,
        labels=labels,
        gold=(labels.index(str(gold)),) if labels and str(gold) in labels else (),
        targets=() if labels and str(gold) in labels else tuple(map(str, several)),
        results=(result,),
    )


def _read_answer(detail: Mapping[str, Any], prediction: Mapping[str, Any]) -> str | None:
    """Return the extracted answer: of the details, or the prediction itself."""
    for found in (detail.get("predictions"), detail.get("pred"), prediction.get("prediction")):
        one = found[0] if isinstance(found, list) and found else found
        if isinstance(one, str | int | float) and not isinstance(one, bool):
            return str(one)
    return None


def _read_replies(row: Row) -> Iterator[ImportedReply]:
    for one in row.predictions:
        texts = one.get("prediction")
        for text in texts if isinstance(texts, list) else [texts]:
            if isinstance(text, str):
                yield ImportedReply(text=text)


def _read_prompt(value: Any) -> Prompt | None:
    """Return a prompt: a text, or a conversation with the original's names of roles."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    messages = []
    for turn in value:
        role = _ROLES.get(str(turn.get("role"))) if isinstance(turn, Mapping) else None
        content = turn.get("prompt", turn.get("content")) if isinstance(turn, Mapping) else None
        if role is None or not isinstance(content, str):
            return _flatten(value)
        messages.append(Message(role, content))  # type: ignore[arg-type]
    return tuple(messages)


def _flatten(value: Any) -> str:
    """Return a prompt of any shape as one text."""
    if isinstance(value, list):
        return "\n".join(_flatten(one) for one in value)
    if isinstance(value, Mapping):
        return str(value.get("prompt", value.get("content", "")))
    return str(value)
