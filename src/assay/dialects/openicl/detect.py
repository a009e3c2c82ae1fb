"""Recognition of configs from their files, without running them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_DATASETS_VARIABLE = re.compile(r"(?:\w*_)?datasets")
_READ_BASE = "read_base"
_CODE_MARKS = re.compile(rb"read_base|infer_cfg|\btype\s*=|['\"]type['\"]\s*:")
"""Marks of a config that refers to code; a config without them only lists tables."""
_LOADER = re.compile(rb"^class \w+\((?:.*\W)?BaseDataset\b", re.MULTILINE)
"""A dataset class for configs of either system."""
_INFERENCE = b"infer_cfg"
_CONFIG_NAME = re.compile(r"(?P<path>.*?\.py)(?:/(?P<suffix>\w+))?(?::(?P<abbrs>.*))?")


class ConfigName(NamedTuple):
    """A config name as given: `config.py`, `config.py:abbr,abbr`, `config.py/suffix`."""

    path: Path
    suffix: str | None = None
    """The suffix of the variables with the datasets."""
    abbrs: tuple[str, ...] = ()
    """The selected datasets of the config; empty: all."""

    @classmethod
    def of(cls, text: str) -> ConfigName:
        """Parse a name."""
        found = _CONFIG_NAME.fullmatch(text)
        if found is None:
            return cls(Path(text))
        abbrs = tuple(part.strip() for part in (found["abbrs"] or "").split(",") if part.strip())
        return cls(Path(found["path"]), found["suffix"], abbrs)


def is_config(name: str) -> bool:
    """Whether a name is a file that assigns a list of datasets, or imports one from a base."""
    path = ConfigName.of(name).path
    return path.suffix == ".py" and path.is_file() and _is_config_file(path)


def is_loader(name: str) -> bool:
    """Whether a name is a file of dataset classes, which belong into a config."""
    path = ConfigName.of(name).path
    return path.suffix == ".py" and path.is_file() and _LOADER.search(path.read_bytes()) is not None


def find_config_files(folder: Path) -> list[Path]:
    """Return the configs in a folder and its subfolders."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.rglob("*.py")) if _is_config_file(path)]


def _is_config_file(path: Path) -> bool:
    try:
        content = path.read_bytes()
        return _CODE_MARKS.search(content) is not None and is_config_tree(content, ast.parse(content))
    except (SyntaxError, ValueError):
        return re.search(rb"^(?:\w+_)?datasets\s*=\s*\[", content, re.MULTILINE) is not None
    except OSError:
        return False


def is_config_tree(content: bytes, tree: ast.Module) -> bool:
    """Whether a file's syntax is that of a config."""
    if not _CODE_MARKS.search(content):
        return False
    # A file of classes may contain the name `datasets`, but never the settings of a config entry.
    is_code = any(isinstance(node, ast.ClassDef) for node in tree.body) and _INFERENCE not in content
    return any(map(_is_datasets_variable, _names(tree))) and (not is_code or _has_base_block(tree))


def _is_datasets_variable(name: str) -> bool:
    return _DATASETS_VARIABLE.fullmatch(name) is not None


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a file assigns at top level, and those that it imports from bases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and _is_read_base(node):
            for one in node.body:
                if isinstance(one, ast.ImportFrom):
                    yield from (alias.asname or alias.name for alias in one.names)
                    # `import *` from a base includes its datasets.
                    yield from ("datasets" for alias in one.names if alias.name == "*")
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        targets = [statement.target] if isinstance(statement, ast.AnnAssign | ast.AugAssign) else targets
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _has_base_block(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.With) and _is_read_base(node) for node in tree.body)


def _is_read_base(node: ast.With) -> bool:
    calls = [item.context_expr for item in node.items]
    return any(
        isinstance(call, ast.Call)
        and (getattr(call.func, "id", None) == _READ_BASE or getattr(call.func, "attr", None) == _READ_BASE)
        for call in calls
    )
