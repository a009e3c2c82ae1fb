"""The languages that datasets are written in: how each is recognised, and what compiles it.

A language is imported when one of its datasets is compiled, so that a table waits for no other language's
libraries. Recognising looks at names and files alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import Problem, UsageError, listing, nearest
from assay.core.ports import Backend
from assay.core.task import TaskSettings
from assay.dialects.llmbox.detect import ClassName, class_files, is_class_file
from assay.dialects.parts.compiled import Compiled
from assay.dialects.ultraeval.detect import folders_of_many, is_dataset
from assay.sources.hub import Hub

TABLE = "table"


class Surroundings(NamedTuple):
    """What a dataset is compiled in: where data lies, and the model as far as it is known."""

    hub: Hub | None
    """The folder that holds datasets by name."""
    backend: Backend | None


class Language(NamedTuple):
    """A language, tables aside: those are described on the command line and compiled by `app.datasets`."""

    recognises: Callable[[str], bool]
    """Whether what a person named is written in it."""
    members: Callable[[Path], Sequence[Path]]
    """The datasets in a folder of many; none where the folder is one dataset, or holds none."""
    compile: Callable[[str, TaskSettings, Surroundings], Sequence[Compiled]]
    understands: frozenset[str]
    """The settings that mean something to it, of those that do not mean something to all."""
    instead: Mapping[str, str]
    """What to do in place of a setting that it does not understand."""
    noun: str
    """What a dataset in it is called."""


def language_of(name: str, asked: str | None, dataset_args: Mapping[str, str]) -> str:
    """Return the language that a dataset is written in: the one that was named, or what its file shows."""
    if asked is None and "transform" in dataset_args:
        # A file of rows may be anybody's; whoever names a transform says whose it is.
        return "ultraeval"
    if asked is None:
        return next((one for one, language in LANGUAGES.items() if language.recognises(name)), TABLE)
    if asked not in DIALECTS:
        raise UsageError(
            Problem(
                "USAGE-004",
                f"there is no dialect {asked!r}{nearest(asked, DIALECTS)}",
                f"use one of {listing(DIALECTS)}, or leave --dialect away",
            )
        )
    return asked


def members_of(folder: Path, asked: str | None) -> Sequence[Path]:
    """Return the datasets in a folder of many, in the language that was named or in any."""
    languages = [language for name, language in LANGUAGES.items() if asked in (None, name)]
    return next(filter(None, (language.members(folder) for language in languages)), ())


def _is_class(name: str) -> bool:
    return is_class_file(ClassName.of(name).path)


def _compile_classes(name: str, settings: TaskSettings, around: Surroundings) -> Sequence[Compiled]:
    from assay.app.model_view import model_view
    from assay.backends.embedding import open_embedder
    from assay.dialects.llmbox.compile import Tools, compile_classes
    from assay.dialects.llmbox.library.raw_data import RawData
    from assay.scoring.metrics import AUTHOR_NAMES

    folder: Path = ClassName.of(name).path.parent
    raw_data = RawData(around.hub, settings.dataset_args.get("dataset_path"), beside=folder)
    view = model_view(around.backend, is_chat=settings.is_chat)
    return compile_classes(name, settings, Tools(AUTHOR_NAMES, raw_data, view, open_embedder))


def _compile_transforms(name: str, settings: TaskSettings, around: Surroundings) -> Sequence[Compiled]:
    from assay.dialects.ultraeval.compile import Tools, compile_transforms
    from assay.scoring import postprocess
    from assay.scoring.metrics import row_values
    from assay.scoring.scorers import sentence_likelihood

    corrected = {**postprocess.CORRECTED, **row_values.CORRECTED, **sentence_likelihood.CORRECTED}
    return compile_transforms(name, settings, Tools(postprocess.POSTPROCESSORS, corrected))


LANGUAGES = {
    "ultraeval": Language(
        is_dataset,
        folders_of_many,
        _compile_transforms,
        frozenset({"samples", "dataset_args", "shots_from", "shot_policy"}),
        {"split": "name the data file", "table": "say it in the transform or its config"},
        "a transform",
    ),
    "llmbox": Language(
        _is_class,
        class_files,
        _compile_classes,
        frozenset({"samples", "cot", "dataset_args"}),
        {
            "shots_from": "write --dataset-arg example_set=SPLIT",
            "split": "write --dataset-arg evaluation_set=SPLIT",
            "table": "say it in the class",
        },
        "a dataset class",
    ),
}
"""The languages in the order in which they are tried; what none recognises is a table."""
DIALECTS = (TABLE, *LANGUAGES)
