"""Load the dataset class in an author's file.

The file runs unchanged: the package it imports from is a table of namespaces (see
dialects/shared/author_modules.py), filled here with Assay's base classes and the metrics that the application
provides.
"""

from __future__ import annotations

import ast
import functools
import typing
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, listing
from assay.core.names import compose_name
from assay.core.origin import Origin
from assay.dialects.llmbox import authoring
from assay.dialects.llmbox.attributes import ATTRIBUTES, SPELLINGS
from assay.dialects.llmbox.authoring import (
    HOOKS,
    SET_BY_HOOKS,
    Dataset,
    GenerationDataset,
    MultipleChoiceDataset,
    ValidationPerplexityDataset,
)
from assay.dialects.llmbox.calling import DatasetAuthor
from assay.dialects.llmbox.library import conversation, dataset_enum
from assay.dialects.llmbox.library.raw_data import RawData, accepts_subset
from assay.dialects.shared.author_modules import AuthorModules


class DownloadConfig:
    """Download settings, accepted but without effect."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


PACKAGE = "utilization.dataset"
BASES = {
    cls.__name__: cls
    for cls in (Dataset, GenerationDataset, MultipleChoiceDataset, ValidationPerplexityDataset)
}


class LoadedClass(NamedTuple):
    """A dataset class and its author."""

    cls: type[Dataset]
    author: DatasetAuthor
    name: str
    """The name of the dataset: the file's, or the one it was registered under."""
    notes: tuple[str, ...]


def load_class(
    path: Path, metrics: Mapping[str, Any], raw_data: RawData, class_name: str | None = None
) -> LoadedClass:
    """Run a file and return its dataset class."""
    registered: dict[str, type[Dataset]] = {}

    def register_dataset(name: str) -> Any:
        def register(cls: type[Dataset]) -> type[Dataset]:
            registered[name] = cls
            return cls

        return register

    modules = AuthorModules(
        PACKAGE,
        _namespaces(metrics, raw_data, register_dataset),
        folder=path.parent,
        ambient={**BASES, **metrics, **_TYPING, "cached_property": functools.cached_property},
        extendable=(f"{PACKAGE}.utils",),
        code="LLMBOX-001",
    )
    module = modules.run(path)
    names = {id(cls): name for name, cls in registered.items()}
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Dataset) and value.__module__ == module.__name__
    }
    cls, notes = _choose_class(classes, path, class_name)
    author = DatasetAuthor(path, cls.__name__)
    author.check_names(
        cls,
        modules.files,
        (*ATTRIBUTES, *HOOKS, *SET_BY_HOOKS),
        allowed=(*SPELLINGS, "reference", *(name for base in BASES.values() for name in dir(base))),
    )
    # Imports inside functions count too, so search the text instead of the module.
    texts = [file.read_bytes() for file in modules.files]
    author.draws = any(word in text for text in texts for word in (b"random", b"shuffle"))
    return LoadedClass(cls, author, names.get(id(cls), compose_name(path.stem)), notes)


def _choose_class(
    classes: Mapping[str, type[Dataset]], path: Path, class_name: str | None
) -> tuple[type[Dataset], tuple[str, ...]]:
    where = Origin(str(path))
    if class_name is not None:
        if class_name not in classes:
            raise AuthorError(
                Problem(
                    "LLMBOX-002",
                    f"no dataset class {class_name!r}; the file has {listing(classes) or 'none'}",
                    "use one of these",
                    where,
                )
            )
        return classes[class_name], ()
    if not classes:
        raise AuthorError(_build_no_class_problem(path))
    # A class that another class of the file extends is an intermediate base.
    leaves = [
        cls
        for cls in classes.values()
        if not any(cls is not other and issubclass(other, cls) for other in classes.values())
    ]
    leaves.sort(key=lambda cls: cls.__name__)
    others = [cls.__name__ for cls in leaves[1:]]
    note = f"the file has the classes {listing(cls.__name__ for cls in leaves)}; {leaves[0].__name__} is used"
    hint = f"write {path.name}::{others[0]} to use another" if others else ""
    return leaves[0], (f"{note}, {hint}",) if others else ()


def _build_no_class_problem(path: Path) -> Problem:
    """Return the problem of a file without a class; `def` instead of `class` is a common mistake."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef) and any(arg.arg in BASES for arg in node.args.args):
            return Problem(
                "LLMBOX-002",
                f"{node.name!r} is written with `def`, so it is a function, not a dataset",
                f"write class {node.name}({node.args.args[0].arg}):",
                Origin(str(path), line=node.lineno),
            )
    return Problem(
        "LLMBOX-002",
        f"the file defines no dataset class; expected one that extends {listing(BASES)}",
        "write class MyDataset(MultipleChoiceDataset): or see `assay new my_dataset --like llmbox`",
        Origin(str(path)),
    )


def _namespaces(
    metrics: Mapping[str, Any], raw_data: RawData, register_dataset: Any
) -> dict[str, Mapping[str, Any]]:
    loaders = {
        "get_raw_dataset_loader": raw_data.get_raw_dataset_loader,
        "load_raw_dataset_from_file": raw_data.load_raw_dataset_from_file,
        "accepts_subset": accepts_subset,
    }
    equivalence = {name: metrics[name] for name in ("is_equiv", "_strip_string")}
    conversations = {"Conversation": conversation.Conversation}
    # Authors use the hub's library to configure downloads, which has no effect here.
    hub_library = {} if find_spec("datasets") else {"datasets": {"DownloadConfig": DownloadConfig}}
    return {
        **hub_library,
        "utilization": {"register_dataset": register_dataset, "DatasetArguments": authoring.DatasetArguments},
        "utilization.metric": metrics,
        "utilization.metric.metric": metrics,
        "utilization.metric.drop_utils": metrics,
        "utilization.dataset_enum": dataset_enum.constants(),
        "utilization.utils": {
            "math_equiv": SimpleNamespace(**equivalence),
            "DatasetArguments": authoring.DatasetArguments,
        },
        "utilization.utils.math_equiv": equivalence,
        "utilization.model.model_utils.conversation": conversations,
        "utilization.load_dataset": {"register_dataset": register_dataset},
        PACKAGE: {**BASES},
        f"{PACKAGE}.dataset": BASES,
        f"{PACKAGE}.generation_dataset": BASES,
        f"{PACKAGE}.multiple_choice_dataset": BASES,
        f"{PACKAGE}.validation_perplexity_dataset": BASES,
        f"{PACKAGE}.utils": loaders,
        f"{PACKAGE}.dataset_utils": loaders,
        f"{PACKAGE}.dataset_utils.raw_dataset_loader": loaders,
    }


_TYPING = {
    name: getattr(typing, name)
    for name in (
        "Any",
        "Callable",
        "Dict",
        "Iterable",
        "List",
        "Literal",
        "Optional",
        "Sequence",
        "Set",
        "Tuple",
        "Union",
    )
}
"""Names that the documentation uses without importing them."""
