"""Raw rows for an author's class: `get_raw_dataset_loader` and `load_raw_dataset_from_file`.

Runs no loader script. Rows come from the user's path, from the data root by hub name, or from the hub itself.
If they are in none of these, the error lists the dataset and every place that was tried.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from logging import getLogger
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, overload

from assay.core.errors import AuthorError, Problem, describe_exception, listing
from assay.core.origin import Origin
from assay.dialects.llmbox.library.load_request import LoadRequest, require_known
from assay.sources.dataset_folder import DatasetFolder, DatasetMissing
from assay.sources.files import find_suffix, open_source
from assay.sources.hub import LocalHub
from assay.sources.hub_files import HubFiles
from assay.sources.hub_name import HubName
from assay.sources.splits import parse_split

Rows: TypeAlias = list[dict[str, Any]]

_COLUMN_TYPES: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"0|-?[1-9][0-9]*"), int),
    (re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|0|[1-9][0-9]*)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"true|false", re.IGNORECASE), lambda text: text.lower() == "true"),
)


def read_rows(path: Path) -> Rows:
    """Return the rows of a data file as plain dicts that belong to the caller."""
    suffix = (find_suffix(path.name) or "").removesuffix(".gz")
    rows = [record.fields for record in open_source(path).records()]
    if suffix == ".txt":
        return [{"text": line} for line in _lines(rows[0]["text"])]
    if suffix in (".csv", ".tsv"):
        return convert_column_types(rows)
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _lines(text: str) -> list[str]:
    # Not splitlines(): it also splits at form feeds and Unicode separators inside a text.
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def convert_column_types(rows: Rows) -> Rows:
    """Convert the texts of a delimited file to the type of their whole column, in place."""
    for name in rows[0]:
        make = _type_of([row[name] for row in rows if row[name]])
        for row in rows:
            row[name] = make(row[name]) if row[name] else None
    return rows


def _type_of(values: list[str]) -> Callable[[str], Any]:
    return next((make for form, make in _COLUMN_TYPES if all(map(form.fullmatch, values))), str)


_FIX = "define one public object in it, a list of dicts; names that begin with _ do not count"


def read_python_rows(path: Path) -> Rows:
    """Run a file and return the rows of its only public object."""
    where = Origin(str(path))
    try:
        variables = runpy.run_path(str(path))
        public = {
            name: value
            for name, value in variables.items()
            if not name.startswith("_") and not isinstance(value, ModuleType)
        }
        # Created here, because the rows can come from a generator of the file.
        tables = [list(value) for value in public.values()] if len(public) == 1 else []
    except Exception as error:
        what = f"the file raised {describe_exception(error)}"
        raise AuthorError(Problem("DATA-004", what, _FIX, where)) from error
    if not tables:
        what = f"expected one public object, found {listing(public) or 'none'}"
        raise AuthorError(Problem("DATA-004", what, _FIX, where))
    rows: list[Any] = tables[0]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            what = f"expected a dict, found {row!r:.80}"
            raise AuthorError(Problem("DATA-004", what, _FIX, Origin(str(path), row=number)))
    if not rows:
        raise AuthorError(Problem("DATA-004", f"{next(iter(public))!r} contains no rows", _FIX, where))
    return rows


class FilePattern:
    """Finds the file of a subset and split. A path without {split} is the file of every split."""

    def __init__(self, text: str) -> None:
        self.text = Path(text).as_posix()

    def files(self, *, config: str | None, split: str | None) -> tuple[Path, ...]:
        """Return the file of a subset and split; raise if it does not exist."""
        name = self.text
        for field, value in (("{subset}", config), ("{split}", split)):
            if field in name and value is None:
                what = f"the path {self.text!r} needs a {field[1:-1]}, but none was requested"
                raise DatasetMissing(Problem("SOURCE-010", what, f"write its name instead of {field}"))
            name = name.replace(field, value or "")
        path = Path(name)
        if not path.is_file():
            what, fix = f"no such file: {name!r}", "check the path"
            raise DatasetMissing(Problem("SOURCE-010", what, fix, Origin(self.text)))
        return (path,)

    def configs(self, split: str | None) -> tuple[str, ...]:
        """Return the subsets that have a file, of this split if one is named."""
        if "{subset}" not in self.text:
            return ()
        text = self.text.replace("{split}", split) if split else self.text
        before, *others = text.split("{subset}")
        form = "(?P=subset)".join(map(_as_regex, others))
        pattern = re.compile(f"{_as_regex(before)}(?P<subset>[^/]+){form}")
        # The files are below the part of the path before its first field.
        above = Path(text.partition("{")[0] + "x").parent
        found = (pattern.fullmatch(path.as_posix()) for path in above.rglob("*") if path.is_file())
        return tuple(sorted({match["subset"] for match in found if match}))


def _as_regex(text: str) -> str:
    return "[^/]+".join(map(re.escape, text.split("{split}")))


class Load(Protocol):
    """A loader: called with a split, such as `train[:10%]`, it returns the rows."""

    def __call__(self, split: str | None = None) -> Rows:
        """Return the rows of a split; without one, of the only split there is."""


class Place(NamedTuple):
    """A place that may contain a dataset."""

    files: Callable[..., tuple[Path, ...]]
    """Takes a config and a split; returns their files or raises DatasetMissing."""
    configs: Callable[[str | None], tuple[str, ...]]
    """Takes a split name; returns the configs or raises DatasetMissing."""


class RawData:
    """The author's loading functions, bound to the user's paths."""

    def __init__(self, hub: LocalHub | None, dataset_path: str | None, *, beside: Path | None = None) -> None:
        self.hub = hub
        """The data root, for datasets by hub name."""
        self.dataset_path = dataset_path
        """The user's path for this dataset: a folder, a file, or a pattern."""
        self.beside = beside
        """The folder of the author's file, which may contain its small files."""
        self._on_hub: dict[str, HubFiles] = {}
        """By name: each dataset is looked up once, so that all of it has the same commit."""

    @overload
    def get_raw_dataset_loader(
        self,
        dataset_name: str,
        dataset_path: str | None,
        subset_name: str | None,
        load_args: Sequence[str] | None,
        load_kwargs: Mapping[str, Any] | None,
        return_msg: Literal[False] = False,
        use_etag: bool = False,
    ) -> Load: ...
    @overload
    def get_raw_dataset_loader(
        self,
        dataset_name: str,
        dataset_path: str | None,
        subset_name: str | None,
        load_args: Sequence[str] | None,
        load_kwargs: Mapping[str, Any] | None,
        return_msg: Literal[True],
        use_etag: bool = False,
    ) -> tuple[Load, str]: ...
    def get_raw_dataset_loader(
        self,
        dataset_name: str,
        dataset_path: str | None,
        subset_name: str | None,
        load_args: Sequence[str] | None,
        load_kwargs: Mapping[str, Any] | None = None,
        return_msg: bool = False,
        use_etag: bool = False,
    ) -> Load | tuple[Load, str]:
        """Return a loader for the splits of a dataset, and with `return_msg` a line about its source.

        `dataset_path` None: by hub name, from `load_args` and the subset.
        """
        require_known(load_kwargs or {}, dataset_name)
        request = LoadRequest.of(dataset_name, subset_name, load_args, dataset_path)

        def load(split: str | None = None) -> Rows:
            if not split:
                return self._rows(request, None)
            rows: Rows = []
            for part in parse_split(split):
                whole = self._rows(request, part.name)
                rows += whole[part.rows(len(whole))]
            return rows

        source = repr(dataset_path) if dataset_path else f"the data root or the hub ({request.hub_name})"
        message = f"Loading raw dataset {request} from {source}"
        return (load, message) if return_msg else load

    def load_raw_dataset_from_file(self, dataset_file_path: str | Path) -> Rows:
        """Return the rows of one file: any supported format, or .py with one public object.

        A relative path is searched in the working folder, in the user's dataset path, and next to the
        author's file, in this order.
        """
        wanted = Path(dataset_file_path).expanduser()
        folders = [Path()] if wanted.is_absolute() else [Path(), *self._folders()]
        found = next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)
        if found is None and len(folders) > 1:
            places = listing(str(folder / wanted) for folder in folders)
            what = f"no such file: {str(wanted)!r}; tried {places}"
            raise DatasetMissing(Problem("SOURCE-001", what, "check the path", Origin(str(wanted))))
        return _read(found or wanted)

    def subsets(
        self, dataset_name: str, load_args: Sequence[str] | None, *, split: str | None = None
    ) -> list[str]:
        """Return the existing subsets (configs); empty if there is only one, without a name.

        `split` is the one to evaluate; it distinguishes the file of a split from that of a subset.
        """
        if load_args is None:
            return []
        request = LoadRequest.of(dataset_name, None, load_args, self.dataset_path)
        name = parse_split(split)[0].name if split else None
        tried: list[Problem] = []
        for place in self._places(request):
            try:
                subsets = set(place.configs(name))
            except DatasetMissing as missing:
                tried.append(missing.problems[0])
                continue
            if "wmt" in dataset_name:
                # One file serves both directions of a language pair.
                subsets |= {
                    f"en-{subset.removesuffix('-en')}" for subset in subsets if subset.endswith("-en")
                }
            return sorted(subsets)
        raise self._build_missing_error(request, name, tried)

    def _rows(self, request: LoadRequest, split: str | None) -> Rows:
        tried: list[Problem] = []
        for place in self._places(request):
            noted = len(tried)
            for config in request.configs:
                try:
                    files = place.files(config=config, split=split)
                except DatasetMissing as missing:
                    # The last of a config's names is the requested one.
                    tried[noted:] = missing.problems
                    continue
                return [row for file in files for row in _read(file)]
        raise self._build_missing_error(request, split, tried)

    def _places(self, request: LoadRequest) -> list[Place]:
        """Return where a dataset is or, if it is nowhere, where it is expected."""
        path = request.dataset_path
        if path is None:
            root = self.hub
        elif Path(path).is_dir():
            # The user's folder is the dataset's own, or contains several datasets.
            root = LocalHub(Path(path))
            if not any(root.has_dataset(name, request.config) for name in request.names):
                own = DatasetFolder(Path(path), name=request.hub_name)
                return [Place(own.files, own.configs)]
        else:
            pattern = FilePattern(path)
            return [Place(pattern.files, pattern.configs)]
        present = [name for name in request.names if root and root.has_dataset(name, request.config)]
        places = []
        if root is not None:
            places = [
                Place(partial(root.files, name), partial(root.configs, name))
                for name in present[:1] or request.names
            ]
        if path is None and not present:
            on_hub = self._on_hub.setdefault(request.hub_name, HubFiles(HubName(request.hub_name)))
            places.append(Place(on_hub.files, on_hub.configs))
        return places

    def _folders(self) -> Iterator[Path]:
        if self.dataset_path is not None and Path(self.dataset_path).is_dir():
            yield Path(self.dataset_path)
        if self.beside is not None:
            yield self.beside

    def _build_missing_error(
        self, request: LoadRequest, split: str | None, tried: list[Problem]
    ) -> DatasetMissing:
        config, root = request.config, "DATA_ROOT" if self.hub is None else str(self.hub.root)
        request_text = f"the dataset {request.hub_name!r}"
        request_text += f", config {config!r}" if config else ""
        request_text += f", split {split!r}" if split else ""
        tried_places = (
            "; ".join(map(_format_problem, tried)) or "neither a data root nor a dataset path was given"
        )
        folder = f"{root}/{request.hub_name}"
        if self.hub is not None and self.hub.has_dataset(request.hub_name):
            folder = str(self.hub.folder(request.hub_name).path)
        file = "/".join(filter(None, (folder, config, f"{split or 'test'}.jsonl")))
        key = f"{request.hub_name}:{config}" if config else request.hub_name
        also = ", and pass --data-root" if self.hub is None else ""
        on_hub = [problem.fix for problem in tried if problem.code.startswith("HUB-")]
        fix = "".join(f"{hub_fix}; or " for hub_fix in on_hub[-1:]) + (
            f"put its rows at {file} (or .json, .csv, .parquet, .arrow), or map its folder"
            f' in {root}/hub.json: {{"{key}": "FOLDER"}}{also};'
            " or pass the dataset path: a folder, a file, or a pattern with {subset} and {split}"
        )
        return DatasetMissing(
            Problem("DATA-001", f"{request_text} is needed, but was not found; {tried_places}", fix)
        )


def _read(path: Path) -> Rows:
    return read_python_rows(path) if path.suffix == ".py" else read_rows(path)


def _format_problem(problem: Problem) -> str:
    place = "" if problem.where is None or problem.where.path in problem.what else f"in {problem.where}: "
    return place + problem.what


_logger = getLogger(__name__)


def accepts_subset(
    load_args: Sequence[str] | None,
    overwrite_subset: bool = True,
    subset: str | None = "",
    disable_warning: bool = False,
) -> bool:
    """Return whether a class with these `load_args` can load `subset`.

    `(path,)` and `()` accept any. `(path, own)` accepts any if its own can be overwritten, which is logged;
    otherwise only its own. None accepts no subset: the class provides its rows.
    """
    if load_args is None:
        return False
    if len(load_args) < 2 or load_args[1] == subset:
        return True
    if overwrite_subset and not disable_warning:
        _logger.warning("the subset %r replaces the class's own, %r", subset, load_args[1])
    return overwrite_subset
