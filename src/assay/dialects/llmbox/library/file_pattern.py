"""A file, or a pattern with {subset} and {split}, that a person gives as the place of a dataset."""

from __future__ import annotations

import re
from pathlib import Path

from assay.core.errors import Problem
from assay.core.origin import Origin
from assay.sources.dataset_folder import DatasetMissing


class FilePattern:
    """Finds a subset's and split's file. A path without {split} is the file of every split."""

    def __init__(self, text: str) -> None:
        self.text = Path(text).as_posix()

    def files(self, *, config: str | None, split: str | None) -> tuple[Path, ...]:
        """Return the one file of a subset and split; raise when it is not there."""
        name = self.text
        for field, value in (("{subset}", config), ("{split}", split)):
            if field in name and value is None:
                what = f"the path {self.text!r} needs a {field[1:-1]}, and none was asked for"
                raise DatasetMissing(Problem("SOURCE-010", what, f"write its name in place of {field}"))
            name = name.replace(field, value or "")
        path = Path(name)
        if not path.is_file():
            what, fix = f"there is no file {name!r}", "check the path"
            raise DatasetMissing(Problem("SOURCE-010", what, fix, Origin(self.text)))
        return (path,)

    def configs(self, split: str | None) -> tuple[str, ...]:
        """Return the subsets for which there is a file, of this split when one is named."""
        if "{subset}" not in self.text:
            return ()
        text = self.text.replace("{split}", split) if split else self.text
        before, *others = text.split("{subset}")
        form = "(?P=subset)".join(map(_as_regex, others))
        pattern = re.compile(f"{_as_regex(before)}(?P<subset>[^/]+){form}")
        # The part of the path before its first field is where its files are.
        above = Path(text.partition("{")[0] + "x").parent
        found = (pattern.fullmatch(path.as_posix()) for path in above.rglob("*") if path.is_file())
        return tuple(sorted({match["subset"] for match in found if match}))


def _as_regex(text: str) -> str:
    return "[^/]+".join(map(re.escape, text.split("{split}")))
