"""The configs of an OpenCompass or AISBench package as benchmarks, read from their syntax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.benchmark import Benchmark, DataNeed
from assay.core.method import Method
from assay.dialects.openicl.authored.data_paths import OWN_FOLDERS
from assay.dialects.openicl.config_search import CONFIG_FOLDERS, DATASET_FOLDERS
from assay.dialects.openicl.detect import is_config_tree
from assay.dialects.shared.readme_summary import summarize_readme
from assay.dialects.shared.syntax_values import list_constants, list_items, parse_file, read_literal

_DATASETS_INFO = "opencompass/utils/datasets_info.py"
_MAPPING = "DATASETS_MAPPING"
_INFERENCER_METHODS = {
    "PPLInferencer": Method.PPL,
    "PPLOnlyInferencer": Method.PPL,
    "LLInferencer": Method.PPL,
    "CLPInferencer": Method.PROB,
}
_ENTRY_KEYS = frozenset({"reader_cfg", "infer_cfg"})
_FILE_FORMATS = frozenset({"json", "csv", "parquet", "text", "arrow", "xml"})
"""Values of `path` that name a reader of the `datasets` library, whose files the entry lists elsewhere."""
_OWN_NAMES = "opencompass/"
"""OpenCompass's own names: it downloads these datasets from its server, not from the hub."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


class _ConfigFacts(NamedTuple):
    """What one file says itself."""

    methods: frozenset[Method]
    data: tuple[tuple[str, str], ...]
    """Pairs of path and config."""
    split: str
    bases: tuple[str, ...]
    """The last parts of the modules it imports variables from."""


def find_config_packages(root: Path) -> list[Path]:
    """Return the config folders of a checkout or of site-packages."""
    return [root / inside for inside in CONFIG_FOLDERS if (root / inside / DATASET_FOLDERS[0]).is_dir()]


def list_configs(configs: Path) -> list[Benchmark]:
    """Return the dataset configs of a package's config folder, named after their files.

    If two files have one name, one of them is named with its folder.
    """
    facts: dict[Path, _ConfigFacts] = {}
    folders: dict[Path, Path] = {}
    for folder in DATASET_FOLDERS:
        for path in sorted((configs / folder).rglob("*.py")):
            tree = parse_file(path)
            if tree is not None and is_config_tree(path.read_bytes(), tree):
                facts[path] = _read_config(tree)
                folders[path] = configs / folder
    by_stem: dict[str, Path] = {}
    # Of two files with one name, the one in a folder of that name is meant.
    for path in sorted(
        facts, key=lambda path: not path.stem.casefold().startswith(path.parent.name.casefold())
    ):
        by_stem.setdefault(path.stem, path)
    places = _read_dataset_places(configs)
    return [
        _describe(
            path, path.stem if by_stem[path.stem] == path else None, folders[path], facts, by_stem, places
        )
        for path in facts
    ]


def _describe(
    path: Path,
    stem: str | None,
    top: Path,
    facts: Mapping[Path, _ConfigFacts],
    by_stem: Mapping[str, Path],
    places: Mapping[str, Any],
) -> Benchmark:
    every = [facts[one] for one in _follow_bases(path, facts, by_stem, set())]
    methods = frozenset[Method]().union(*(one.methods for one in every))
    data = dict.fromkeys(pair for one in every for pair in one.data)
    return Benchmark(
        stem or path.relative_to(top).with_suffix("").as_posix(),
        str(path),
        summarize_readme(path.parent, top) if path.parent != top else "",
        tuple(method for method in Method if method in methods),
        next((one.split for one in every if one.split), ""),
        tuple(_describe_data(name, config, places) for name, config in data),
    )


def _follow_bases(
    path: Path, facts: Mapping[Path, _ConfigFacts], by_stem: Mapping[str, Path], seen: set[Path]
) -> Iterator[Path]:
    """Yield a config and, if it has no entries of its own, those that it takes them from."""
    if path in seen:
        return
    seen.add(path)
    yield path
    for base in facts[path].bases:
        near = path.with_name(f"{base}.py")
        found = near if near in facts else by_stem.get(base)
        if found is not None:
            yield from _follow_bases(found, facts, by_stem, seen)


def _read_config(tree: ast.Module) -> _ConfigFacts:
    constants = list_constants(tree)
    methods: set[Method] = set()
    data: dict[tuple[str, str], None] = {}
    split = ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id.endswith("Inferencer"):
            methods.add(_INFERENCER_METHODS.get(node.id, Method.GEN))
        items = list_items(node)
        if items is None:
            continue
        if "test_split" in items:
            split = split or str(read_literal(items["test_split"], constants) or "")
        path = _read_path(items.get("path"), constants) if _ENTRY_KEYS & items.keys() else ""
        if path and path not in _FILE_FORMATS:
            config = read_literal(items.get("name"), constants)
            data[path, config if isinstance(config, str) else ""] = None
    return _ConfigFacts(frozenset(methods), tuple(data), split, tuple(_list_bases(tree)))


def _read_path(node: ast.expr | None, constants: Mapping[str, Any]) -> str:
    """Return a path; of one that a loop completes, the folder that all of them share."""
    if isinstance(node, ast.JoinedStr):
        first = read_literal(node.values[0], constants) if node.values else None
        return first.rpartition("/")[0] if isinstance(first, str) else ""
    path = read_literal(node, constants)
    return path if isinstance(path, str) else ""


def _list_bases(tree: ast.Module) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or "configs" in (node.module or "")):
            yield (node.module or "").rpartition(".")[2]


def _describe_data(name: str, config: str, places: Mapping[str, Any]) -> DataNeed:
    known = places.get(name)
    known = known if isinstance(known, Mapping) else {}
    local, on_hub = known.get("local"), known.get("hf_id")
    if not known and _HUB_NAME.fullmatch(name) and not name.startswith(OWN_FOLDERS):
        on_hub = name
    if not isinstance(on_hub, str) or on_hub.startswith(_OWN_NAMES):
        on_hub = ""
    return DataNeed(name, config, (local,) if isinstance(local, str) else (), on_hub)


def _read_dataset_places(configs: Path) -> Mapping[str, Any]:
    """Return OpenCompass's mapping from dataset names to folders, if the package has it."""
    tree = parse_file(configs.parent.parent / _DATASETS_INFO)
    places = {} if tree is None else list_constants(tree).get(_MAPPING)
    return places if isinstance(places, Mapping) else {}
