"""The README of a config dataset and the configs beside it: where they disagree, and the page put right.

Its table of tasks has a row for each config; files that only name another config need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.app.dialects import DIALECT_REGISTRY, TABLE, detect_dialect
from assay.app.readme_tables import COLUMNS, Column, ReadmeEdit, ReadmePage, Row, TaskTable
from assay.app.readme_words import HEADINGS, TITLES, build_row_cells, is_cell_correct
from assay.core.errors import AssayError, Problem, UsageError
from assay.core.origin import Origin
from assay.dialects.openicl.detect import ConfigName, find_config_files, is_config
from assay.dialects.openicl.readme_description import ConfigDescriber, ConfigDescription
from assay.scoring.originals.opencompass.evaluators.readings import READINGS, make_reading
from assay.scoring.originals.opencompass.evaluators.value_names import VALUE_NAMES

_JUDGE, _USUAL_READING = "GenericLLMEvaluator", "generic_llmjudge_postprocess"
_READING = "dict_postprocessor"
_OF_DATASETS = "datasets"


def find_value_names(name: str, module: str, arguments: Mapping[str, Any]) -> Sequence[str] | None:
    """Return what an evaluator calls its values, counts aside; None where the name is unknown."""
    if name == _JUDGE:
        kind = (arguments.get(_READING) or {}).get("type", _USUAL_READING)
        name = getattr(kind, "name", kind)
    if name in READINGS:
        return [value.name for value in make_reading(name).values if value.of is not None]
    of_datasets = f"{_OF_DATASETS}.{name}"
    if of_datasets in VALUE_NAMES and _OF_DATASETS in module.split("."):
        name = of_datasets
    return VALUE_NAMES.get(name)


_PAGES = "README*.md"
_NEW_PAGE = "README.md"
_COMPARED: dict[Column, str] = {
    "task": "task name",
    "introduction": "introduction",
    "metrics": "metrics",
    "shots": "few-shot",
    "format": "prompt format",
}
"""The columns that are compared, as a sentence calls them."""


class Disagreement(NamedTuple):
    """Something that a page says and a config does not, or the other way round."""

    page: Path
    config: str
    """The config's file, seen from the page."""
    text: str
    """What is wrong, with what each says."""
    place: tuple[TaskTable, Row] | None = None
    """The row that is wrong; None: there is none."""
    column: Column | None = None
    """The cell that is wrong; None: all of the row is."""
    right: str = ""
    """What the cell should say."""


class DocumentedPage(NamedTuple):
    """A page, what is wrong with it, and what it should be."""

    path: Path
    is_new: bool
    """Whether there is no such file yet."""
    disagreements: tuple[Disagreement, ...]
    text: str
    """The whole page, put right."""


class DocumentedFolder(NamedTuple):
    """A dataset: the folder of its README, and its configs there or in folders of it."""

    path: Path
    configs: tuple[Path, ...]


class Documentation:
    """The pages of datasets; what is wrong with a config that does not load is kept and hinders no other."""

    def __init__(self, root: Path | None) -> None:
        """Take a checkout whose evaluators configs name; None: the one above each config."""
        self._describer = ConfigDescriber(root, find_value_names)
        self._known: dict[Path, ConfigDescription | None] = {}
        self.errors: list[AssayError] = []

    def pages(self, folder: DocumentedFolder) -> Iterator[DocumentedPage]:
        """Yield the pages of a dataset; where there is none, a new one."""
        described = self._describe_all(folder)
        # Beside the README there may be others, of other languages or about other things.
        others = [
            path for path in _pages(folder.path) if path.name != _NEW_PAGE and ReadmePage(_read(path)).tables
        ]
        for path in (folder.path / _NEW_PAGE, *others):
            is_new = not path.exists()
            if is_new and (others or all(one.hands_on is not None for one in described)):
                continue
            page = ReadmePage(f"# {_name(folder)}\n" if is_new else _read(path))
            found = tuple(_disagreements(path, page, folder, described))
            yield DocumentedPage(path, is_new, found, _correct_page(page, folder, found, described))

    def disagreements(self, folder: DocumentedFolder) -> Iterator[Disagreement]:
        """Yield where the tables of tasks of a dataset's pages disagree with its configs."""
        described = self._describe_all(folder)
        for path in _pages(folder.path):
            page = ReadmePage(_read(path))
            if page.tables:
                yield from _disagreements(path, page, folder, described)

    def described(self, config: Path) -> ConfigDescription | None:
        """Return what a config says of its task; None where it does not load."""
        if config not in self._known:
            try:
                self._known[config] = self._describer.describe(config)
            except AssayError as error:
                self.errors.append(error)
                self._known[config] = None
        return self._known[config]

    def _describe_all(self, folder: DocumentedFolder) -> list[ConfigDescription]:
        return [one for one in map(self.described, folder.configs) if one is not None]


def find_documented_folders(name: str) -> list[DocumentedFolder]:
    """Return the datasets that a person named: by their folder, by one above, or by one of the configs."""
    path = ConfigName.of(name).path
    if is_config(name):
        home = _find_readme_folder(path)
        return group_by_folder(
            config for config in find_config_files(home) if _find_readme_folder(config) == home
        )
    configs = find_config_files(path)
    if not configs:
        what = f"{_describe_named_path(name, path)}; tables of tasks are in the READMEs of config datasets"
        fix = "name a folder of configs or a config, as AISBench and OpenCompass have them"
        raise UsageError(Problem("USAGE-010", what, fix, Origin(name)))
    return group_by_folder(configs)


def _describe_named_path(name: str, path: Path) -> str:
    """Return what was named in the place of a config dataset."""
    if (language := detect_dialect(name, None, {})) != TABLE:
        return f"this is {DIALECT_REGISTRY[language].noun}"
    if not path.exists():
        return "there is no such file or folder"
    return "there is no config in this folder" if path.is_dir() else "this is no config"


def group_by_folder(configs: Iterable[Path]) -> list[DocumentedFolder]:
    """Return the datasets that configs belong to."""
    found: dict[Path, list[Path]] = {}
    for config in configs:
        found.setdefault(_find_readme_folder(config), []).append(config)
    return [DocumentedFolder(folder, tuple(members)) for folder, members in found.items()]


def _find_readme_folder(config: Path) -> Path:
    """Return the folder of a config's README: its own, or the one above where a table of tasks is there."""
    own, above = config.parent, config.parent.parent
    if not _pages(own) and any(ReadmePage(_read(path)).tables for path in _pages(above)):
        return above
    return own


def _disagreements(
    path: Path, page: ReadmePage, folder: DocumentedFolder, described: Sequence[ConfigDescription]
) -> Iterator[Disagreement]:
    rows: dict[str, list[tuple[TaskTable, Row]]] = {}
    for table in page.tables:
        for row in table.rows:
            there = [name for name in row.configs if (folder.path / name).is_file()]
            if there:
                rows.setdefault(there[0], []).append((table, row))
            else:
                name = row.configs[0]
                what = f"{path.name} has a row for {name}, and there is no such file"
                yield Disagreement(path, name, what, (table, row))
    names = {one.path.relative_to(folder.path).as_posix(): one for one in described}
    # Who lists a file that only names a config has listed that config.
    listed = {base for name in rows if name in names for base in names[name].hands_on or ()}
    for name, one in names.items():
        if name not in rows and one.hands_on is None and one.path not in listed:
            yield Disagreement(path, name, f"{path.name} has no row for {name}")
        for table, row in rows.get(name, ()):
            right = build_row_cells(one, _name(folder), name, is_chinese=table.is_chinese)
            for column, called in _COMPARED.items():
                said = row.cells.get(column)
                if said is None or is_cell_correct(column, said, one):
                    continue
                if column == "task" and _is_another_name(said, one, names):
                    continue
                what = f"{path.name} says {called} {said!r} of {name}, and the config {right[column]!r}"
                yield Disagreement(path, name, what, (table, row), column, right[column])


def _is_another_name(said: str, one: ConfigDescription, names: Mapping[str, ConfigDescription]) -> bool:
    """Whether a task's name is that of a file which only names the config."""
    place = one.path.with_name(f"{said}.py")
    return any(other.path == place and one.path in (other.hands_on or ()) for other in names.values())


def _correct_page(
    page: ReadmePage,
    folder: DocumentedFolder,
    found: Sequence[Disagreement],
    described: Sequence[ConfigDescription],
) -> str:
    edit = ReadmeEdit(page)
    lacking = {one.config for one in found if one.place is None}
    for one in found:
        if one.place is not None and one.column is None:
            edit.remove(one.place[1])
        elif one.place is not None and one.column is not None:
            edit.put(*one.place, one.column, one.right)
    table = page.tables[-1] if page.tables else None
    is_chinese = page.is_chinese if table is None else table.is_chinese
    names = {one.path.relative_to(folder.path).as_posix(): one for one in described}
    added = [
        build_row_cells(one, _name(folder), name, is_chinese=is_chinese)
        for name, one in names.items()
        if name in lacking
    ]
    if table is not None:
        for cells in added:
            edit.add(table, cells)
    elif added:
        rows = [[cells[column] for column in COLUMNS] for cells in added]
        edit.add_table(TITLES[is_chinese], HEADINGS[is_chinese], rows)
    return edit.text()


def _pages(folder: Path) -> list[Path]:
    return sorted(folder.glob(_PAGES))


def _name(folder: DocumentedFolder) -> str:
    return folder.path.absolute().name


def _read(path: Path) -> str:
    # What is no UTF-8 in a page comes out as it went in.
    return path.read_bytes().decode("utf-8", errors="surrogateescape")


def write_readme(page: DocumentedPage) -> None:
    """Write a page, put right; bytes that were not changed stay as they were."""
    page.path.write_bytes(page.text.encode("utf-8", errors="surrogateescape"))
