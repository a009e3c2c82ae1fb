"""Names for Python objects that take part in a run: data, models and judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from assay.core.errors import AuthorError, Problem, UsageError
from assay.core.origin import Origin
from assay.core.python_objects import PREFIX
from assay.sources.python_rows import describe_kind


class Frame(Protocol):
    """A DataFrame of pandas or polars, a `pyarrow.Table`, or a `datasets.Dataset`."""

    def __len__(self) -> int:
        """Return the number of rows."""


Rows: TypeAlias = Sequence[Mapping[str, Any]] | Frame
Datasets: TypeAlias = (
    str | Path | Frame | Mapping[str, Rows] | Iterable[str | Path | Rows | Mapping[str, Any]]
)
Model: TypeAlias = str | Callable[..., Any] | tuple[Any, Any]


class NamedObjects:
    """The objects of one run, each with a unique name."""

    def __init__(self) -> None:
        self.by_name: dict[str, Any] = {}

    def name_datasets(self, data: Any) -> tuple[str, ...]:
        """Return the names of the datasets of a run; a file is its own name."""
        if isinstance(data, (Iterator, Set)):
            data = list(data)
        if isinstance(data, Mapping):
            _require_named_rows(data)
            return tuple(self._add(str(name), rows) for name, rows in data.items())
        if isinstance(data, (list, tuple)) and not _is_rows(data):
            return tuple(self.name_dataset(one) for one in data)
        return (self.name_dataset(data),)

    def name_dataset(self, data: Any) -> str:
        """Return the name of one dataset."""
        if isinstance(data, (str, Path)):
            return str(data)
        return self._add(describe_kind(data) or type(data).__name__, data)

    def name_model(self, model: Any) -> str:
        """Return the name of a model: a text is its own name."""
        if isinstance(model, str):
            return model
        return self._add(_describe_model(model), model)

    def _add(self, name: str, value: Any) -> str:
        n = 1
        unique = f"{PREFIX}{name}"
        while unique in self.by_name and self.by_name[unique] is not value:
            n += 1
            unique = f"{PREFIX}{name}-{n}"
        self.by_name[unique] = value
        return unique


def _is_rows(data: Sequence[Any]) -> bool:
    """Return whether a list is one dataset, and not a list of datasets."""
    return bool(data) and not all(isinstance(one, (str, Path)) or _holds_rows(one) for one in data)


def _holds_rows(value: Any) -> bool:
    """Return whether a value is a dataset of its own: a frame, or a list with dicts."""
    if isinstance(value, (list, tuple)):
        return bool(value) and isinstance(value[0], Mapping)
    return describe_kind(value) is not None


def _require_named_rows(data: Mapping[str, Any]) -> None:
    for name, rows in data.items():
        if isinstance(rows, (str, Path)):
            what = f"{name!r} names the file {str(rows)!r}, but only data in memory can be named like this"
            fix = "pass the path itself; name=... names its task"
            raise UsageError(Problem("PYTHON-001", what, fix))
        if not _holds_rows(rows):
            what = f"the dict has columns ({name!r}: {type(rows).__name__}) instead of datasets by name"
            fix = (
                "pass a list of rows, each a dict; a dict of columns becomes one with pandas.DataFrame(data)"
            )
            raise AuthorError(Problem("PYTHON-001", what, fix, Origin(f"{PREFIX}dict")))


def _describe_model(model: Any) -> str:
    """Return the name of a function, or the name under which a loaded model was saved."""
    if isinstance(model, tuple) and model:
        saved = getattr(getattr(model[0], "config", None), "_name_or_path", "") or ""
        return Path(saved).name or type(model[0]).__name__
    while hasattr(model, "func") and not hasattr(model, "__name__"):
        model = model.func  # A functools.partial.
    name: str = getattr(model, "__name__", type(model).__name__)
    return name.strip("<>")
