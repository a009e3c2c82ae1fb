"""From the name of a dataset to compiled tasks: files, configs, and names under a data root."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assay.app.understood import check_understood
from assay.core.errors import AuthorError, Problem, UsageError, listing, nearest
from assay.core.origin import Origin
from assay.core.ports import Backend
from assay.core.task import TaskSettings
from assay.dialects.llmbox.detect import ClassName, is_class_file
from assay.dialects.parts.compiled import Compiled
from assay.dialects.table.compile import compile_table
from assay.dialects.table.config import ConfigEntry, read_config
from assay.dialects.table.meta import TableMeta, to_meta
from assay.sources.file_names import on_disk, require_text
from assay.sources.hub import Hub

DIALECTS = ("table", "llmbox")
_SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test")


class Located(NamedTuple):
    """One table to compile, and what a config said about it."""

    path: str
    said: TableMeta
    hub_name: str | None = None
    config: str | None = None


def compile_datasets(
    names: tuple[str, ...],
    settings: TaskSettings,
    *,
    said: dict[str, object],
    meta: str | None,
    data_root: str | None,
    split: str | None,
    dialect: str | None = None,
    backend: Backend | None = None,
) -> list[Compiled]:
    """Compile every dataset named, each under a name of its own."""
    if not names:
        raise UsageError(Problem("USAGE-004", "no dataset was named", "assay run data.csv"))
    names = tuple(map(_as_spelled, names))
    hub = None if data_root is None else Hub(Path(data_root))
    flags = to_meta(dict(said), Origin("(command line)"))
    dialects = {name: _dialect_of(name, dialect) for name in names}
    check_understood(set(dialects.values()), settings, said, split)
    classes = [name for name in names if dialects[name] == "llmbox"]
    located = [one for name in names if name not in classes for one in locate(name, hub, split)]
    if meta is not None and len(located) > 1:
        raise UsageError(
            Problem("USAGE-004", "--meta describes one dataset", "name one dataset, or drop --meta")
        )
    compiled: list[Compiled] = []
    for name in classes:
        compiled += _compile_classes(name, settings, hub, backend)
    for one in located:

        def find_split(path: str, wanted: str, one: Located = one) -> str:
            return _other_split(one, path, wanted, hub)

        compiled.append(
            compile_table(one.path, settings, flags.over(one.said), meta_file=meta, find_split=find_split)
        )
    return _with_names_of_their_own(compiled)


def _as_spelled(name: str) -> str:
    """Return the name of a dataset with its file spelled as the disk has it."""
    require_text(name)
    path = ClassName.of(name).path
    return name.replace(str(path), str(on_disk(path)), 1)


def _dialect_of(name: str, asked: str | None) -> str:
    """Return the language that a dataset is written in: the one that was named, or what its file shows."""
    if asked is not None and asked not in DIALECTS:
        raise UsageError(
            Problem(
                "USAGE-004",
                f"there is no dialect {asked!r}{nearest(asked, DIALECTS)}",
                f"use one of {listing(DIALECTS)}, or leave --dialect away",
            )
        )
    if asked is not None:
        return asked
    return "llmbox" if is_class_file(ClassName.of(name).path) else "table"


def _compile_classes(
    name: str, settings: TaskSettings, hub: Hub | None, backend: Backend | None
) -> Sequence[Compiled]:
    # Imported when used: numpy, jinja2 and the metrics' libraries are nothing for a table to wait for.
    from assay.app.model_view import model_view
    from assay.backends.embedding import open_embedder
    from assay.dialects.llmbox.compile import Tools, compile_classes
    from assay.dialects.llmbox.library.raw_data import RawData
    from assay.scoring.metrics import AUTHOR_NAMES

    folder = ClassName.of(name).path.parent
    raw_data = RawData(hub, settings.dataset_args.get("dataset_path"), beside=folder)
    view = model_view(backend, is_chat=settings.is_chat)
    return compile_classes(name, settings, Tools(AUTHOR_NAMES, raw_data, view, open_embedder))


def locate(name: str, hub: Hub | None, split: str | None) -> list[Located]:
    """Find what a person named: a path, or `name:config,config` under the data root."""
    path = Path(name)
    if path.suffix == ".py" and path.is_file():
        return [_entry(entry) for entry in read_config(path)]
    if path.exists() or hub is None:
        if hub is None and not path.exists() and not path.suffix:
            raise AuthorError(
                Problem(
                    "SOURCE-001",
                    f"there is no file {name!r}{nearest(name, _siblings(path))}",
                    "give the path of a table; for a dataset by name also give --data-root DIR",
                    Origin(name),
                )
            )
        return [Located(name, TableMeta())]
    base, _, configs = name.partition(":")
    return [
        Located(
            str(hub.resolve(base, config=config, split=split)),
            TableMeta(abbr=f"{base}:{config}" if config else base),
            base,
            config,
        )
        for config in (configs.split(",") if configs else [None])
    ]


def _siblings(path: Path) -> list[str]:
    return [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []


def _entry(entry: ConfigEntry) -> Located:
    return Located(entry.path, entry.said)


def _other_split(one: Located, path: str, split: str, hub: Hub | None) -> str:
    """Return the file of another split of the same dataset."""
    if hub is not None and one.hub_name is not None:
        return str(hub.resolve(one.hub_name, config=one.config, split=split))
    tried = []
    for known in _SPLITS:
        word = re.compile(rf"(?<![A-Za-z]){known}(?![A-Za-z])")
        if word.search(path):
            # mmlu has test/anatomy_test.csv beside dev/anatomy_dev.csv: every mention is replaced.
            parts = Path(path).parts
            for depth in range(1, len(parts) + 1):
                other = Path(*parts[:-depth], *(word.sub(split, part) for part in parts[-depth:]))
                tried.append(str(other))
                if str(other) != path and other.is_file():
                    return str(other)
    raise AuthorError(
        Problem(
            "SOURCE-010",
            f"--shots-from {split!r} is neither a file nor a split beside this one"
            + (f"; looked for {listing(dict.fromkeys(tried))}" if tried else ""),
            "give the path of the file that holds the examples",
            Origin(path),
        )
    )


def _with_names_of_their_own(compiled: list[Compiled]) -> list[Compiled]:
    """Refuse two tasks of one name: their results could not be told apart."""
    counts = Counter(one.task.spec.name for one in compiled)
    twice = [name for name, count in counts.items() if count > 1]
    if not twice:
        return compiled
    sources = [one.task.spec.source for one in compiled if one.task.spec.name == twice[0]]
    raise AuthorError(
        Problem(
            "TABLE-014",
            f"{counts[twice[0]]} datasets are called {twice[0]!r}: {listing(sources)}",
            'give each an "abbr" of its own in its meta file or config entry',
        )
    )
