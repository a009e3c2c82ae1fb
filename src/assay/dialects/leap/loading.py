"""Load the Task classes in authors' files, which run unchanged.

The package that a file imports from is a table of namespaces (dialects/shared/author_modules.py), filled here
with Assay's classes and the functions that the application provides. A sibling `base.py`, `metrics.py` or
`utils.py` is not run, except for names that only that `utils.py` or `metrics.py` defines.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from assay.core.errors import AuthorError, Problem, listing, suggest_name
from assay.core.origin import Origin
from assay.dialects.leap.authoring import SETTABLE, Task, TaskEnvironment, build_base_modules
from assay.dialects.leap.calling import TaskAuthor
from assay.dialects.shared.author_modules import AuthorModules
from assay.dialects.shared.misspelt_names import find_misspelt_names

F = TypeVar("F", bound=Callable[..., Any])

_REPLACED = ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"'))
_SPACED_MARK = re.compile(r" (['.,])")


def general_detokenize(string: str) -> str:
    """Return a tokenized text with punctuation joined to its words again."""
    for spaced, joined in _REPLACED:
        string = string.replace(spaced, joined)
    return _SPACED_MARK.sub(r"\1", string)


def positional_deprecated(fn: F) -> F:
    """Return the function unchanged, without the original's warning about positional arguments."""
    return fn


UTILITIES: dict[str, Any] = {
    "general_detokenize": general_detokenize,
    "positional_deprecated": positional_deprecated,
}
"""The utility functions by name."""


PACKAGE = "evaluation.task"
_ALIASES = {
    "task": PACKAGE,
    "tasks": PACKAGE,
    "leap.evaluation.task": PACKAGE,
    "leap.task": PACKAGE,
    "lm_eval.tasks": PACKAGE,
}
CODE = "LEAP-001"


class LoadedTask(NamedTuple):
    """A Task class and its author."""

    cls: type[Task]
    author: TaskAuthor
    files: Callable[[], Sequence[Path]]
    """Returns the files of its code; some are imported only when needed."""


class TaskFiles:
    """The files of one folder, run when needed; each can import the others."""

    def __init__(self, folder: Path, environment: TaskEnvironment) -> None:
        self.folder = folder
        leap, classic = build_base_modules(environment)
        self._modules = AuthorModules(
            PACKAGE,
            {
                f"{PACKAGE}.base": leap,
                f"{PACKAGE}.metrics": environment.aggregations,
                f"{PACKAGE}.utils": UTILITIES,
                "lm_eval.base": classic,
                "lm_eval.metrics": environment.aggregations,
                "lm_eval.utils": UTILITIES,
            },
            folder=folder,
            ambient={**leap, **environment.aggregations, **UTILITIES},
            extendable=(f"{PACKAGE}.metrics", f"{PACKAGE}.utils"),
            aliases=_ALIASES,
            code=CODE,
        )
        self._ran: dict[Path, ModuleType] = {}

    def module(self, path: Path) -> ModuleType:
        """Return a file as a module, run once."""
        if path not in self._ran:
            self._ran[path] = self._modules.run(path)
        return self._ran[path]

    def classes(self, path: Path) -> dict[str, type[Task]]:
        """Return the classes that a file itself defines, including dynamically created ones."""
        module = self.module(path)
        return {
            name: value
            for name, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, Task) and value.__module__ == module.__name__
        }

    def find_class_path(self, cls: type[Task]) -> Path:
        """Return the file that defines a class."""
        return Path(inspect.getfile(cls))

    def load_class(self, cls: type[Task]) -> LoadedTask:
        """Return a class with its author."""
        # Imports inside functions count too, so search the text instead of the module.
        draws = any(
            word in file.read_bytes() for file in self._modules.files for word in (b"random", b"shuffle")
        )
        path = self.find_class_path(cls)
        author = TaskAuthor(path, cls.__name__, draws=draws)
        written_in = {self.find_class_path(base) for base in cls.__mro__ if issubclass(base, Task)}
        author.check_names(cls, written_in.intersection(self._modules.files), SETTABLE)
        return LoadedTask(cls, author, partial(self._modules.find_imported_files, path))


def filter_task_classes(classes: Mapping[str, type[Task]]) -> dict[str, type[Task]]:
    """Return the classes that are tasks: neither abstract nor intermediate bases."""
    return {
        name: cls
        for name, cls in classes.items()
        if not inspect.isabstract(cls) and not _is_intermediate_class(cls, classes.values())
    }


def _is_intermediate_class(cls: type[Task], classes: Iterable[type[Task]]) -> bool:
    """Return whether a class is only a base: it defines no data, but its subclasses do."""
    extending = [other for other in classes if other is not cls and issubclass(other, cls)]
    return any(
        getattr(cls, name) is None and any(getattr(other, name) is not None for other in extending)
        for name in ("DATASET_PATH", "DATASET_NAME")
    )


def require_class(path: Path, classes: Mapping[str, type[Task]], name: str) -> type[Task]:
    """Return the class of a file that the user named."""
    if name not in classes:
        what = f"no Task class {name!r}{suggest_name(name, classes)}; "
        what += f"the file has {listing(classes) or 'none'}"
        raise AuthorError(Problem("LEAP-002", what, "use one of these", Origin(str(path))))
    if inspect.isabstract(classes[name]):
        raise AuthorError(build_missing_method_problem(path, classes[name]))
    return classes[name]


def build_no_task_error(path: Path, classes: Mapping[str, type[Task]]) -> AuthorError:
    """Return the error for a file without a task: without a class, or with incomplete classes."""
    if classes:
        return AuthorError(
            [build_missing_method_problem(path, cls) for cls in classes.values() if inspect.isabstract(cls)]
        )
    what = (
        "the file defines no Task class; expected one that extends Task, MultipleChoiceTask or PerplexityTask"
    )
    fix = "write class MyTask(Task): or see `assay new my_dataset --like leap`"
    return AuthorError(Problem("LEAP-002", what, fix, Origin(str(path))))


def build_missing_method_problem(path: Path, cls: type[Task]) -> Problem:
    """Return the problem of a class without required methods."""
    methods: Sequence[str] = sorted(cls.__abstractmethods__)
    what = f"class {cls.__name__} lacks {listing(methods)}"
    misspelt = find_misspelt_names(cls, [path], methods, allowed=SETTABLE)
    if misspelt:
        name, meant, where = misspelt[0]
        return Problem("LEAP-002", f"{what}; it has {name!r}, which is not used", f"write {meant}", where)
    return Problem("LEAP-002", what, f"define {methods[0]}(self, ...)", Origin(str(path)))
