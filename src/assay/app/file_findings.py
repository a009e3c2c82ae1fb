"""What a person should know about the file of a config itself: its name, and the README that lists it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.app.check import Finding
from assay.app.dialects import detect_dialect
from assay.app.settings import RunSettings
from assay.dialects.openicl.detect import ConfigName, find_config_files

if TYPE_CHECKING:
    from assay.dialects.openicl.readme_description import ConfigDescription

_LANGUAGE = "openicl"
_NAMED_HASH = re.compile(r"_(?P<digits>[0-9a-f]{6})$")


class FileFinding(NamedTuple):
    """Something about one file, or about a README that is about several."""

    place: str
    """What stands before it in a list of many files."""
    finding: Finding


def collect_file_findings(datasets: Sequence[str], values: RunSettings) -> Iterator[FileFinding]:
    """Yield what is found about the files of config datasets; one that does not load is told of elsewhere."""
    named = [
        name for name in datasets if detect_dialect(name, values.dialect, values.dataset_args) == _LANGUAGE
    ]
    if not named:
        return
    # A table waits for nothing of this.
    from assay.app.dataset_docs import Documentation, group_by_folder
    from assay.dialects.openicl.arguments import OPENICL_ROOT

    configs = list(dict.fromkeys(ConfigName.of(name).path for name in named))
    root = values.dataset_args.get(OPENICL_ROOT)
    documentation = Documentation(None if root is None else Path(root))
    for config in configs:
        described = documentation.described(config)
        if described is not None:
            yield from (FileFinding(f"{config.name}: ", finding) for finding in _check_prompt_hash(described))
    for folder in group_by_folder(configs):
        is_whole = set(find_config_files(folder.path)) <= set(configs)
        for one in documentation.disagreements(folder):
            # A row that is too many concerns whoever looks at all of the folder.
            if is_whole or folder.path / one.config in configs:
                yield FileFinding(f"{folder.path.absolute().name}/", Finding(True, one.text))


def _check_prompt_hash(one: ConfigDescription) -> Iterator[Finding]:
    """Yield whether the digits at the end of a file's name are those of its prompt."""
    written = _NAMED_HASH.search(one.path.stem)
    if written is None or one.prompt_hash is None or not one.is_of_opencompass:
        return
    if written["digits"] == one.prompt_hash:
        yield Finding(False, f"the prompt hash of the file is {one.prompt_hash}, as its name says")
    else:
        said = (
            f"the file's name says that its prompt hash is {written['digits']}, and it is {one.prompt_hash}"
        )
        yield Finding(True, f"{said}: the prompt is not the one that the file is named after")
