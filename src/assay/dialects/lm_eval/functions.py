"""What `!function` refers to: objects in Python files of the tasks' authors, which run unchanged.

The files import lm-eval's own package. They get Assay's stand-ins for it (`build_package`), and other files
of the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from assay.core.errors import AuthorError, Problem, suggest_name
from assay.core.origin import Origin
from assay.dialects.lm_eval.examples import ContextSampler, FirstNSampler
from assay.dialects.lm_eval.task_classes import (
    ConfigurableTask,
    Instance,
    MultipleChoiceTask,
    PerplexityTask,
    Task,
    TaskConfig,
)
from assay.dialects.lm_eval.task_files import FunctionReference, locate_file
from assay.dialects.shared.author_modules import AuthorModules, Namespaces

CODE = "LMEVAL-004"
PACKAGE = "lm_eval.tasks"

T = TypeVar("T")


class AuthorFunctions:
    """Finds the objects that `!function` tags refer to."""

    def __init__(self, roots: Sequence[Path], package: Namespaces) -> None:
        """`roots` are the trees of task files; a file elsewhere is the root of its own folder."""
        self._roots = [root.resolve() for root in roots]
        self._package = package
        self._modules: dict[Path, AuthorModules] = {}

    @property
    def files(self) -> list[Path]:
        """Return the files that were run."""
        return [file for modules in self._modules.values() for file in modules.files]

    def resolve(self, reference: FunctionReference) -> Any:
        """Return an object; raise AuthorError if its file or name does not exist, or does not run."""
        module_name, _, name = reference.name.rpartition(".")
        where = locate_file(reference.file)
        if not module_name:
            what = f"{reference} names no module"
            raise AuthorError(Problem(CODE, what, "write !function MODULE.NAME", where))
        module = self._load_module(reference.folder, module_name, where)
        try:
            return getattr(module, name)
        except AttributeError:
            known = [known for known in vars(module) if not known.startswith("_")]
            what = f"{module_name}.py has no {name!r}{suggest_name(name, known)}"
            raise AuthorError(Problem(CODE, what, "correct the name", where)) from None

    def _load_module(self, folder: Path, name: str, where: Origin) -> Any:
        file = folder.joinpath(*name.split(".")).with_suffix(".py")
        root = next((root for root in self._roots if folder.is_relative_to(root)), folder)
        modules = self._modules_of(root)
        inside = ".".join(folder.relative_to(root).parts)
        dotted = ".".join(filter(None, (PACKAGE, inside, name))) if file.is_file() else name
        try:
            return modules.load(dotted)
        except ModuleNotFoundError as error:
            what = f"!function refers to {name!r}, but {locate_file(file).path} does not exist"
            raise AuthorError(Problem(CODE, what, "add the file, or correct the name", where)) from error

    def _modules_of(self, root: Path) -> AuthorModules:
        if root not in self._modules:
            self._modules[root] = AuthorModules(PACKAGE, self._package, folder=root, code=CODE)
        return self._modules[root]


def build_package(filters: Mapping[str, type], modules: Namespaces) -> tuple[Namespaces, dict[str, type]]:
    """Return stand-ins for the modules of lm-eval that tasks import, and the filters they can register.

    `modules` are further ones, with what the application provides.
    """
    known = dict(filters)

    def register_filter(*names: str) -> Callable[[T], T]:
        def add(cls: T) -> T:
            known.update(dict.fromkeys(names, cls))  # type: ignore[arg-type]
            return cls

        return add

    def register_nothing(*_: Any, **__: Any) -> Callable[[T], T]:
        return lambda function: function

    base = {"Filter": next(iter(filters.values())).__mro__[-2]}
    package: dict[str, Mapping[str, Any]] = {
        "lm_eval.api.filter": base,
        "lm_eval.api.registry": {
            "register_filter": register_filter,
            "register_metric": register_nothing,
            "register_aggregation": register_nothing,
        },
        "lm_eval.api.instance": {"Instance": Instance},
        "lm_eval.api.samplers": {"ContextSampler": ContextSampler, "FirstNSampler": FirstNSampler},
        "lm_eval.api.task": {
            cls.__name__: cls
            for cls in (Task, ConfigurableTask, MultipleChoiceTask, PerplexityTask, TaskConfig)
        },
        "lm_eval.filters.extraction": {
            **base,
            "RegexFilter": filters["regex"],
            "MultiChoiceRegexFilter": filters["multi_choice_regex"],
            "WhitespaceFilter": filters["remove_whitespace"],
        },
        **modules,
    }
    return package, known
