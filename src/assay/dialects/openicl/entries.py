"""The config entries that a dataset name selects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.openicl.config.checking import check_entries
from assay.dialects.openicl.config.entry import DatasetEntry, Entry
from assay.dialects.openicl.config.lists import find_dataset_lists
from assay.dialects.openicl.config.loading import ConfigFiles, LoadedConfig
from assay.dialects.openicl.config.prompt_hash import hash_prompt
from assay.dialects.openicl.detect import ConfigName, is_config, is_loader

MadeT = TypeVar("MadeT")
ENTRY_CODE = "OPENICL-008"


class ConfigEntry(NamedTuple):
    """One entry and its config."""

    entry: Entry
    where: Origin
    config: LoadedConfig
    prompt_hash: str | None
    """The six-digit hash of the prompt; None if the entry cannot be written as JSON."""


def load_entries(name: str, root: Path | None, same_names: list[Problem] | None = None) -> list[ConfigEntry]:
    """Load a config and return the entries that a name selects; without a selection, all.

    With `same_names`, entries that share a name are also returned, and the problem is added to that list.
    """
    wanted = ConfigName.of(name)
    if is_loader(name) and not is_config(name):
        what = "the file contains dataset classes, but no config for prompting and scoring them"
        fix = "name the config, or write one: `assay new NAME --like aisbench` creates an example"
        raise AuthorError(Problem(ENTRY_CODE, what, fix, Origin(str(wanted.path))))
    config = ConfigFiles(root).load(wanted.path)
    placed = check_entries(config, find_dataset_lists(config, wanted.suffix), same_names)
    every = [ConfigEntry(one.entry, one.where, config, hash_prompt(one.written)) for one in placed]
    known = {one.entry.name: one for one in every}
    unknown = next((abbr for abbr in wanted.abbrs if abbr not in known), None)
    if unknown is not None:
        what = f"there is no dataset {unknown!r}{suggest_name(unknown, known)}; found {listing(known)}"
        raise AuthorError(Problem(ENTRY_CODE, what, "choose from these", Origin(str(config.path))))
    return [known[abbr] for abbr in wanted.abbrs] if wanted.abbrs else every


def drop_scoring(config_entry: ConfigEntry) -> ConfigEntry:
    """Return an entry whose answers are collected without scoring."""
    if not isinstance(config_entry.entry, DatasetEntry):
        return config_entry
    return config_entry._replace(
        entry=msgspec.structs.replace(config_entry.entry, eval_cfg=None, judge_infer_cfg=None)
    )


def apply_to_entries(
    entries: Sequence[ConfigEntry], make: Callable[[ConfigEntry], MadeT], same_names: Sequence[Problem] = ()
) -> list[MadeT]:
    """Return the results for all entries, or raise the problems of all entries and their names.

    Entries that a loop creates have the same problems: each problem is reported once.
    """
    raised = [AuthorError(same_names)] if same_names else []
    made = []
    for one in entries:
        try:
            made.append(make(one))
        except AuthorError as error:
            raised.append(error)
    if not raised:
        return made
    kinds = {type(error) for error in raised}
    kind = kinds.pop() if len(kinds) == 1 else AuthorError
    if kind.__init__ is not AuthorError.__init__:
        # This error carries more than problems, such as the possible readings of a table.
        if len(raised) == 1:
            raise raised[0]
        kind = AuthorError
    places: dict[Problem, dict[Origin | None, None]] = {}
    for problem in (problem for error in raised for problem in error.problems):
        nowhere = msgspec.structs.replace(problem, where=None)
        places.setdefault(nowhere, {})[problem.where] = None
    merged = [_merge_places(problem, list(where)) for problem, where in places.items()]
    left = sum(error.total - len(error.problems) for error in raised)
    raise kind(merged, total=len(merged) + left) from raised[0]


def _merge_places(problem: Problem, where: Sequence[Origin | None]) -> Problem:
    more = f" (in {len(where):,} places)" if len(where) > 1 else ""
    return msgspec.structs.replace(problem, where=where[0], what=f"{problem.what}{more}")
