"""Grouping columns by ability: from a file, otherwise from the datasets' own metadata."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from assay.core.errors import Problem, UsageError, explain_type_error, listing, suggest_name
from assay.core.origin import Origin
from assay.results.leaderboard.columns import ComputedColumn

Abilities: TypeAlias = Mapping[str, Sequence[str]]
"""By ability: datasets (`dataset`) or categories of their subsets (`dataset:[category]`)."""


def read_abilities(path: Path) -> dict[str, list[str]]:
    """Read `ability = ["dataset", ...]` from a TOML file."""
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(written, dict[str, list[str]])
    except OSError as error:
        what, fix = f"the file cannot be read: {error.strerror}", "check the path"
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        what = f"not valid TOML: {error}"
        fix = 'correct the file; put a name that is not plain ASCII in quotes: "추론" = ["nli"]'
    except msgspec.ValidationError as error:
        what = f"{explain_type_error(error)}; expected a list of datasets for each ability"
        fix = 'write: reasoning = ["gsm8k", "mmlu:[STEM]"]'
    raise UsageError(Problem("BOARD-004", what, fix, Origin(str(path))))


def find_abilities(columns: Sequence[ComputedColumn]) -> dict[str, list[str]]:
    """Return the abilities that datasets name: categories, descriptions in their registry, groups."""
    found: dict[str, dict[str, None]] = {}

    def add(ability: str, member: str) -> None:
        found.setdefault(ability, {})[member] = None

    has_parts = {column.column.dataset for column in columns if column.column.part is not None}
    for column in columns:
        shown = column.column
        if shown.part is not None:
            add(shown.part, _format_column_name(column))
            continue
        if shown.about:
            add(shown.about, shown.dataset)
        for entry in column.entries.values():
            if shown.dataset not in has_parts:
                for category in entry.tasks[0].categories:
                    add(category, shown.dataset)
            members = {task.name for task in entry.tasks}
            for group, tasks in entry.source.run.groups.items():
                if members <= set(tasks):
                    add(group, shown.dataset)
    return {ability: list(members) for ability, members in found.items()}


def group_columns_by_ability(
    abilities: Abilities, columns: Sequence[ComputedColumn], *, is_from_file: bool
) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Return the places of each ability's columns, and notes on unknown datasets."""
    places = {
        _format_column_name(column): place for place, column in enumerate(columns) if column.column.counts
    }
    notes = []
    found: dict[str, tuple[int, ...]] = {}
    for ability, members in abilities.items():
        unknown = [name for name in members if name not in places]
        if unknown and is_from_file:
            notes.append(
                f"ability {ability!r} names datasets without runs: {listing(unknown)}"
                f"{suggest_name(unknown[0], places)}"
            )
        known = [places[name] for name in dict.fromkeys(members) if name in places]
        averaged = tuple(place for place in known if is_averaged(columns[place]))
        if averaged:
            found[ability] = averaged
    return found, notes


def is_averaged(column: ComputedColumn) -> bool:
    """Whether a column can be part of a mean: a share for which higher is better."""
    return column.column.counts and column.column.is_share and column.column.higher_is_better


def _format_column_name(column: ComputedColumn) -> str:
    shown = column.column
    return shown.dataset if shown.part is None else f"{shown.dataset}:[{shown.part}]"
