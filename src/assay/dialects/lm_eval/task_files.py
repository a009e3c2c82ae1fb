"""Read task files: YAML with `include` and `!function`.

A function stays a reference, so that listing and checking thousands of files imports no Python code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem
from assay.core.origin import Origin

CODE = "LMEVAL-001"
FUNCTION_TAG = "!function"
SUFFIX = ".yaml"

TaskConfig = dict[str, Any]
"""The keys of a task file, with the keys of the files it includes."""


class FunctionReference(NamedTuple):
    """What `!function module.name` refers to."""

    file: Path
    """The file with the tag; modules are found beside it."""
    name: str
    """`module.name`, or `package.module.name`."""

    @property
    def folder(self) -> Path:
        """Return the folder in which modules are found."""
        return self.file.parent

    def __str__(self) -> str:
        return f"{FUNCTION_TAG} {self.name}"


class TaskFileReader:
    """Reads task files; a file that many others include is read once."""

    def __init__(self) -> None:
        self._included: dict[Path, TaskConfig] = {}

    def read(self, path: Path) -> TaskConfig:
        """Return the keys of a task file; its own keys override those of the files it includes."""
        return self._read(path.resolve(), ())

    def _read(self, path: Path, including: tuple[Path, ...]) -> TaskConfig:
        if path in including:
            chain = " -> ".join(file.name for file in (*including, path))
            raise _error(including[-1], f"files include each other: {chain}", "remove one of the includes")
        own = _parse_file(path, including)
        includes = own.pop("include", None)
        if includes is None:
            return own
        merged: TaskConfig = {}
        for name in includes if isinstance(includes, list) else [includes]:
            if not isinstance(name, str):
                raise _error(path, f"'include' is {name!r:.60}, expected the name of a file", "name a file")
            merged.update(self._read_included(path.parent / Path(name).expanduser(), (*including, path)))
        return {**merged, **own}

    def _read_included(self, path: Path, including: tuple[Path, ...]) -> TaskConfig:
        path = path.resolve()
        if path not in self._included:
            keys = self._read(path, including)
            # A list of tasks belongs to the file that declares it.
            keys.pop("task_list", None)
            self._included[path] = keys
        elif path in including:
            self._read(path, including)  # Reports the cycle.
        return self._included[path]


def _parse_file(path: Path, including: tuple[Path, ...]) -> TaskConfig:
    import yaml

    try:
        content = path.read_bytes()
    except OSError as error:
        what = f"cannot read {str(path)!r}: {error.strerror or error}"
        raise _error(including[-1] if including else path, what, "correct the path") from error
    loader = _make_loader(path)
    try:
        keys = yaml.load(content, Loader=loader)
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = f"invalid YAML: {getattr(error, 'problem', None) or error}"
        raise _error(path, what, "correct the file", None if mark is None else mark.line + 1) from error
    if not isinstance(keys, Mapping):
        what = f"the file contains {type(keys).__name__}, expected keys and values"
        raise _error(path, what, "write `task: NAME` and the task's other keys")
    return dict(keys)


def _make_loader(path: Path) -> Any:
    """Return a safe YAML loader for one file."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def read_function(loader: Any, node: Any) -> FunctionReference:
        return FunctionReference(path, str(loader.construct_scalar(node)).strip())

    Loader.add_constructor(FUNCTION_TAG, read_function)
    return Loader


def locate_file(path: Path | str, line: int | None = None) -> Origin:
    """Return the place of a task file, relative to the working folder if it is there."""
    path, here = Path(path), Path.cwd()
    return Origin(str(path.relative_to(here) if path.is_relative_to(here) else path), line=line)


def _error(path: Path, what: str, fix: str, line: int | None = None) -> AuthorError:
    return AuthorError(Problem(CODE, what, fix, locate_file(path, line)))
