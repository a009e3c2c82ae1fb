"""Settings that mean nothing to any dataset of a run are refused: a flag without effect is a trap."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from assay.app.dialects import DIALECT_REGISTRY, TABLE
from assay.core.errors import Problem, UsageError
from assay.core.task import TaskSettings

_TABLE_SETTINGS = frozenset(
    {
        *("shots_from", "shot_policy", "windows", "window_tokens", "stride", "split", "table"),
        *("samples", "dataset_args"),
    }
)
_SPECIAL = _TABLE_SETTINGS.union(*(language.understands for language in DIALECT_REGISTRY.values()))
"""What does not mean something to every language."""


def check_used_settings(
    dialects: Collection[str], settings: TaskSettings, said: Mapping[str, object], split: str | None
) -> None:
    """Raise for settings that none of the languages in use knows; `said`: what describes a table."""
    known = frozenset[str]().union(*(_list_known_settings(dialect) for dialect in dialects))
    given, of_tables = _list_given_settings(settings, said, split)
    nouns = " or ".join(sorted({_noun(dialect) for dialect in dialects}))
    problems = [
        _problem(name, nouns, _find_alternative(name, dialects)) for name in given if name not in known
    ]
    if TABLE not in dialects:
        problems += [_problem(name, nouns, _find_alternative("table", dialects)) for name in of_tables]
    if problems:
        raise UsageError(problems)


def format_ignored_settings(
    dialect: str, settings: TaskSettings, said: Mapping[str, object], split: str | None
) -> tuple[str, ...]:
    """Return in words what means nothing to one language, although it does to another in the same run."""
    given, of_tables = _list_given_settings(settings, said, split)
    unknown = [name for name in given if name not in _list_known_settings(dialect)]
    unknown += [] if dialect == TABLE else of_tables
    return tuple(f"{name!r} means nothing to {_noun(dialect)} and changes nothing here" for name in unknown)


def _list_given_settings(
    settings: TaskSettings, said: Mapping[str, object], split: str | None
) -> tuple[list[str], list[str]]:
    """Return the names of what was set: what some languages know, and what describes a table."""
    plain = TaskSettings()
    given = [name for name in sorted(_SPECIAL) if getattr(settings, name, None) != getattr(plain, name, None)]
    return [*given, *([] if split is None else ["split"])], list(said)


def _list_known_settings(dialect: str) -> frozenset[str]:
    return _TABLE_SETTINGS if dialect == TABLE else DIALECT_REGISTRY[dialect].understands


def _noun(dialect: str) -> str:
    return "a table" if dialect == TABLE else DIALECT_REGISTRY[dialect].noun


def _find_alternative(name: str, dialects: Collection[str]) -> str:
    """Return what the languages in use have in a setting's place."""
    every = (DIALECT_REGISTRY[dialect].instead.get(name) for dialect in sorted(dialects) if dialect != TABLE)
    return next((fix for fix in every if fix), "drop it")


def _problem(name: str, nouns: str, fix: str) -> Problem:
    return Problem("USAGE-007", f"{name!r} was set, which means nothing to {nouns}", fix)
