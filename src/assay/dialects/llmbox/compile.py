"""Compile a dataset class into tasks, one for each subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from numpy.random import RandomState

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, listing
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.ports import Embedder
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.llmbox.ape import Ape
from assay.dialects.llmbox.arguments import ClassArguments, read_class_arguments
from assay.dialects.llmbox.attributes import check_attributes
from assay.dialects.llmbox.authoring import (
    METHOD_OF,
    NO_LIMIT,
    Dataset,
    DatasetArguments,
    ModelView,
    MultipleChoiceDataset,
)
from assay.dialects.llmbox.checks import (
    METHODS,
    build_method_error,
    check_method,
    check_pool,
    check_references,
    is_plain_accuracy,
    require_rows,
)
from assay.dialects.llmbox.detect import ClassName
from assay.dialects.llmbox.differences import find_differences
from assay.dialects.llmbox.evaluation import read_references
from assay.dialects.llmbox.example_arguments import check_dataset
from assay.dialects.llmbox.formatted_dataset import ORIGINAL_SEED, FormattedDataset
from assay.dialects.llmbox.globale import GlobalE
from assay.dialects.llmbox.library.raw_data import RawData
from assay.dialects.llmbox.loading import LoadedClass, load_class
from assay.dialects.llmbox.nearest import NearestExamples
from assay.dialects.llmbox.samples import build_samples
from assay.dialects.llmbox.sampling import build_sampling, find_stop_tokens
from assay.dialects.llmbox.subsets import find_categories, select_subsets
from assay.dialects.llmbox.task import ClassTask, RequestSettings, Search
from assay.dialects.shared.author_draws import seeded_draws
from assay.dialects.shared.plain_rows import to_plain_row
from assay.dialects.shared.row_names import name_rows
from assay.dialects.shared.similarity import Vectors

DIALECT = "llmbox"
_ORIGINAL_EXAMPLE_TOKENS = 1024


_SEARCHES = {
    "kate": "each row gets the examples most similar to it",
    "globale": "Assay first finds the best order of the examples with the model",
    "ape": "Assay first finds an instruction with the model",
}


class LlmboxTools(NamedTuple):
    """What the application provides: parts of other packages, and the model as a dataset may see it."""

    metrics: Mapping[str, Any]
    """The classes that authors import as metrics."""
    raw_data: RawData
    model: ModelView
    open_embedder: Callable[[str | None], Embedder]
    """Opens the sentence encoder in a folder; None: the bundled one."""
    generators: dict[Method, RandomState]
    """By method: the generator that draws examples in faithful mode, over all datasets of a run.

    The original evaluates with one method and one seeded generator, which its datasets share."""


def compile_classes(name: str, settings: TaskSettings, tools: LlmboxTools) -> list[Compilation[ClassTask]]:
    """Compile `file.py`, `file.py::Class`, `file.py:selection` or `name=file.py`."""
    class_name = ClassName.of(name)
    asked = read_class_arguments(settings.dataset_args)
    loaded = load_class(class_name.path, tools.metrics, tools.raw_data, class_name.class_name)
    check_attributes(loaded.author, loaded.cls)
    if class_name.name is not None:
        loaded = loaded._replace(name=class_name.name)
    notes: list[str] = []
    subsets = select_subsets(loaded, class_name.selection, asked, tools.raw_data, notes)
    loaded = loaded._replace(notes=(*loaded.notes, *notes))
    vectors = Vectors(tools.open_embedder(asked.embedder)) if asked.kate else None
    compiled = []
    for subset in subsets:
        one = _Compilation(name, loaded, subset, settings, asked, tools, vectors).compile(subsets)
        compiled.append(one)
    return compiled


class _Compilation:
    """The compilation of one subset into a task."""

    def __init__(
        self,
        source: str,
        loaded: LoadedClass,
        subset: str | None,
        settings: TaskSettings,
        arguments: ClassArguments,
        tools: LlmboxTools,
        vectors: Vectors | None = None,
    ) -> None:
        self._source = source
        self._vectors = vectors
        self._loaded = loaded
        self._author = loaded.author
        self._subset = subset
        self._settings = settings
        is_originals = settings.is_faithful and settings.has_default_seed
        self._seed = ORIGINAL_SEED if is_originals else settings.seed
        self._n_shots = settings.shots or 0
        self._n_samples = settings.samples or 1
        self._arguments = arguments
        self._tools = tools
        self._model = replace(tools.model, type=arguments.model_type or tools.model.type)
        self._notes: list[str] = list(loaded.notes)
        self._name = loaded.name if subset is None else f"{loaded.name}:{subset}"

    def compile(self, subsets: Sequence[str | None]) -> Compilation[ClassTask]:
        """Create the author's object for each method, format its rows, and build the task.

        `subsets`: all selected subsets, including this one.
        """
        methods = self._methods()
        prepared: dict[Method, FormattedDataset] = {}
        samples: list[Sample] = []
        raw_hash = ""
        for method in methods:
            dataset = self._dataset(method)
            rows = [to_plain_row(row) for row in dataset.evaluation_data]
            n_rows = len(rows)
            numbers = self._select_positions(ids := name_rows([digest(row) for row in rows]))
            ids, rows = [ids[at] for at in numbers], [rows[at] for at in numbers]
            dataset.evaluation_data = [dataset.evaluation_data[at] for at in numbers]
            pool = dataset.example_data if dataset.max_num_shots or self._arguments.ape else []
            example_ids = [digest(to_plain_row(row)) for row in pool]
            raw_hash = digest((ids, example_ids, _file_hash(self._author.path)), size=16)
            check_pool(self._author, dataset, self._notes)
            check_dataset(self._arguments, dataset, self._n_shots)
            one = FormattedDataset(
                dataset,
                self._author,
                ids,
                example_ids,
                task=self._name,
                seed=self._seed,
                is_faithful=self._settings.is_faithful,
                numbers=numbers,
                generator=self._tools.generators.setdefault(method, RandomState(self._seed))
                if self._settings.is_faithful
                else None,
                choose=self._choose_nearest if self._arguments.kate else None,
            )
            check_method(one, method)
            prepared[method] = one
            references = read_references(one)
            check_references(one, references)
            # All methods share the samples of the first.
            samples = samples or build_samples(one, rows, references)
        first = next(iter(prepared.values()))
        sampling = build_sampling(prepared.get(Method.GEN, first).dataset, self._settings, self._notes)
        asking = RequestSettings(
            self._settings.is_chat,
            self._settings.is_faithful,
            self._arguments.system_prompt,
            {Method.GEN: sampling},
            self._settings.score_by,
            find_stop_tokens(sampling.stop, self._model, self._notes)
            if self._settings.is_faithful and Method.GEN in methods
            else (),
        )
        spec = self._spec(methods, prepared, sampling, samples, n_rows, raw_hash, subsets)
        kinds = {"ranking": "choice", "generation": "free answer", "perplexity": "text"}
        self._notes += [note for one in prepared.values() for note in one.dataset.args.notes]
        return Compilation(
            ClassTask(spec, samples, prepared, asking, self._searches(prepared, asking)),
            tuple(dict.fromkeys(self._notes)),
            kinds[first.dataset.evaluation_type],
            _describe_settings(spec.settings),
        )

    def _methods(self) -> tuple[Method, ...]:
        kind = getattr(self._loaded.cls, "evaluation_type", None)
        supported = {
            "ranking": (Method.PPL, Method.PROB, Method.GEN),
            "generation": (Method.GEN,),
            "perplexity": (Method.PPL,),
        }.get(kind or "")
        if supported is None:
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-002",
                    "it only extends Dataset, which does not define how to evaluate it",
                    "extend MultipleChoiceDataset or GenerationDataset",
                )
            )
        by_ranking = (
            None if self._arguments.ranking_type is None else METHODS[METHOD_OF[self._arguments.ranking_type]]
        )
        methods = self._settings.methods or (
            (by_ranking,) if by_ranking and kind == "ranking" else (supported[0],)
        )
        for method in methods:
            if method not in supported:
                raise build_method_error(
                    self._author,
                    f"method {method!r} was requested; this kind of dataset supports {listing(supported)}",
                    supported[0],
                )
        if self._n_samples > 1 and tuple(methods) != (Method.GEN,):
            what = f"{self._n_samples} samples need generated answers, not {listing(methods)}"
            raise build_method_error(self._author, what, Method.GEN)
        return tuple(dict.fromkeys(methods))

    def _dataset(self, method: Method) -> Dataset:
        """Create the author's object, which loads its rows."""
        ranking = {Method.PPL: "ppl_no_option", Method.PROB: "prob", Method.GEN: "generation"}[method]
        if method == "ppl" and self._arguments.ranking_type in ("ppl", "ppl_no_option"):
            ranking = self._arguments.ranking_type
        faithful = self._settings.is_faithful
        args = DatasetArguments(
            dataset_path=self._arguments.dataset_path,
            evaluation_set=self._arguments.evaluation_set,
            example_set=self._arguments.example_set,
            instruction=self._arguments.instruction,
            num_shots=self._n_shots,
            max_example_tokens=self._arguments.max_example_tokens
            or (_ORIGINAL_EXAMPLE_TOKENS if faithful else NO_LIMIT),
            ranking_type=ranking,
            sample_num=self._n_samples,
            pass_at_k=self._arguments.pass_at_k,
            cot=self._settings.cot,
            kate=self._arguments.kate,
            globale=self._arguments.globale,
            ape=self._arguments.ape,
            default_metrics=self._default_metrics(),
            load_rows=self._load_rows,
            check=partial(check_attributes, self._author),
        )
        with self._author.convert_errors("the class"), seeded_draws(self._settings.seed, self._name, "rows"):
            dataset = self._loaded.cls(self._loaded.name, args, self._model, self._subset)
        dataset.evaluation_data = require_rows(self._author, dataset.evaluation_data, "evaluation_data")
        dataset.example_data = require_rows(self._author, dataset.example_data, "example_data")
        if not dataset.evaluation_data:
            raise AuthorError(
                self._author.problem("LLMBOX-007", "evaluation_data is empty", "load at least one row")
            )
        # Hooks can have changed what was valid in the class.
        check_attributes(self._author, dataset)
        if not dataset.metrics:
            self._notes.append("the class defines no metrics: predictions are stored, but not scored")
        for metric in dataset.metrics:
            if method == Method.PPL and dataset.use_normalization and is_plain_accuracy(metric):
                metric.tag = "Norm" if metric.tag is None else metric.tag
            setup = getattr(metric, "setup_metric", None)
            if setup is not None:
                with self._author.convert_errors("setup_metric"):
                    setup(self._model, args, None, dataset)
            check_plan = getattr(metric, "check_plan", None)
            if check_plan is not None:
                check_plan(self._n_samples)
        return dataset

    def _default_metrics(self) -> Sequence[Any]:
        is_choice = issubclass(self._loaded.cls, MultipleChoiceDataset)
        return [self._tools.metrics["Accuracy"]()] if is_choice else []

    def _load_rows(
        self,
        dataset: Dataset,
        path: str | None,
        subset: str | None,
        split: str | None,
        *,
        is_example: bool = False,
    ) -> list[dict[str, Any]]:
        load = self._tools.raw_data.get_raw_dataset_loader(
            dataset.dataset_name, path, subset, dataset.load_args, dataset.load_kwargs
        )
        try:
            rows: list[dict[str, Any]] = load(split)
        except AuthorError as error:
            if not is_example or dataset.max_num_shots or self._arguments.ape:
                raise
            dataset.args.notes.append(
                f"no examples were loaded, and the prompts show none: {error.problems[0].what}"
            )
            return []
        return rows

    def _select_positions(self, ids: Sequence[str]) -> list[int]:
        """Return the rows to evaluate: all, or those within the limit."""
        limit = self._settings.limit
        if limit is None:
            return list(range(len(ids)))
        chosen = limit.select_ids(ids, self._settings.seed)
        return [at for at, sample_id in enumerate(ids) if sample_id in chosen]

    def _choose_nearest(self, prepared: FormattedDataset) -> NearestExamples:
        """Return the examples selected by KATE, which formats the whole pool."""
        assert self._vectors is not None
        is_first = self._kate_order == "nearest_first"
        return NearestExamples(
            prepared.pool_questions(), prepared.questions, self._vectors, nearest_first=is_first
        )

    @property
    def _kate_order(self) -> str:
        """The position of the nearest example: next to the question, or as in the original first."""
        return self._arguments.kate_order or (
            "nearest_first" if self._settings.is_faithful else "nearest_last"
        )

    def _record_searches(self) -> dict[str, Any]:
        """Return the settings of the requested searches for examples and instruction."""
        asked, recorded = self._arguments, dict[str, Any]()
        if asked.kate and self._vectors is not None:
            recorded["kate"] = {"order": self._kate_order, "embedder": self._vectors.embedder.identity()}
        for way in ("globale", "ape"):
            if getattr(asked, way):
                sizes = (name for name in asked.__struct_fields__ if name.startswith(f"{way}_"))
                recorded[way] = {name.partition("_")[2]: getattr(asked, name) for name in sizes}
        return recorded

    def _searches(self, prepared: Mapping[Method, FormattedDataset], asking: RequestSettings) -> list[Search]:
        """Return the searches to run before the samples: the instruction, then the order of examples."""
        asked, seed = self._arguments, self._settings.seed
        searches: list[Search] = []
        if asked.ape:
            searches.append(Ape(self._name, prepared, asking, asked, seed=seed))
        if asked.globale:
            for method, dataset in prepared.items():
                searches.append(GlobalE(self._name, method, dataset, asking, asked, seed=seed))
        return searches

    def _spec(
        self,
        methods: tuple[Method, ...],
        prepared: Mapping[Method, FormattedDataset],
        sampling: Sampling,
        samples: Sequence[Sample],
        n_rows: int,
        raw_hash: str,
        subsets: Sequence[str | None],
    ) -> TaskSpec:
        first = next(iter(prepared.values()))
        dataset, settings = first.dataset, self._settings
        is_cut = settings.limit is not None and settings.limit.is_below(n_rows)
        recorded = {
            "class": self._author.class_name,
            "metrics": [_describe_metric(metric) for metric in dataset.metrics],
            "instruction": dataset.instruction,
            "ranking": {method: one.dataset.ranking_type for method, one in prepared.items()},
            "form": "chat" if settings.is_chat else "text",
            "model_type": self._model.type,
            "shots": self._n_shots,
            "n_examples": len(dataset.example_data),
            "max_example_tokens": None
            if dataset.max_example_tokens == NO_LIMIT
            else dataset.max_example_tokens,
            "cot": dataset.cot,
            "system_prompt": self._arguments.system_prompt,
            "normalization": getattr(dataset, "normalization_prompt", None)
            if dataset.use_normalization
            else None,
            "sampling": sampling if Method.GEN in methods else None,
            "pass_at_k": self._arguments.pass_at_k,
            "score_by": settings.score_by,
            "fidelity": "faithful" if settings.is_faithful else "corrected",
            "seed": self._seed,
            "limit": settings.limit if is_cut else None,
            **self._record_searches(),
        }
        # A mean over a part of a category would look like one over the whole category.
        categories = tuple(
            name
            for name, members in (find_categories(self._loaded.cls) or {}).items()
            if self._subset in members and set(members) <= set(subsets)
        )
        return TaskSpec(
            self._name,
            DIALECT,
            self._source,
            raw_hash,
            methods,
            len(samples),
            n_rows,
            msgspec.json.decode(msgspec.json.encode(recorded)),
            find_differences(first, methods, settings),
            family=self._loaded.name if len(subsets) > 1 or categories else None,
            categories=categories,
        )


def _describe_metric(metric: Any) -> str:
    """Return a metric's name and its arguments."""
    arguments = ", ".join(
        f"{name}={value!r}"
        for name, value in vars(metric).items()
        if not name.startswith("_") and isinstance(value, (str, int, float))
    )
    return f"{type(metric).__name__}({arguments})"


def _file_hash(path: Path) -> str:
    return digest(path.read_bytes())


def _describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return how a class was read."""
    metrics = ", ".join(name.partition("(")[0] for name in settings["metrics"])
    rows = [("class", settings["class"]), ("metrics", metrics or "none")]
    if settings["shots"]:
        rows.append(("shots", f"{settings['shots']} of {settings['n_examples']:,} examples"))
    rows += [(way, _SEARCHES[way]) for way in _SEARCHES if way in settings]
    if settings["cot"]:
        rows.append(("cot", settings["cot"]))
    return tuple(rows)
