"""The README of a config dataset and the configs beside it: where they disagree, and the page put right.

Its table of tasks has a row for each config; files that only name another config need none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.app.dialects import LANGUAGES, TABLE, language_of
from assay.app.evaluator_values import value_names
from assay.app.readme_tables import COLUMNS, Column, Edit, Page, Row, TaskTable
from assay.app.readme_words import HEADINGS, TITLES, agrees, said_of
from assay.core.errors import AssayError, Problem, UsageError
from assay.core.origin import Origin
from assay.dialects.openicl.detect import ConfigName, config_files, is_config
from assay.dialects.openicl.readme_description import Described, Describer

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


class Documented(NamedTuple):
    """A page, what is wrong with it, and what it should be."""

    path: Path
    is_new: bool
    """Whether there is no such file yet."""
    disagreements: tuple[Disagreement, ...]
    text: str
    """The whole page, put right."""


class DatasetFolder(NamedTuple):
    """A dataset: the folder of its README, and its configs there or in folders of it."""

    path: Path
    configs: tuple[Path, ...]


class Documentation:
    """The pages of datasets; what is wrong with a config that does not load is kept and hinders no other."""

    def __init__(self, root: Path | None) -> None:
        """Take a checkout whose evaluators configs name; None: the one above each config."""
        self._describer = Describer(root, value_names)
        self._known: dict[Path, Described | None] = {}
        self.errors: list[AssayError] = []

    def pages(self, folder: DatasetFolder) -> Iterator[Documented]:
        """Yield the pages of a dataset; where there is none, a new one."""
        described = self._all_described(folder)
        # Beside the README there may be others, of other languages or about other things.
        others = [path for path in _pages(folder.path) if path.name != _NEW_PAGE and Page(_read(path)).tables]
        for path in (folder.path / _NEW_PAGE, *others):
            is_new = not path.exists()
            if is_new and (others or all(one.hands_on is not None for one in described)):
                continue
            page = Page(f"# {_name(folder)}\n" if is_new else _read(path))
            found = tuple(_disagreements(path, page, folder, described))
            yield Documented(path, is_new, found, _corrected(page, folder, found, described))

    def disagreements(self, folder: DatasetFolder) -> Iterator[Disagreement]:
        """Yield where the tables of tasks of a dataset's pages disagree with its configs."""
        described = self._all_described(folder)
        for path in _pages(folder.path):
            page = Page(_read(path))
            if page.tables:
                yield from _disagreements(path, page, folder, described)

    def described(self, config: Path) -> Described | None:
        """Return what a config says of its task; None where it does not load."""
        if config not in self._known:
            try:
                self._known[config] = self._describer.describe(config)
            except AssayError as error:
                self.errors.append(error)
                self._known[config] = None
        return self._known[config]

    def _all_described(self, folder: DatasetFolder) -> list[Described]:
        return [one for one in map(self.described, folder.configs) if one is not None]


def dataset_folders(name: str) -> list[DatasetFolder]:
    """Return the datasets that a person named: by their folder, by one above, or by one of the configs."""
    path = ConfigName.of(name).path
    if is_config(name):
        home = _home(path)
        return folders_of(config for config in config_files(home) if _home(config) == home)
    configs = config_files(path)
    if not configs:
        what = f"{_seen(name, path)}; tables of tasks are in the READMEs of config datasets"
        fix = "name a folder of configs or a config, as AISBench and OpenCompass have them"
        raise UsageError(Problem("USAGE-010", what, fix, Origin(name)))
    return folders_of(configs)


def _seen(name: str, path: Path) -> str:
    """Return what was named in the place of a config dataset."""
    if (language := language_of(name, None, {})) != TABLE:
        return f"this is {LANGUAGES[language].noun}"
    if not path.exists():
        return "there is no such file or folder"
    return "there is no config in this folder" if path.is_dir() else "this is no config"


def folders_of(configs: Iterable[Path]) -> list[DatasetFolder]:
    """Return the datasets that configs belong to."""
    found: dict[Path, list[Path]] = {}
    for config in configs:
        found.setdefault(_home(config), []).append(config)
    return [DatasetFolder(folder, tuple(members)) for folder, members in found.items()]


def _home(config: Path) -> Path:
    """Return the folder of a config's README: its own, or the one above where a table of tasks is there."""
    own, above = config.parent, config.parent.parent
    if not _pages(own) and any(Page(_read(path)).tables for path in _pages(above)):
        return above
    return own


def _disagreements(
    path: Path, page: Page, folder: DatasetFolder, described: Sequence[Described]
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
            right = said_of(one, _name(folder), name, is_chinese=table.is_chinese)
            for column, called in _COMPARED.items():
                said = row.cells.get(column)
                if said is None or agrees(column, said, one):
                    continue
                if column == "task" and _is_another_name(said, one, names):
                    continue
                what = f"{path.name} says {called} {said!r} of {name}, and the config {right[column]!r}"
                yield Disagreement(path, name, what, (table, row), column, right[column])


def _is_another_name(said: str, one: Described, names: Mapping[str, Described]) -> bool:
    """Whether a task's name is that of a file which only names the config."""
    place = one.path.with_name(f"{said}.py")
    return any(other.path == place and one.path in (other.hands_on or ()) for other in names.values())


def _corrected(
    page: Page, folder: DatasetFolder, found: Sequence[Disagreement], described: Sequence[Described]
) -> str:
    edit = Edit(page)
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
        said_of(one, _name(folder), name, is_chinese=is_chinese)
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


def _name(folder: DatasetFolder) -> str:
    return folder.path.absolute().name


def _read(path: Path) -> str:
    # What is no UTF-8 in a page comes out as it went in.
    return path.read_bytes().decode("utf-8", errors="surrogateescape")


def write(page: Documented) -> None:
    """Write a page, put right; bytes that were not changed stay as they were."""
    page.path.write_bytes(page.text.encode("utf-8", errors="surrogateescape"))
