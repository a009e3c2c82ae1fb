"""What a person named, as entries of configs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from assay.core.errors import AuthorError, Problem, listing, nearest
from assay.core.origin import Origin
from assay.dialects.openicl.config.checking import checked_entries
from assay.dialects.openicl.config.entry import Entry
from assay.dialects.openicl.config.lists import dataset_lists
from assay.dialects.openicl.config.loading import ConfigFiles, LoadedConfig
from assay.dialects.openicl.config.prompt_hash import prompt_hash
from assay.dialects.openicl.detect import ConfigName

CODE = "OPENICL-008"


class Found(NamedTuple):
    """One entry, and the config that it stands in."""

    entry: Entry
    where: Origin
    config: LoadedConfig
    prompt_hash: str | None
    """The six digits of what the model is asked; None where the entry cannot be written down."""


def entries_of(name: str, root: Path | None) -> list[Found]:
    """Load a config and return those of its entries that a person named; without names, all."""
    wanted = ConfigName.of(name)
    config = ConfigFiles(root).load(wanted.path)
    placed = checked_entries(config, dataset_lists(config, wanted.suffix))
    known = {one.entry.name: Found(one.entry, one.where, config, prompt_hash(one.written)) for one in placed}
    unknown = next((abbr for abbr in wanted.abbrs if abbr not in known), None)
    if unknown is not None:
        what = f"there is no dataset {unknown!r}{nearest(unknown, known)}; there are {listing(known)}"
        raise AuthorError(Problem(CODE, what, "name some of these", Origin(str(config.path))))
    return [known[abbr] for abbr in wanted.abbrs or known]
