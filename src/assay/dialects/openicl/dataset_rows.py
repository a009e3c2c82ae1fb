"""The rows of a dataset: loaded by its class, reduced to the configured splits and ranges, and checked."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, Problems, listing, suggest_name
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.dialects.openicl.authored.author import (
    AUTHOR_RAISED_CODE,
    Author,
    build_author,
    check_arguments,
    check_own_names,
)
from assay.dialects.openicl.authored.base_classes import BaseDataset
from assay.dialects.openicl.authored.code import AuthorCode
from assay.dialects.openicl.authored.own_datasets import MAX_OUT_LEN, FileRows
from assay.dialects.openicl.config.entry import DatasetEntry, RowRange
from assay.dialects.shared.plain_rows import LazyRows, to_plain_row
from assay.dialects.shared.row_names import RowNames
from assay.sources.hub_reads import noting_loads
from assay.sources.mapped_rows import MappedRows, read_dataset_rows

_SLICES = re.compile(r"(?:\[\s*-?\d*\s*(?::\s*-?\d*\s*){1,2}\])+")
_SLICE = re.compile(r"\[([^\]]*)\]")


def select_range_rows(wanted: RowRange, total: int) -> Sequence[int]:
    """Return the indexes of the selected rows; raise ValueError for an invalid range.

    A number selects that many rows at random, a fraction that share of the rows; the draw depends only on the
    number and equals the original's. A text is a slice, or several slices in sequence.
    """
    if wanted is None:
        return range(total)
    if isinstance(wanted, str):
        return _slice_rows(wanted.strip(), total)
    if wanted <= 0 or wanted >= total:
        return range(total)
    size = max(1, int(wanted * total)) if wanted < 1 else int(wanted)
    rows = list(range(total))
    random.Random(size).shuffle(rows)
    return rows[:size]


def _slice_rows(text: str, total: int) -> Sequence[int]:
    rows: Sequence[int] = range(total)
    if not text:
        return rows
    if not _SLICES.fullmatch(text):
        raise ValueError("expected a number, or a slice such as '[0:100]'")
    for part in _SLICE.findall(text):
        rows = rows[slice(*(int(bound) if bound.strip() else None for bound in part.split(":")))]
    return rows


COLUMN_CODE = "OPENICL-013"
_PATH = "path"
CONTENT = "content"
"""The column with a row's texts and media, in order."""
_MEDIA_COLUMNS = ("image", "video", "audio")
_JUDGE_ARGUMENTS = ("mode", "infer_order", "base_models", "given_pred", "summarizer")
"""Keys of an entry that configure the judge, besides `eval_cfg`."""


class Split:
    """The selected rows in order. They may be in a file instead of in memory."""

    def __init__(
        self, name: str, rows: Sequence[Mapping[str, Any]], numbers: Sequence[int], origins: Sequence[Origin]
    ) -> None:
        self.name = name
        self.rows = rows
        """The rows as the author's class returned them."""
        self.numbers = numbers
        """The positions of the rows in the loaded split, counted from 0."""
        self.origins = origins

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fields(self) -> Sequence[dict[str, Any]]:
        """The rows as plain data."""
        return LazyRows(self.rows, to_plain_row)

    @cached_property
    def ids(self) -> RowNames:
        """A name for each row, by a hash of its content."""
        return RowNames(map(digest, self.fields))

    @cached_property
    def columns(self) -> list[str]:
        """The columns, in the order of the first row."""
        if isinstance(self.rows, MappedRows):
            return self.rows.columns
        return list(dict.fromkeys(str(name) for row in self.rows for name in row))


class LoadedData(NamedTuple):
    """The train and test split of a dataset; without splits, both are the whole dataset."""

    test: Split
    train: Split
    author: Author
    dataset_class: str
    notes: tuple[str, ...]
    lacks_train: str | None = None
    """The reason why there is no split for examples, or None."""


def load_data(entry: DatasetEntry, code: AuthorCode, config: Path, where: Origin) -> LoadedData:
    """Load a dataset with its class."""
    cls: Any = code.require(entry.type, "dataset class", where)
    author = build_author(cls, config)
    if isinstance(cls, type):
        check_own_names(author, cls, code)
    if not isinstance(cls, type) or getattr(cls, "load", BaseDataset.load) is BaseDataset.load:
        what = "it has no method load(...), so it is not a dataset class"
        fix = "write class NAME(BaseDataset) with a static method load(...)"
        raise AuthorError(author.problem(AUTHOR_RAISED_CODE, what, fix))
    _check_repeats(cls, entry, where)
    arguments, notes = _resolve_path(_select_load_arguments(cls, entry.load_arguments), code, config)
    _check_arguments(cls, arguments, where)
    with noting_loads(), author.convert_errors("load"):
        loaded = _call_load(cls, entry, arguments)
    splits = _splits(loaded, author)
    reader = entry.reader_cfg
    problems = Problems()
    test = _split(splits, reader.test_split, reader.test_range, "test", where, problems, author)
    # The train split is required only if examples are used, which is checked then.
    has_train = "" in splits or reader.train_split in splits
    wanted = reader.train_split if has_train else reader.test_split
    train = _split(splits, wanted, reader.train_range, "train", where, problems, author)
    problems.raise_if_any()
    assert test is not None
    assert train is not None
    return LoadedData(
        test,
        train,
        author,
        cls.__name__,
        notes,
        None if has_train else _describe_missing_split("train", reader.train_split, splits),
    )


def _check_repeats(cls: Any, entry: DatasetEntry, where: Origin) -> None:
    """Raise if `load` takes `n` or `k`, which an entry uses for repeats and never passes on."""
    parameters = inspect.signature(cls.load).parameters
    for name, is_set in (("n", entry.n != 1), ("k", entry.k != (1,))):
        if name in parameters and is_set:
            what = f"{name} is the number of repeats per row and is not passed to {cls.__name__}.load, "
            what += f"which has a parameter {name!r}"
            fix = f"rename the parameter and the key, for example to {name}_rows"
            raise AuthorError(Problem(AUTHOR_RAISED_CODE, what, fix, where))


def _check_arguments(cls: Any, arguments: Mapping[str, Any], where: Origin) -> None:
    """Raise if an entry's arguments do not match `load`. A class with its own __init__ is not checked."""
    if cls.__init__ in (BaseDataset.__init__, object.__init__):
        is_bound = isinstance(inspect.getattr_static(cls, "load"), staticmethod | classmethod)
        check_arguments(cls.load, arguments, AUTHOR_RAISED_CODE, where, n_before=0 if is_bound else 1)


def _call_load(cls: Any, entry: DatasetEntry, arguments: Mapping[str, Any]) -> Any:
    if issubclass(cls, BaseDataset):
        return cls(reader_cfg=_reader(entry), abbr=entry.abbr, **arguments).dataset
    return cls.load(**arguments)


def check_columns(data: LoadedData, entry: DatasetEntry, where: Origin, *, has_shots: bool) -> None:
    """Raise if columns that the config uses are missing. Examples are rows of the train split."""
    problems = Problems()
    reader = entry.reader_cfg
    # The length column is optional, and media inside the text have no columns of their own.
    optional = (MAX_OUT_LEN, *(_MEDIA_COLUMNS if CONTENT in data.test.columns else ()))
    asked = [(name, "input_columns") for name in reader.input_columns if name not in optional]
    if reader.output_column is not None:
        asked.append((reader.output_column, "output_column"))
    for name, key in asked:
        for split in (data.test, data.train) if has_shots else (data.test,):
            if name in split.columns:
                continue
            of = f" in the split {split.name!r}" if split.name else ""
            what = f"{key} names the column {name!r}, which does not exist{of}"
            what += f"{suggest_name(name, split.columns)}; the columns are {listing(split.columns)}"
            fix = f"correct reader_cfg, or the columns that {data.author.class_name}.load returns"
            problems.add(Problem(COLUMN_CODE, what, fix, where))
            break
    problems.raise_if_any()


def _reader(entry: DatasetEntry) -> dict[str, Any]:
    reader = entry.reader_cfg
    return {name: getattr(reader, name) for name in reader.__struct_fields__}


def _select_load_arguments(cls: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments for the loader, without judge settings that it does not take."""
    parameters = inspect.signature(cls.load).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return {
        name: value
        for name, value in arguments.items()
        if name not in _JUDGE_ARGUMENTS or name in parameters or takes_all
    }


def _resolve_path(
    arguments: Mapping[str, Any], code: AuthorCode, config: Path
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments with a path relative to another folder resolved to where it was found."""
    made = dict(arguments)
    path = made.get(_PATH)
    if isinstance(path, str) and not Path(path).exists():
        found = code.data.find(path)
        if found is not None and found.exists() and str(found) != path:
            made[_PATH] = str(found)
            return made, (f"{path!r} was found at {str(found)!r}",)
    return made, ()


def _splits(loaded: Any, author: Author) -> dict[str, Any]:
    """Return the splits by name; a dataset without splits has the empty name."""
    if isinstance(loaded, FileRows) or _is_dataset(loaded):
        return {"": loaded}
    if isinstance(loaded, Mapping) and loaded and all(map(_is_rows, loaded.values())):
        return {str(name): rows for name, rows in loaded.items()}
    what = f"load returned {_describe_loaded(loaded)}, expected a datasets.Dataset or a DatasetDict"
    fix = "write return datasets.Dataset.from_list(rows)"
    raise AuthorError(author.problem(AUTHOR_RAISED_CODE, what, fix))


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "to_list")


def _is_rows(value: Any) -> bool:
    is_list = isinstance(value, list) and all(isinstance(row, Mapping) for row in value)
    return _is_dataset(value) or is_list


def _describe_loaded(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, Mapping) and value:
        name, part = next(pair for pair in value.items() if not _is_rows(pair[1]))
        return f"a dict whose {name!r} is a {type(part).__name__}"
    return f"a {type(value).__name__}"


def _describe_missing_split(of: str, name: str, splits: Mapping[str, Any]) -> str:
    near = suggest_name(name, splits)
    return f"{of}_split is {name!r}, which does not exist{near}; the splits are {listing(splits)}"


def _split(
    splits: Mapping[str, Any],
    name: str,
    wanted: RowRange,
    of: str,
    where: Origin,
    problems: Problems,
    author: Author,
) -> Split | None:
    if "" in splits:
        name = ""
    if name not in splits:
        what = _describe_missing_split(of, name, splits)
        problems.add(Problem(COLUMN_CODE, what, f"correct reader_cfg.{of}_split", where))
        return None
    loaded = splits[name]
    try:
        numbers = select_range_rows(wanted, len(loaded))
    except ValueError as error:
        what = f"{of}_range is {wanted!r}: {error}"
        problems.add(Problem(COLUMN_CODE, what, f"correct reader_cfg.{of}_range", where))
        return None
    if not numbers:
        reason = (
            f"{of}_range {wanted!r} selects none of {len(loaded):,}"
            if len(loaded)
            else "load returned no rows"
        )
        what = f"there are no rows to evaluate: {reason}"
        problems.add(Problem(COLUMN_CODE, what, "correct the data or reader_cfg", where))
        return None
    rows = (
        [loaded[number] for number in numbers]
        if isinstance(loaded, list)
        else read_dataset_rows(loaded, numbers)
    )
    return Split(name, rows, numbers, LazyRows(numbers, _build_origin_finder(loaded, name, author)))


def _build_origin_finder(loaded: Any, split: str, author: Author) -> Callable[[int], Origin]:
    """Return the function that returns the origin of a row."""
    if isinstance(loaded, FileRows):
        return loaded.origins.__getitem__
    place = f"{author.path}:{author.class_name}" + (f" {split}" if split else "")
    return lambda number: Origin(place, row=number + 1)
