"""Compile Task classes into tasks."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.compilation import Compilation
from assay.core.errors import PlanError, Problem, UsageError, listing
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.model import Token
from assay.core.origin import Origin
from assay.core.request import Ask, Sampling
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.leap.author_requests import GREEDY_UNTIL, LOGLIKELIHOOD, ROLLING
from assay.dialects.leap.authoring import BUILTIN_CONTEXTS, Task, TaskEnvironment
from assay.dialects.leap.calling import TaskAuthor, has_parameter
from assay.dialects.leap.checks import (
    check_higher_is_better,
    check_process_results,
    read_aggregation,
    resolve_methods,
    resolve_shots,
)
from assay.dialects.leap.contexts import ExampleDraw
from assay.dialects.leap.data import TaskData
from assay.dialects.leap.detect import TaskName
from assay.dialects.leap.differences import TaskTraits, find_differences
from assay.dialects.leap.documents import ORIGINAL_SEED, load_docs, select_documents
from assay.dialects.leap.examples import has_own_examples
from assay.dialects.leap.model_requests import LeapRequestBuilder, format_unknown_options
from assay.dialects.leap.original_window import OriginalWindow
from assay.dialects.leap.prepared_task import PreparedTask
from assay.dialects.leap.registry import NamedTask, RegisteredDataset, find_tasks, list_registered
from assay.dialects.leap.task import LeapTask
from assay.dialects.shared.author_draws import seeded_draws as author_drawing
from assay.sources.dataset_folder import DatasetMissing
from assay.sources.hub_reads import noting_loads

DIALECT = "leap"
_KINDS = {GREEDY_UNTIL: "free answer", ROLLING: "text"}


class LeapTools(NamedTuple):
    """What the application provides: parts of other packages, paths, and the model as a task may see it."""

    aggregations: Mapping[str, Any]
    """The functions that authors import, by name."""
    packages_lacking: Callable[[Any], Sequence[str]]
    """Returns the packages to install before such a function can be called."""
    cache: Path
    """The cache folder of the `datasets` library."""
    data_root: Path | None = None
    """The folder of datasets; None: the folder of the task file."""
    tokens: Callable[[Ask], Sequence[Token]] | None = None
    """Returns the tokens of an ask; None without a model."""
    stored: Mapping[str, TaskSpec] | None = None
    """The tasks of a finished run whose answers are scored, by name; None if the model is available."""


def compile_tasks(name: str, settings: TaskSettings, tools: LeapTools) -> list[Compilation[LeapTask]]:
    """Compile `file.py`, `file.py::Class`, `folder` or `folder:names`."""
    if settings.score_by is not None:
        what = "'score_by' was set, but process_results of a Task class decides between options"
        raise UsageError(Problem("USAGE-007", what, "remove it, or change process_results"))
    found = find_tasks(name, build_task_environment(name, settings, tools))
    return _compile_found_tasks(name, found.tasks, found.notes, settings, tools)


def _compile_found_tasks(
    name: str, tasks: Sequence[NamedTask], notes: Sequence[str], settings: TaskSettings, tools: LeapTools
) -> list[Compilation[LeapTask]]:
    """Compile tasks. Omits tasks without data, with a note, unless that is all of them."""
    families = _families(tasks)
    compiled: list[Compilation[LeapTask]] = []
    missing: dict[str, DatasetMissing] = {}
    for task in tasks:
        try:
            own = notes if not compiled else ()
            compiled.append(_Compilation(name, task, settings, tools).compile(families.get(task.name), own))
        except DatasetMissing as error:
            missing[task.name] = error
    if not missing:
        return compiled
    if not compiled:
        problems = [problem for error in missing.values() for problem in error.problems]
        raise DatasetMissing(problems)
    omitted = [
        f"{task} is omitted because its data is missing: {error.problems[0]}"
        for task, error in missing.items()
    ]
    available = [task for task in tasks if task.name not in missing]
    # Compile again, because an omitted task is not a subset of its dataset.
    return _compile_found_tasks(name, available, [*notes, *omitted], settings, tools)


def list_registered_datasets(folder: Path, tools: LeapTools) -> list[RegisteredDataset]:
    """Return the datasets in a folder's registry; empty without a registry."""
    return list_registered(folder, build_task_environment(str(folder), TaskSettings(), tools))


def list_task_names(name: str, tools: LeapTools) -> list[str]:
    """Return the names of the selected tasks."""
    return [task.name for task in find_tasks(name, build_task_environment(name, TaskSettings(), tools)).tasks]


def build_task_environment(name: str, settings: TaskSettings, tools: LeapTools) -> TaskEnvironment:
    """Return the environment for the classes of a file or folder."""
    path = TaskName.of(name).path
    data = TaskData(tools.data_root or (path if path.is_dir() else path.parent), tools.cache)
    return TaskEnvironment(data.load, tools.aggregations, settings.is_faithful)


def _families(tasks: Sequence[NamedTask]) -> dict[str, str]:
    """Return the file name of each task that shares its file: such tasks are reported together.

    A file with the name of a task is excluded, because the names would be ambiguous.
    """
    counts = Counter(task.loaded.author.path.stem for task in tasks)
    names = {task.name for task in tasks}
    return {
        task.name: stem
        for task in tasks
        if counts[stem := task.loaded.author.path.stem] > 1 and stem not in names
    }


class _Compilation:
    """The compilation of one class into a task."""

    def __init__(self, source: str, named: NamedTask, settings: TaskSettings, tools: LeapTools) -> None:
        self._source = source
        self._name = named.name
        self._cls = named.loaded.cls
        self._author: TaskAuthor = named.loaded.author
        self._files = named.loaded.files
        self._entry = named.entry
        self._settings = settings
        self._tools = tools
        self._notes: list[str] = []

    def compile(self, family: str | None, notes: Sequence[str]) -> Compilation[LeapTask]:
        """Create the author's object, prepare its documents, and build the task."""
        self._notes += notes
        settings = self._settings
        task = self._build_task()
        shared = random.Random(ORIGINAL_SEED) if settings.is_faithful else None
        with author_drawing(settings.seed, self._name, "rows"):
            documents = select_documents(task, self._author, settings.limit, settings.seed, shared)
        n_shots = resolve_shots(task, self._author, settings.shots, self._notes)
        if n_shots:
            self._load_pool(task)
        metrics = read_aggregation(task, self._author, self._tools.packages_lacking)
        check_higher_is_better(task, self._author, metrics, self._notes)
        drawing = ExampleDraw(self._name, n_shots, settings.seed, shared)
        is_chat = settings.is_chat and not settings.is_faithful
        prepared = PreparedTask(task, self._author, documents, drawing, is_chat=is_chat)
        methods = resolve_methods(prepared, settings.methods)
        check_process_results(prepared, metrics, self._entry.headline, self._notes)
        asking = self._create_request_builder(prepared)
        if settings.is_faithful:
            prepared.window = self._window(prepared)
        self._notes += self._remarks(prepared)
        spec = self._spec(prepared, methods, metrics, n_shots, asking, family)
        leap_task = LeapTask(spec, prepared.samples(), prepared, asking, self._entry.headline)
        facts = _describe_settings(leap_task.spec.settings)
        return Compilation(leap_task, tuple(dict.fromkeys(self._notes)), self._kind(prepared), facts)

    def _build_task(self) -> Task:
        """Create the author's object, which loads its rows."""
        root = self._tools.data_root
        given = {"data_dir": str(root)} if root is not None and has_parameter(self._cls, "data_dir") else {}
        with (
            self._author.convert_errors("the class"),
            noting_loads(),
            author_drawing(self._settings.seed, self._name),
        ):
            return self._cls(**given)

    def _load_pool(self, task: Task) -> None:
        """Load the documents for examples, so that missing ones are reported as such."""
        if has_own_examples(task) or type(task).fewshot_context not in BUILTIN_CONTEXTS:
            return
        with self._author.convert_errors("has_training_docs"):
            has_training = task.has_training_docs()
        if has_training:
            task._training_docs = load_docs(task, self._author, "training_docs")
        else:
            split = "validation" if task.has_validation_docs() else "test"
            task._fewshot_docs = load_docs(task, self._author, f"{split}_docs")

    def _create_request_builder(self, prepared: PreparedTask) -> LeapRequestBuilder:
        first = prepared.prepared[0].wishes.every[0].writing
        return LeapRequestBuilder(self._settings, first.until if first is not None else ())

    def _window(self, prepared: PreparedTask) -> OriginalWindow | None:
        """Return the original's token window; None if the model's tokens are not known."""
        wishes = (wish for one in prepared.prepared for wish in one.wishes.every)
        texts = [wish.continuation for wish in wishes if wish.type == LOGLIKELIHOOD and not wish.is_classic]
        if not texts:
            return None
        if self._tools.stored is not None:
            return self._read_stored_window(self._tools.stored, texts)
        window = None if self._tools.tokens is None else OriginalWindow(self._tools.tokens, texts)
        if window is None or not window.has_tokens:
            self._notes.append(
                "the original's token window needs the model's tokens, which are not known: "
                "scoring starts at the prompt/answer boundary"
            )
            return None
        if not window.is_whole:
            self._notes.append(
                "the original counts no token of a continuation; scoring starts at the prompt/answer boundary"
            )
            return None
        return window

    def _read_stored_window(
        self, stored: Mapping[str, TaskSpec], texts: Sequence[str]
    ) -> OriginalWindow | None:
        """Return the token window that a finished run was scored with; None if it used none."""
        spec = stored.get(self._name)
        if spec is None or spec.settings.get("window") != "original":
            self._notes.append(
                "the run has no original token window, so scoring starts at the prompt/answer boundary"
            )
            return None
        window = OriginalWindow.from_record(texts, spec.chosen.get("window", ""))
        if window is None:
            raise PlanError(
                Problem(
                    "LEAP-012",
                    f"{self._name}: the run was scored with the original's token window, but lacks it",
                    "run it again with its model, because an earlier version of Assay created this run",
                    Origin(str(self._author.path)),
                )
            )
        return window

    def _remarks(self, prepared: PreparedTask) -> list[str]:
        """Return notes for the user about the class and its data."""
        remarks = list(prepared.task._loaded.notes)
        if self._has_other_request_type(prepared):
            declared = prepared.task.request_type()
            remarks.append(
                f"{self._name}: request_type() returns {declared!r}, but its requests are "
                f"{listing(sorted(prepared.types))}: each request is sent according to its own type"
            )
        unknown = format_unknown_options([one.wishes for one in prepared.prepared])
        return [*remarks, *([unknown] if unknown else [])]

    def _has_other_request_type(self, prepared: PreparedTask) -> bool:
        """Return whether request_type() of a LEAP class differs from its requests; lm-eval lacks it."""
        is_classic = any(wish.is_classic for one in prepared.prepared for wish in one.wishes.every)
        with self._author.convert_errors("request_type"):
            return not is_classic and prepared.types != {prepared.task.request_type()}

    def _kind(self, prepared: PreparedTask) -> str:
        if any(one.options for one in prepared.prepared):
            return "choice"
        return next((kind for type_, kind in _KINDS.items() if type_ in prepared.types), "likelihood")

    def _spec(
        self,
        prepared: PreparedTask,
        methods: tuple[Method, ...],
        metrics: Mapping[str, Any],
        n_shots: int,
        asking: LeapRequestBuilder,
        family: str | None,
    ) -> TaskSpec:
        settings, task, documents = self._settings, prepared.task, prepared.documents
        is_cut = settings.limit is not None and settings.limit.is_below(documents.n_there)
        recorded = {
            "class": self._author.class_name,
            "version": task.VERSION,
            "explain": self._entry.explain,
            "metrics": list(metrics),
            "registered_metrics": list(self._entry.metrics),
            "headline": self._entry.headline,
            "split": documents.split,
            "request_types": sorted(prepared.types),
            "description": prepared.contexts.description,
            "form": "chat" if settings.is_chat and not settings.is_faithful else "text",
            "shots": n_shots,
            "sampling": self._samplings(prepared, asking),
            "window": "original" if prepared.window is not None else "join",
            "fidelity": "faithful" if settings.is_faithful else "corrected",
            "seed": settings.seed,
            "limit": settings.limit if is_cut else None,
        }
        return TaskSpec(
            self._name,
            DIALECT,
            self._source,
            self._data_hash(prepared, n_shots),
            methods,
            len(documents.docs),
            documents.n_there,
            msgspec.json.decode(msgspec.json.encode(recorded, enc_hook=str)),
            find_differences(self._traits(prepared, n_shots), is_faithful=settings.is_faithful),
            family=family,
            chosen={} if prepared.window is None else {"window": prepared.window.to_record},
        )

    @staticmethod
    def _samplings(prepared: PreparedTask, asking: LeapRequestBuilder) -> list[Sampling]:
        """Return the sampling parameters of generated texts, which can differ between requests."""
        wishes = (wish for one in prepared.prepared for wish in one.wishes.every)
        return list(dict.fromkeys(asking.build_sampling(wish) for wish in wishes if wish.writing is not None))

    def _traits(self, prepared: PreparedTask, n_shots: int) -> TaskTraits:
        task = prepared.task
        loaded = task._loaded
        return TaskTraits(
            frozenset(prepared.types),
            has_shots=n_shots > 0,
            is_classic=any(wish.is_classic for one in prepared.prepared for wish in one.wishes.every),
            has_window=prepared.window is not None
            if self._settings.is_faithful
            else self._tools.tokens is not None,
            is_chat_model=self._settings.is_chat,
            options_absent=not task.IN_HF_HUB
            and task.DATA_FILES is not None
            and task.DOWNLOAD_OPTIONS is None,
            files_absent=bool(loaded.absent),
            found_by_paths=bool(loaded.files) and task.IN_HF_HUB,
            request_type_differs=self._has_other_request_type(prepared),
        )

    def _data_hash(self, prepared: PreparedTask, n_shots: int) -> str:
        """Return a hash of the documents, of the sources of examples, and of the code."""
        task = prepared.task
        files = [_file_hash(path) for path in task._loaded.files] if n_shots else []
        pool = (task._training_docs or task._fewshot_docs or ()) if n_shots and not files else ()
        pooled = [digest(repr(one)) for one in pool]
        code = [digest(file.read_bytes()) for file in self._files()]
        return digest((prepared.documents.ids, files, pooled, code), size=16)


def _file_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "blake2b").hexdigest()


def _describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return how a class was read."""
    rows = [
        ("class", settings["class"]),
        *([("about", settings["explain"])] if settings["explain"] else []),
        ("split", settings["split"]),
        ("requests", ", ".join(settings["request_types"])),
        ("metrics", ", ".join(settings["metrics"])),
    ]
    if settings["headline"]:
        rows.append(("headline", settings["headline"]))
    if settings["shots"]:
        rows.append(("shots", f"{settings['shots']}"))
    return tuple(rows)
