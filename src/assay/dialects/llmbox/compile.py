"""A dataset class and what was asked of it, compiled into tasks: one for each subset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, PlanError, Problem, Problems, UsageError, listing, nearest
from assay.core.ids import digest
from assay.core.origin import Origin
from assay.core.ports import Embedder
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.llmbox.ape import Ape
from assay.dialects.llmbox.authoring import (
    METHOD_OF,
    NO_LIMIT,
    RANKING_TYPES,
    Dataset,
    DatasetArguments,
    ModelView,
    MultipleChoiceDataset,
)
from assay.dialects.llmbox.calling import drawing
from assay.dialects.llmbox.detect import ClassName
from assay.dialects.llmbox.evaluation import references_of
from assay.dialects.llmbox.example_arguments import ExampleArguments, check_arguments, check_dataset
from assay.dialects.llmbox.formatting import letters
from assay.dialects.llmbox.globale import GlobalE
from assay.dialects.llmbox.library.raw_data import RawData
from assay.dialects.llmbox.loading import LoadedClass, load_class
from assay.dialects.llmbox.nearest import Nearest, Vectors
from assay.dialects.llmbox.prepared import ORIGINAL_SEED, Prepared
from assay.dialects.llmbox.quirks import quirks_of
from assay.dialects.llmbox.row_names import named
from assay.dialects.llmbox.selection import chosen_subsets
from assay.dialects.llmbox.task import Asking, ClassTask, Search

DIALECT = "llmbox"
_METHODS = {"get_ppl": "ppl", "get_prob": "prob", "generation": "gen"}
_ORIGINAL_MAX_TOKENS = 1024
_OPTION_MAX_TOKENS = 256
"""A model that answers by a letter and has not done so by then is not going to."""
_ORIGINAL_EXAMPLE_TOKENS = 1024


_SEARCHES = {
    "kate": "each row is shown the examples nearest to it",
    "globale": "the model is asked first which order of the examples serves best",
    "ape": "the model is asked first for an instruction",
}


class ClassArguments(ExampleArguments, frozen=True, forbid_unknown_fields=True):
    """What `--dataset-arg` may say of a dataset class; the names are the original's."""

    ranking_type: str | None = None
    instruction: str | None = None
    evaluation_set: str | None = None
    example_set: str | None = None
    dataset_path: str | None = None
    max_example_tokens: int | None = None
    pass_at_k: int | None = None
    system_prompt: str | None = None


class Tools(NamedTuple):
    """What the app hands over: parts of other rooms, and the model as far as a dataset may see it."""

    metrics: Mapping[str, Any]
    """The classes that authors import as metrics."""
    raw_data: RawData
    model: ModelView
    open_embedder: Callable[[str | None], Embedder]
    """Opens the sentence encoder in a folder; None is the one that comes along."""


class CompiledClass(msgspec.Struct, frozen=True):
    """One subset's task, and what a person should see of it."""

    task: ClassTask
    notes: tuple[str, ...]
    class_name: str
    kind: str

    def facts(self) -> list[tuple[str, str]]:
        """Return in words how the dataset was understood."""
        settings = self.task.spec.settings
        metrics = ", ".join(name.partition("(")[0] for name in settings["metrics"])
        rows = [("class", self.class_name), ("metrics", metrics or "none")]
        if settings["shots"]:
            rows.append(("shots", f"{settings['shots']} of {settings['n_examples']:,} examples"))
        rows += [(way, _SEARCHES[way]) for way in _SEARCHES if way in settings]
        if settings["cot"]:
            rows.append(("cot", settings["cot"]))
        return rows


def compile_classes(name: str, settings: TaskSettings, tools: Tools) -> list[CompiledClass]:
    """Compile `file.py`, `file.py::Class`, `file.py:selection` or `name=file.py`."""
    named = ClassName.of(name)
    asked = _class_arguments(settings.dataset_args)
    loaded = load_class(named.path, tools.metrics, tools.raw_data, named.class_name)
    if named.name is not None:
        loaded = loaded._replace(name=named.name)
    subsets = _subsets(loaded, named.selection, asked, tools.raw_data)
    vectors = Vectors(tools.open_embedder(asked.embedder)) if asked.kate else None
    compiled = []
    for subset in subsets:
        one = _Compilation(name, loaded, subset, settings, asked, tools, vectors).compiled(subsets)
        compiled.append(one)
    return compiled


def _class_arguments(given: Mapping[str, str]) -> ClassArguments:
    known = ClassArguments.__struct_fields__
    for key in given:
        if key not in known:
            raise UsageError(
                Problem(
                    "USAGE-007",
                    f"--dataset-arg {key!r} is not known to dataset classes{nearest(key, known)}",
                    f"use some of {listing(known)}",
                )
            )
    try:
        args = msgspec.convert(dict(given), ClassArguments, strict=False)
    except msgspec.ValidationError as error:
        # Texts fit everywhere but where a number is expected.
        name = str(error).rpartition("$.")[2].rstrip("`")
        what = f"--dataset-arg {name} is {given[name]!r}, expected a whole number"
        raise UsageError(Problem("USAGE-007", what, f"write for example {name}=10")) from error
    if args.ranking_type is not None and args.ranking_type not in RANKING_TYPES:
        what = f"ranking_type is {args.ranking_type!r}{nearest(args.ranking_type, RANKING_TYPES)}"
        raise UsageError(Problem("USAGE-007", what, f"use one of {listing(RANKING_TYPES)}"))
    check_arguments(args)
    return args


def _subsets(
    loaded: LoadedClass, selection: str, asked: ClassArguments, raw_data: RawData
) -> Sequence[str | None]:
    cls = loaded.cls
    load_args = getattr(cls, "load_args", None)
    categories = categories_of(cls)
    banned = getattr(cls, "banned_subsets", None) or ()
    banned = (banned,) if isinstance(banned, str) else tuple(banned)
    own = load_args[1] if load_args is not None and len(load_args) > 1 else None
    if own is not None and not selection:
        return [own]
    known = _known_subsets(loaded, load_args, asked, raw_data)
    chosen = chosen_subsets(selection, known, dataset=loaded.name, categories=categories, banned=banned)
    return chosen or [None]


def _known_subsets(
    loaded: LoadedClass, load_args: Any, asked: ClassArguments, raw_data: RawData
) -> Sequence[str]:
    try:
        return raw_data.subsets(
            loaded.name, load_args, split=asked.evaluation_set or loaded.cls.evaluation_set
        )
    except AuthorError:
        # A class that loads its rows in its own way needs no dataset of that name.
        if loaded.cls.load_raw_dataset is Dataset.load_raw_dataset:
            raise
        return []


def categories_of(cls: type[Dataset]) -> Mapping[str, Sequence[str]] | None:
    """Return the subsets of each category, by either of the document's two spellings."""
    found = getattr(cls, "categorized_subsets", None) or getattr(cls, "category_subsets", None)
    return found if isinstance(found, Mapping) else None


class _Compilation:
    """One subset on its way to a task."""

    def __init__(
        self,
        source: str,
        loaded: LoadedClass,
        subset: str | None,
        settings: TaskSettings,
        asked: ClassArguments,
        tools: Tools,
        vectors: Vectors | None = None,
    ) -> None:
        self._source = source
        self._vectors = vectors
        self._loaded = loaded
        self._author = loaded.author
        self._subset = subset
        self._settings = settings
        self._asked = asked
        self._tools = tools
        self._notes: list[str] = list(loaded.notes)
        self._name = loaded.name if subset is None else f"{loaded.name}:{subset}"

    def compiled(self, subsets: Sequence[str | None]) -> CompiledClass:
        """Make the author's object for each method, format its rows, and put the task together.

        `subsets`: all that were chosen, this one among them.
        """
        methods = self._methods()
        prepared: dict[str, Prepared] = {}
        samples: list[Sample] = []
        raw_hash = ""
        for method in methods:
            dataset = self._dataset(method)
            rows = [_plain(row) for row in dataset.evaluation_data]
            n_rows = len(rows)
            numbers = self._kept(ids := named([digest(row) for row in rows]))
            ids, rows = [ids[at] for at in numbers], [rows[at] for at in numbers]
            dataset.evaluation_data = [dataset.evaluation_data[at] for at in numbers]
            pool = dataset.example_data if dataset.max_num_shots or self._asked.ape else []
            example_ids = [digest(_plain(row)) for row in pool]
            raw_hash = digest((ids, example_ids, _file_hash(self._author.path)), size=16)
            self._check_pool(dataset)
            check_dataset(self._asked, dataset, self._settings.shots)
            one = Prepared(
                dataset,
                self._author,
                ids,
                example_ids,
                task=self._name,
                seed=ORIGINAL_SEED if self._settings.is_faithful else self._settings.seed,
                is_faithful=self._settings.is_faithful,
                numbers=numbers,
                choose=self._nearest if self._asked.kate else None,
            )
            self._check_method(one, method)
            prepared[method] = one
            samples = self._samples(one, rows, samples)
        first = next(iter(prepared.values()))
        sampling = self._sampling(prepared.get("gen", first).dataset)
        asking = Asking(
            self._settings.is_chat,
            self._settings.is_faithful,
            self._asked.system_prompt,
            {"gen": sampling},
            self._settings.score_by,
        )
        spec = self._spec(methods, prepared, sampling, samples, n_rows, raw_hash, subsets)
        kinds = {"ranking": "choice", "generation": "free answer", "perplexity": "text"}
        self._notes += [note for one in prepared.values() for note in one.dataset.args.notes]
        return CompiledClass(
            ClassTask(spec, samples, prepared, asking, self._searches(prepared, asking)),
            tuple(dict.fromkeys(self._notes)),
            self._author.class_name,
            kinds[first.dataset.evaluation_type],
        )

    def _methods(self) -> tuple[str, ...]:
        kind = getattr(self._loaded.cls, "evaluation_type", None)
        can = {"ranking": ("ppl", "prob", "gen"), "generation": ("gen",), "perplexity": ("ppl",)}.get(
            kind or ""
        )
        if can is None:
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-002",
                    "it extends Dataset alone, so it is not known how to evaluate it",
                    "extend MultipleChoiceDataset or GenerationDataset",
                )
            )
        named = None if self._asked.ranking_type is None else _METHODS[METHOD_OF[self._asked.ranking_type]]
        asked = self._settings.methods or ((named,) if named and kind == "ranking" else (can[0],))
        for method in asked:
            if method not in can:
                raise self._refused(
                    f"method {method!r} was asked for; such a dataset is evaluated by {listing(can)}", can[0]
                )
        if self._settings.samples > 1 and tuple(asked) != ("gen",):
            raise self._refused(
                f"{self._settings.samples} samples need generated answers, not {listing(asked)}", "gen"
            )
        return tuple(dict.fromkeys(asked))

    def _refused(self, what: str, method: str) -> PlanError:
        return PlanError(self._author.problem("LLMBOX-009", what, f"use --method {method}"))

    def _dataset(self, method: str) -> Dataset:
        """Make the author's object, which loads its rows."""
        ranking = {"ppl": "ppl_no_option", "prob": "prob", "gen": "generation"}[method]
        if method == "ppl" and self._asked.ranking_type in ("ppl", "ppl_no_option"):
            ranking = self._asked.ranking_type
        faithful = self._settings.is_faithful
        args = DatasetArguments(
            dataset_path=self._asked.dataset_path,
            evaluation_set=self._asked.evaluation_set,
            example_set=self._asked.example_set,
            instruction=self._asked.instruction,
            num_shots=self._settings.shots,
            max_example_tokens=self._asked.max_example_tokens
            or (_ORIGINAL_EXAMPLE_TOKENS if faithful else NO_LIMIT),
            ranking_type=ranking,
            sample_num=self._settings.samples,
            pass_at_k=self._asked.pass_at_k,
            cot=self._settings.cot,
            kate=self._asked.kate,
            globale=self._asked.globale,
            ape=self._asked.ape,
            default_metrics=self._default_metrics(),
            load_rows=self._load_rows,
        )
        with self._author.calling("the class"), drawing(self._settings.seed, self._name, "rows"):
            dataset = self._loaded.cls(self._loaded.name, args, self._tools.model, self._subset)
        dataset.evaluation_data = self._checked_rows(dataset.evaluation_data, "evaluation_data")
        dataset.example_data = self._checked_rows(dataset.example_data, "example_data")
        if not dataset.evaluation_data:
            raise AuthorError(
                self._author.problem("LLMBOX-007", "evaluation_data is empty", "load at least one row")
            )
        self._check_metrics(dataset)
        for metric in dataset.metrics:
            if method == "ppl" and dataset.use_normalization and _is_plain_accuracy(metric):
                metric.tag = "Norm" if metric.tag is None else metric.tag
            setup = getattr(metric, "setup_metric", None)
            if setup is not None:
                with self._author.calling("setup_metric"):
                    setup(self._tools.model, args, None, dataset)
            check_plan = getattr(metric, "check_plan", None)
            if check_plan is not None:
                check_plan(self._settings.samples)
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
            if not is_example or dataset.max_num_shots or self._asked.ape:
                raise
            dataset.args.notes.append(
                f"no examples were loaded, and none are shown: {error.problems[0].what}"
            )
            return []
        return rows

    def _checked_rows(self, rows: Any, name: str) -> list[dict[str, Any]]:
        listed = list(rows)
        for number, row in enumerate(listed):
            if not isinstance(row, dict):
                raise AuthorError(
                    self._author.problem(
                        "LLMBOX-003",
                        f"{name} holds {type(row).__name__}, expected a dict for each row",
                        f"set self.{name} to a list of dicts in load_raw_dataset",
                        rows=(number + 1,),
                    )
                )
        return listed

    def _check_metrics(self, dataset: Dataset) -> None:
        for metric in dataset.metrics:
            if not callable(metric) or isinstance(metric, type):
                raise AuthorError(
                    self._author.problem(
                        "LLMBOX-011",
                        f"metrics holds {_seen(metric)}, expected an object that can be called",
                        f"write {metric.__name__}()"
                        if isinstance(metric, type)
                        else "write metrics = [Accuracy()]",
                    )
                )
        if not dataset.metrics:
            self._notes.append("the class names no metrics: predictions are kept, nothing is scored")

    def _kept(self, ids: Sequence[str]) -> list[int]:
        """Return which rows are evaluated: all, or those that the limit leaves."""
        limit = self._settings.limit
        if limit is None:
            return list(range(len(ids)))
        chosen = limit.chosen(ids, self._settings.seed)
        return [at for at, sample_id in enumerate(ids) if sample_id in chosen]

    def _check_pool(self, dataset: Dataset) -> None:
        if not dataset.max_num_shots or type(dataset).construct_examples is not Dataset.construct_examples:
            return
        n = len(dataset.example_data)
        if not n:
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-007",
                    f"{dataset.max_num_shots} shots were asked for, but there are no examples",
                    "set example_set, or self.example_data in load_raw_dataset; or ask for --shots 0",
                )
            )
        if n < dataset.max_num_shots:
            self._notes.append(f"{dataset.max_num_shots} shots were asked for; there are {n} examples")

    def _nearest(self, prepared: Prepared) -> Nearest:
        """Return the choice of examples by KATE; the whole pool is formatted for it."""
        assert self._vectors is not None
        is_first = self._kate_order == "nearest_first"
        return Nearest(prepared.pool_questions(), prepared.questions, self._vectors, nearest_first=is_first)

    @property
    def _kate_order(self) -> str:
        """Where the nearest example stands: by default next to the question, in the original furthest."""
        return self._asked.kate_order or ("nearest_first" if self._settings.is_faithful else "nearest_last")

    def _check_method(self, one: Prepared, method: str) -> None:
        dataset = one.dataset
        if _METHODS[dataset.model_evaluation_method] != method:
            does = _METHODS[dataset.model_evaluation_method]
            raise self._refused(
                f"method {method!r} was asked for, but the class itself changes to {does!r}", does
            )
        contexts = next((at for at, row in enumerate(one.instances) if row.has_contexts), None)
        if contexts is not None and method != "ppl":
            raise self._refused(
                f"row {one.numbers[contexts] + 1} has several contexts, which only method 'ppl' compares",
                "ppl",
            )
        if dataset.evaluation_type == "ranking" and contexts is None:
            for at, row in enumerate(one.instances):
                if not row.options:
                    raise AuthorError(
                        self._author.problem(
                            "LLMBOX-004",
                            "format_instance returned no options",
                            "return options=[...] and target_idx, or several sources and source_idx",
                            rows=(one.numbers[at] + 1,),
                        )
                    )
        if method == "ppl" and dataset.use_normalization and not hasattr(dataset, "normalization_prompt"):
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-011",
                    "use_normalization is set, but there is no normalization_prompt",
                    'set normalization_prompt = "Question: \\nAnswer:", the prompt without the question',
                )
            )

    def _samples(self, one: Prepared, rows: Sequence[Any], known: list[Sample]) -> list[Sample]:
        """Return the samples; those of the first method, as all methods share them."""
        references = references_of(one)
        self._check_references(one, references)
        if known:
            return known
        dataset = one.dataset
        made = []
        for number, (sample_id, fields) in enumerate(zip(one.index, rows, strict=True)):
            row = one.instances[number]
            reference = references[number]
            options = row.choices if dataset.evaluation_type == "ranking" else ()
            # Beside the index of an option, which options are right is the metric's to say.
            gold = (
                (int(reference),)
                if options and _is_index(reference) and 0 <= reference < len(options)
                else ()
            )
            made.append(
                Sample(
                    sample_id,
                    fields,
                    Origin(str(self._author.path), row=one.numbers[number] + 1),
                    choices=options,
                    labels=letters(len(options)),
                    gold=gold,
                    targets=() if options else _texts(reference),
                    group=self._group(dataset, {**dataset.evaluation_data[number], **fields}),
                )
            )
        return made

    def _group(self, dataset: Dataset, fields: Any) -> str | None:
        column = dataset.category_column
        if column is None:
            return None
        if column not in fields:
            raise AuthorError(
                self._author.problem(
                    "LLMBOX-011",
                    f"category_column is {column!r}, which the rows do not have{nearest(column, fields)}",
                    f"name one of {listing(fields)}",
                )
            )
        return str(fields[column])

    def _check_references(self, one: Prepared, references: Sequence[Any]) -> None:
        """Find references that no prediction could equal: the answer to a choice is an option's index."""
        if one.dataset.evaluation_type != "ranking" or any(
            not _is_plain_accuracy(m) for m in one.dataset.metrics
        ):
            return
        problems = Problems()
        for number, reference in enumerate(references):
            n_options = one.dataset.option_nums[number]
            if reference is None or (_is_index(reference) and 0 <= int(reference) < n_options):
                continue
            fix = f"return an index from 0 to {n_options - 1}"
            if not _is_index(reference):
                fix = 'return indexes, for a letter: ord(letter) - ord("A")'
            what = f"references gives {reference!r:.60}, expected the index of one of the {n_options} options"
            rows = (one.numbers[number] + 1,)
            problems.add(self._author.problem("LLMBOX-006", what, fix, rows=rows))
        problems.raise_if_any()

    def _sampling(self, dataset: Dataset) -> Sampling:
        settings, given = self._settings, dict(dataset.extra_model_args)
        is_choice = dataset.evaluation_type == "ranking"
        default = _OPTION_MAX_TOKENS if is_choice and not settings.is_faithful else _ORIGINAL_MAX_TOKENS
        max_tokens = given.pop("max_tokens", None) or given.pop("max_new_tokens", None) or default
        stop = given.pop("stop", None) or ()
        temperature = given.pop("temperature", None)
        top_p = given.pop("top_p", None)
        given.pop("multi_turn", None)
        if given:
            self._notes.append(f"extra_model_args {listing(given)} are not sent to the model")
        if settings.temperature is not None:
            temperature = settings.temperature
        if settings.samples > 1 and not temperature:
            temperature = 1.0
            self._notes.append("several samples at temperature 0 would be the same: temperature 1 is used")
        temperature = float(temperature or 0.0)
        return Sampling(
            max_tokens=settings.max_tokens or int(max_tokens),
            temperature=temperature,
            top_p=float(settings.top_p if settings.top_p is not None else top_p or 1.0),
            stop=settings.stop
            if settings.stop is not None
            else ((stop,) if isinstance(stop, str) else tuple(stop)),
            seed=settings.seed if temperature > 0 else None,
            n=settings.samples,
        )

    def _searched(self) -> dict[str, Any]:
        """Return what decides how examples and instruction are found, for those ways that were asked for."""
        asked, made = self._asked, dict[str, Any]()
        if asked.kate and self._vectors is not None:
            made["kate"] = {"order": self._kate_order, "embedder": self._vectors.embedder.identity()}
        for way in ("globale", "ape"):
            if getattr(asked, way):
                sizes = (name for name in asked.__struct_fields__ if name.startswith(f"{way}_"))
                made[way] = {name.partition("_")[2]: getattr(asked, name) for name in sizes}
        return made

    def _searches(self, prepared: Mapping[str, Prepared], asking: Asking) -> list[Search]:
        """Return what has to be asked before the samples: the instruction, then the order below it."""
        asked, seed = self._asked, self._settings.seed
        made: list[Search] = []
        if asked.ape:
            made.append(Ape(self._name, prepared, asking, asked, seed=seed))
        if asked.globale:
            for method, one in prepared.items():
                made.append(GlobalE(self._name, method, one, asking, asked, seed=seed))
        return made

    def _spec(
        self,
        methods: tuple[str, ...],
        prepared: Mapping[str, Prepared],
        sampling: Sampling,
        samples: Sequence[Sample],
        n_rows: int,
        raw_hash: str,
        subsets: Sequence[str | None],
    ) -> TaskSpec:
        first = next(iter(prepared.values()))
        dataset, settings = first.dataset, self._settings
        recorded = {
            "class": self._author.class_name,
            "metrics": [_described(metric) for metric in dataset.metrics],
            "instruction": dataset.instruction,
            "ranking": {method: one.dataset.ranking_type for method, one in prepared.items()},
            "form": "chat" if settings.is_chat else "text",
            "shots": settings.shots,
            "n_examples": len(dataset.example_data),
            "max_example_tokens": None
            if dataset.max_example_tokens == NO_LIMIT
            else dataset.max_example_tokens,
            "cot": dataset.cot,
            "system_prompt": self._asked.system_prompt,
            "normalization": getattr(dataset, "normalization_prompt", None)
            if dataset.use_normalization
            else None,
            "sampling": sampling if "gen" in methods else None,
            "pass_at_k": self._asked.pass_at_k,
            "score_by": settings.score_by,
            "fidelity": "faithful" if settings.is_faithful else "corrected",
            "seed": settings.seed,
            "limit": settings.limit,
            **self._searched(),
        }
        categories = categories_of(self._loaded.cls) or {}
        return TaskSpec(
            self._name,
            DIALECT,
            self._source,
            raw_hash,
            methods,
            len(samples),
            n_rows,
            msgspec.json.decode(msgspec.json.encode(recorded)),
            quirks_of(first, methods, is_faithful=settings.is_faithful, has_shots=bool(settings.shots)),
            family=self._loaded.name if len(subsets) > 1 else None,
            # A mean over a part of a category would pass for one over all of it.
            categories=tuple(
                name
                for name, members in categories.items()
                if self._subset in members and set(members) <= set(subsets)
            ),
        )


def _seen(metric: Any) -> str:
    return f"the class {metric.__name__}" if isinstance(metric, type) else repr(metric)


def _described(metric: Any) -> str:
    """Return a metric by its name and what it was made with."""
    made = ", ".join(
        f"{name}={value!r}"
        for name, value in vars(metric).items()
        if not name.startswith("_") and isinstance(value, (str, int, float))
    )
    return f"{type(metric).__name__}({made})"


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as plain data that can be stored; also a copy that the author's code does not change."""
    plain: dict[str, Any] = msgspec.to_builtins(row, enc_hook=_stored, str_keys=True)
    return plain


def _stored(value: Any) -> Any:
    """Return plain data for another library's numbers and arrays, and a text for anything else."""
    listed = getattr(value, "tolist", None)
    return listed() if callable(listed) else str(value)


def _file_hash(path: Path) -> str:
    return digest(path.read_bytes())


def _is_index(value: Any) -> bool:
    return isinstance(value.item() if hasattr(value, "item") else value, int)


def _is_plain_accuracy(metric: Any) -> bool:
    return type(metric).__name__ == "Accuracy"


def _texts(reference: Any) -> tuple[str, ...]:
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, (list, tuple)) and all(isinstance(one, str) for one in reference):
        return tuple(reference)
    return ()
