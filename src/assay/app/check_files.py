"""Check many datasets at once: whether each compiles, which data it needs, or what is wrong.

Only the first rows of each are read, so that a folder of a hundred files takes seconds; `app.check` reads
every row of one dataset.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from assay.app.check import Finding
from assay.app.dataset_state import DatasetState
from assay.app.dialects import detect_dialect, list_members
from assay.app.offline.watch import offline_watch
from assay.app.open_model import open_model
from assay.app.run import compile_with_settings
from assay.app.scorers import build_scorers
from assay.app.settings import RunSettings, Settings
from assay.core.compilation import CompiledDataset
from assay.core.errors import AssayError, Problem
from assay.core.method import Method
from assay.core.ports import Backend
from assay.core.setting_names import naming_settings
from assay.dialects.openicl.detect import ConfigName, find_config_files
from assay.engine.plan import check_plan, probe_model_card
from assay.sources.dataset_folder import DatasetMissing

if TYPE_CHECKING:
    from assay.dialects.openicl.readme_description import ConfigDescription


ROWS_LOOKED_AT = 50
"""Rows of each dataset or subset that are formatted and rendered."""


class FileCheckResult(NamedTuple):
    """The result of checking one dataset."""

    name: str
    state: DatasetState
    n_rows: int = 0
    n_tasks: int = 0
    """Number of subsets, or 1."""
    methods: tuple[Method, ...] = ()
    class_name: str | None = None
    problem: Problem | None = None
    """The data it needs, or the first error."""
    n_problems: int = 0


class NamedDatasets(NamedTuple):
    """The datasets that the names on a command line mean."""

    datasets: tuple[str, ...]
    skipped: tuple[str, ...]
    """Files of a folder that are not datasets."""


def expand_datasets(names: Sequence[str], dialect: str | None) -> NamedDatasets:
    """Replace folders by the datasets in them; a folder without datasets stays as it is."""
    datasets: list[str] = []
    skipped: list[str] = []
    for name in names:
        members = list_members(name, dialect)
        datasets += members or [name]
        if any(Path(member).is_file() for member in members):
            skipped += [str(file) for file in sorted(Path(name).glob("*.py")) if str(file) not in members]
    return NamedDatasets(tuple(datasets), tuple(skipped))


def get_error_state(error: AssayError) -> DatasetState:
    """Return the state of a dataset whose check raised an error: its data is missing, or it is wrong."""
    return DatasetState.NEEDS_DATA if isinstance(error, DatasetMissing) else DatasetState.ERROR


def check_files(
    datasets: Sequence[str], settings: Settings, *, with_model: bool
) -> Iterator[FileCheckResult]:
    """Yield the result for each dataset."""
    values = settings.values
    limit = values.limit or f"first:{ROWS_LOOKED_AT}"
    values = msgspec.structs.replace(values, limit=limit)
    with naming_settings(settings.names), offline_watch(values) as watch:
        watch.seal()
        if not with_model:
            yield from (_check_file(name, values, None) for name in datasets)
            return
        with closing(open_model(values)) as backend:
            yield from (_check_file(name, values, backend) for name in datasets)


def _check_file(name: str, values: RunSettings, backend: Backend | None) -> FileCheckResult:
    try:
        compiled = compile_with_settings((name,), values, backend)
        for one in compiled:
            build_scorers(one.task)
        if backend is not None:
            tasks = [one.task for one in compiled]
            check_plan(tasks, probe_model_card(backend, tasks))
        _render(compiled)
    except AssayError as error:
        state = get_error_state(error)
        return FileCheckResult(name, state, problem=error.problems[0], n_problems=error.total)
    specs = [one.task.spec for one in compiled]
    return FileCheckResult(
        name,
        DatasetState.OK,
        n_rows=sum(spec.n_rows for spec in specs),
        n_tasks=len(specs),
        methods=tuple(dict.fromkeys(method for spec in specs for method in spec.methods)),
        class_name=specs[0].settings.get("class"),
    )


def _render(compiled: Sequence[CompiledDataset]) -> None:
    """Build the prompts: templates that cannot be filled raise only here."""
    for one in compiled:
        for sample in islice(one.task.samples(), ROWS_LOOKED_AT):
            one.task.requests(sample)


_LANGUAGE = "openicl"
_NAMED_HASH = re.compile(r"_(?P<digits>[0-9a-f]{6})$")


class FileFinding(NamedTuple):
    """A finding about one file, or about a README that describes several."""

    place: str
    """The prefix of the finding in a list of many files."""
    finding: Finding


def collect_file_findings(datasets: Sequence[str], values: RunSettings) -> Iterator[FileFinding]:
    """Yield findings about the files of config datasets; `check_files` reports those that do not load."""
    config_names = [
        name for name in datasets if detect_dialect(name, values.dialect, values.dataset_args) == _LANGUAGE
    ]
    if not config_names:
        return
    # Tables need none of this.
    from assay.app.dataset_docs import Documentation, group_by_folder
    from assay.dialects.openicl.arguments import OPENICL_ROOT

    configs = list(dict.fromkeys(ConfigName.of(name).path for name in config_names))
    root = values.dataset_args.get(OPENICL_ROOT)
    documentation = Documentation(None if root is None else Path(root))
    for config in configs:
        described = documentation.describe_config(config)
        if described is not None:
            yield from (FileFinding(f"{config.name}: ", finding) for finding in _check_prompt_hash(described))
    for folder in group_by_folder(configs):
        is_whole = set(find_config_files(folder.path)) <= set(configs)
        for one in documentation.disagreements(folder):
            # A surplus row matters only if the whole folder is checked.
            if is_whole or folder.path / one.config in configs:
                yield FileFinding(f"{folder.path.absolute().name}/", Finding(True, one.text))


def _check_prompt_hash(one: ConfigDescription) -> Iterator[Finding]:
    """Compare the hash at the end of a file's name with the hash of its prompt."""
    written = _NAMED_HASH.search(one.path.stem)
    if written is None or one.prompt_hash is None or not one.is_of_opencompass:
        return
    if written["digits"] == one.prompt_hash:
        yield Finding(False, f"the prompt hash of the file is {one.prompt_hash}, as in its name")
    else:
        name_hash = written["digits"]
        what = f"the prompt hash in the file's name is {name_hash}, but the prompt has {one.prompt_hash}"
        yield Finding(True, f"{what}: the prompt has changed since the file was named")
