"""The contents of a loaded config by variable name: lists of datasets, models and the summarizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.config.loading import LoadedConfig

DATASETS_SUFFIX = "_datasets"
DATASETS = "datasets"
_CODE = "OPENICL-008"


class DatasetList(NamedTuple):
    """One list of entries."""

    variable: str
    entries: Sequence[dict[str, Any]]


def find_dataset_lists(config: LoadedConfig, suffix: str | None = None) -> list[DatasetList]:
    """Return the lists of datasets of a config.

    With a suffix: every variable whose name ends with it. Without: `datasets`, as in a config of a whole run,
    or else every variable that ends with `_datasets`.
    """
    where = Origin(str(config.path))
    if suffix is None and DATASETS in config.values:
        names = [DATASETS]
    else:
        wanted = suffix or DATASETS_SUFFIX
        names = [name for name in config.values if name.endswith(wanted)]
        if not names:
            known = list(config.values)
            variables = listing(known) or "none"
            what = f"no variable ends with {wanted!r}{suggest_name(wanted, known)}; it has {variables}"
            fix = f"name the list of datasets NAME{DATASETS_SUFFIX}"
            raise AuthorError(Problem(_CODE, what, fix, where))
    lists = [DatasetList(name, read_dict_list(config, name)) for name in names]
    if not any(one.entries for one in lists):
        what = f"there are no datasets in {listing(names)}"
        raise AuthorError(Problem(_CODE, what, "write at least one entry", where))
    return lists


def read_dict_list(config: LoadedConfig, variable: str) -> Sequence[dict[str, Any]]:
    """Return a variable that must be a list of dicts, such as `models` and the lists of datasets."""
    value = config.values[variable]
    if not isinstance(value, list | tuple):
        what = f"{variable!r} is {_kind(value)}, expected a list of dicts"
        raise AuthorError(
            Problem(_CODE, what, f"write {variable} = [dict(...), ...]", Origin(str(config.path)))
        )
    problems = Problems()
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            what = f"found {_kind(entry)} ({entry!r:.60}), expected a dict"
            problems.add(
                Problem(_CODE, what, "write dict(...)", Origin(f"{config.path} {variable}[{index}]"))
            )
    problems.raise_if_any()
    return value


def read_model_dicts(config: LoadedConfig) -> Sequence[dict[str, Any]]:
    """Return the models of a config; empty if it has none."""
    return read_dict_list(config, "models") if "models" in config.values else ()


def read_summarizer(config: LoadedConfig) -> dict[str, Any] | None:
    """Return the summarizer of a config, or None."""
    value = config.values.get("summarizer")
    if value is None or isinstance(value, dict):
        return value
    what = f"'summarizer' is {_kind(value)}, expected a dict"
    raise AuthorError(Problem(_CODE, what, "write summarizer = dict(...)", Origin(str(config.path))))


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
