"""Dataset classes of both systems that read files of rows and need no author's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin
from assay.dialects.openicl.authored.base_classes import BaseDataset
from assay.dialects.openicl.authored.data_paths import DataPaths
from assay.dialects.openicl.circular import CircularPattern, MoveAnswer, build_circular_rows
from assay.dialects.openicl.table_entry import TABLE_KEYS
from assay.dialects.shared.request_selection import (
    MAX_TOKENS,
    AnswerLengths,
    OutputConfig,
    SamplingMode,
    select_rows,
)
from assay.sources.datasets_library import quiet_datasets_library
from assay.sources.files import open_source
from assay.sources.hub_files import list_split_addresses
from assay.sources.hub_reads import noting_loads
from assay.sources.json_keys import require_unique_keys

MAX_OUT_LEN = "max_out_len"
"""The column with the maximum answer length of each row; AISBench's files name it `max_tokens`."""


class CustomDatasetMeta(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """AISBench's meta file for a custom dataset."""

    request_count: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Number of rows to evaluate; 0: all."""
    sampling_mode: SamplingMode = "default"
    output_config: OutputConfig | None = None


class FileRows(list[dict[str, Any]]):
    """The rows of a file with their origins, read without the library `datasets`."""

    def __init__(self, path: str | Path) -> None:
        source = open_source(path)
        source.check()
        self.path = Path(path)
        records = list(source.records())
        super().__init__(dict(record.fields) for record in records)
        self.origins: list[Origin] = [record.origin for record in records]

    def repeat_rows(self, times: int) -> FileRows:
        """Return the rows with each repeated consecutively."""
        return self._replace_rows([row for row in self for _ in range(times)], times)

    def permute_options(self, options: Sequence[str], answer: str, pattern: CircularPattern) -> FileRows:
        """Return the rows, each repeated for every order of its options."""
        rows = list(build_circular_rows(self, options, answer, pattern))
        return self._replace_rows(rows, len(rows) // max(1, len(self)))

    def select_requested(self, given: CustomDatasetMeta) -> FileRows:
        """Return the rows that a meta file selects, in its order, with their answer lengths."""
        task = self.path.name
        chosen = select_rows(
            range(len(self)), given.request_count or None, given.sampling_mode, seed=0, task=task
        )
        made = self._replace_rows([dict(self[number]) for number in chosen], 1)
        made.origins = [self.origins[number] for number in chosen]
        if given.output_config is not None:
            lengths = AnswerLengths(given.output_config, len(made), 0, task, is_faithful=False)
            for place, row in enumerate(made):
                row[MAX_OUT_LEN] = lengths.of(place, str(place))
        return made

    def _replace_rows(self, rows: list[dict[str, Any]], times: int) -> FileRows:
        made = FileRows.__new__(FileRows)
        list.__init__(made, rows)
        made.path, made.origins = self.path, [origin for origin in self.origins for _ in range(times)]
        return made


class Splits(dict[str, FileRows]):
    """The rows of several splits, with the same operations as rows."""

    def repeat_rows(self, times: int) -> Splits:
        """Return the splits with each row repeated."""
        return Splits({split: rows.repeat_rows(times) for split, rows in self.items()})

    def permute_options(self, options: Sequence[str], answer: str, pattern: CircularPattern) -> Splits:
        """Return the splits, each row repeated for every order of its options."""
        return Splits({split: rows.permute_options(options, answer, pattern) for split, rows in self.items()})


def build_dataset_classes(data: DataPaths) -> dict[str, type[BaseDataset]]:
    """Return the classes by name; they find their files with `data`."""

    class CustomDataset(BaseDataset):
        """A file of rows, in any format that Assay reads."""

        def load(
            self, path: str, file_name: str | None = None, local_mode: bool = False, meta_path: str = ""
        ) -> Any:
            if (addresses := _find_on_hub(data, path)) is not None:
                return Splits({split: _copy_max_tokens(FileRows(at)) for split, at in addresses.items()})
            place = Path(data.get_data_path(path))
            rows = _copy_max_tokens(FileRows(place / file_name if file_name else place))
            meta_file = _read_custom_meta(
                rows.path, Path(data.get_data_path(meta_path)) if meta_path else None
            )
            return rows if meta_file is None else rows.select_requested(meta_file)

    class CodeCustomDataset(CustomDataset):
        """A file of rows, each repeated, for metrics over several answers."""

        def load(
            self,
            path: str,
            file_name: str | None = None,
            local_mode: bool = False,
            meta_path: str = "",
            num_repeats: int = 1,
        ) -> Any:
            return super().load(path, file_name, meta_path=meta_path).repeat_rows(num_repeats)

    class CircularCustomDataset(CustomDataset):
        """A file of rows, each repeated for every order of its options."""

        def load(
            self,
            path: str,
            file_name: str | None = None,
            local_mode: bool = False,
            option_keys: Sequence[str] = ("A", "B", "C", "D"),
            answer_key: str | None = "answer",
            circular_patterns: CircularPattern = "circular",
        ) -> Any:
            return (
                super()
                .load(path, file_name)
                .permute_options(option_keys, answer_key or "answer", circular_patterns)
            )

    class JsonlDataset(CustomDataset):
        """A file of rows."""

    class HFDataset(BaseDataset):
        """A dataset loaded by `datasets.load_dataset`."""

        def load(self, **kwargs: Any) -> Any:
            found = {key: _resolve_paths(data, value) for key, value in kwargs.items() if key in _PATH_KEYS}
            with quiet_datasets_library() as datasets, noting_loads():
                return datasets.load_dataset(**{**kwargs, **found})

    class MMCustomDataset(BaseDataset):
        """Rows with media files: `type`, `path`, `question`, `answer`, combined into one `content` column."""

        def load(self, path: str, mm_type: str = "path", num_frames: int = 5) -> Any:
            place = Path(data.get_data_path(path))
            rows = FileRows(place)
            for row, origin in zip(rows, rows.origins, strict=True):
                row["content"] = "".join(_segments(row, origin, place.parent))
            return rows

    return {
        one.__name__: one
        for one in (
            CustomDataset,
            CodeCustomDataset,
            CircularCustomDataset,
            JsonlDataset,
            HFDataset,
            MMCustomDataset,
        )
    }


def _read_custom_meta(file: Path, meta: Path | None) -> CustomDatasetMeta | None:
    """Return the meta file of a dataset, or None."""
    place = meta or file.with_name(f"{file.name}.meta.json")
    if meta is None and not place.is_file():
        return None
    try:
        require_unique_keys(content := place.read_bytes(), Origin(str(place)))
        meta_file = msgspec.json.decode(content)
        if meta is None and isinstance(meta_file, dict):
            # Keys that OpenCompass reads for tables without code do not apply to this class.
            meta_file = {key: value for key, value in meta_file.items() if key not in TABLE_KEYS}
        return msgspec.convert(meta_file, CustomDatasetMeta, strict=False) if meta_file else None
    except (msgspec.DecodeError, RecursionError) as error:
        fix = "correct the file; its keys are request_count, sampling_mode and output_config"
        raise AuthorError(Problem("OPENICL-013", str(error), fix, Origin(str(place)))) from error


def _copy_max_tokens(rows: FileRows) -> FileRows:
    for row in rows:
        if MAX_TOKENS in row:
            row.setdefault(MAX_OUT_LEN, row[MAX_TOKENS])
    return rows


def _find_on_hub(data: DataPaths, path: str) -> Mapping[str, str] | None:
    """Return the splits of a dataset on the hub; None if the path is local."""
    name = data.hub_name(path)
    return None if name is None else list_split_addresses(name)


_PATH_KEYS = ("path", "data_files", "data_dir")


def _resolve_paths(data: DataPaths, value: Any) -> Any:
    """Resolve a path, or a list or dict of paths; a path that is not found stays unchanged."""
    if isinstance(value, Mapping):
        return {key: _resolve_paths(data, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_resolve_paths(data, one) for one in value]
    place = data.find(value) if isinstance(value, str) else None
    return value if place is None else str(place)


def _segments(row: Mapping[str, Any], origin: Origin, folder: Path) -> Iterator[str]:
    """Yield a row's files and its question as segments of `content`."""
    medium, paths = row.get("type"), row.get("path", ())
    if medium not in ("image", "video", "audio"):
        what = f"found {medium!r}, expected image, video or audio"
        raise AuthorError(Problem("OPENICL-013", what, "correct the value", origin.at("type")))
    for path in [paths] if isinstance(paths, str) else paths:
        beside = folder / path
        yield f"<AIS_{medium.upper()}_START>{beside if beside.exists() else path}<AIS_CONTENT_TAG>"
    yield f"<AIS_TEXT_START>{row.get('question', '')}<AIS_CONTENT_TAG>"


class CircularDatasetMeta(type):
    """The metaclass of circular dataset classes, which are configured by attributes.

    `dataset_class` loads the rows; of several splits, those in `default_circular_splits` are permuted.
    `default_option_keys` and `default_answer_key` name the columns, unless an entry names others;
    `default_answer_key_switch_method(row, order)` moves an answer that is not an option key.
    """

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        """Replace `load` with a version that permutes the options."""
        super().__init__(name, bases, namespace)
        cls.load = classmethod(_load_circular)


def _load_circular(
    cls: Any, circular_patterns: CircularPattern = "circular", *args: Any, **kwargs: Any
) -> Any:
    options = kwargs.pop("option_keys", None) or getattr(cls, "default_option_keys", None)
    answer = kwargs.pop("answer_key", None) or getattr(cls, "default_answer_key", None)
    move: MoveAnswer | None = getattr(cls, "default_answer_key_switch_method", None)
    if not options or (answer is None) == (move is None):
        raise ValueError(
            f"{cls.__name__} must name the columns of the options (default_option_keys), and either that of "
            "the answer (default_answer_key) or how it moves (default_answer_key_switch_method)"
        )
    loaded = cls.dataset_class.load(*args, **kwargs)

    def turn(rows: Any) -> Any:
        made = list(build_circular_rows(rows, options, answer, circular_patterns, move_answer=move))
        with quiet_datasets_library() as datasets:
            return datasets.Dataset.from_list(made)

    if not isinstance(loaded, dict):
        return turn(loaded)
    wanted = getattr(cls, "default_circular_splits", None) or ()
    return {split: turn(rows) if split in wanted else rows for split, rows in loaded.items()}
