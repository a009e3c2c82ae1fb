"""Compile one task: its keys and data, its prompts, its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from assay.core.compilation import Compilation
from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    PlanError,
    Problem,
    Problems,
    describe_exception,
    listing,
    reraise_interrupt,
)
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.task import TaskSettings, TaskSpec
from assay.dialects.lm_eval.arguments import TaskArguments
from assay.dialects.lm_eval.calling import calling_function, describe_error, format_origin
from assay.dialects.lm_eval.config import (
    GENERATE_UNTIL,
    KNOWN_KEYS,
    LOGLIKELIHOOD,
    MULTIPLE_CHOICE,
    ROLLING,
    Generation,
    TaskKeys,
    read_generation,
    read_task_keys,
    resolve_functions,
)
from assay.dialects.lm_eval.contexts import ChatForm, Contexts
from assay.dialects.lm_eval.differences import TaskTraits, find_differences
from assay.dialects.lm_eval.documents import ClassSplits, DataPlaces, DatasetLoader, TaskSplits
from assay.dialects.lm_eval.evaluation import NO_OPTION, ScoringTools, TaskScoring, Thoughts
from assay.dialects.lm_eval.examples import ORIGINAL_SEED, ExamplePool, build_pool
from assay.dialects.lm_eval.functions import AuthorFunctions
from assay.dialects.lm_eval.media import describe_document
from assay.dialects.lm_eval.rendering import Document, DocumentReader, UnreadableValue, find_literal_columns
from assay.dialects.lm_eval.selection import SelectedTask, locate_task
from assay.dialects.lm_eval.task import ClassRequestBuilder, LmEvalTask, PreparedDocument, RequestBuilder
from assay.dialects.lm_eval.task_classes import create_task, loading_with, overrides, read_class_config
from assay.dialects.shared.author_draws import fixed_draws, seeded_draws
from assay.dialects.shared.choices import build_labels
from assay.dialects.shared.row_names import name_rows
from assay.sources.datasets_library import quiet_datasets_library

DIALECT = "lm_eval"
METHOD_CODE = "LMEVAL-007"
_FROM_FUNCTION = "custom_dataset"
"""What the data is called if a function returns it and no path is given."""
ORIGINAL_SEEDS = (0, 1234)
"""What the original seeds `random` and `numpy.random` with."""
_KINDS = {
    MULTIPLE_CHOICE: "choice",
    LOGLIKELIHOOD: "likelihood",
    ROLLING: "text",
    GENERATE_UNTIL: "free answer",
}
_METHODS: dict[str, tuple[Method, ...]] = {
    MULTIPLE_CHOICE: (Method.PPL, Method.PROB),
    LOGLIKELIHOOD: (Method.PPL,),
    ROLLING: (Method.PPL,),
    GENERATE_UNTIL: (Method.GEN,),
}


class TaskCompilation:
    """The compilation of one task."""

    def __init__(
        self,
        source: Sequence[str],
        selected: SelectedTask,
        settings: TaskSettings,
        arguments: TaskArguments,
        places: DataPlaces,
        scoring: ScoringTools,
        functions: AuthorFunctions,
    ) -> None:
        self._source = " ".join(source)
        self._selected = selected
        self._settings = settings
        self._arguments = arguments
        self._scoring = scoring
        self._functions = functions
        self._loader = DatasetLoader(selected.name, locate_task(selected), places)
        self._notes: list[str] = []

    def compile(self, family: str | None) -> Compilation[LmEvalTask]:
        """Read the keys and the data, check every document, and build the task."""
        with self._seed_generators():
            keys, own = self._read_keys()
            splits = TaskSplits(keys, self._loader) if own is None else ClassSplits(own, keys, self._loader)
            if self._settings.is_faithful and isinstance(splits, TaskSplits):
                splits.replay_calls()
            split, docs = splits.load_evaluated_split()
            n_shots = self._resolve_shots(keys)
            examples = splits.examples() if n_shots else ()
        self._notes += self._loader.notes
        reader = DocumentReader(
            _list_columns(docs[0]), keys.where, has_choices=keys.doc_to_choice is not None
        )
        builds_requests = own is not None and overrides(own, "construct_requests")
        has_contexts, has_targets = (
            (False, False) if builds_requests else self._look_at_first(keys, reader, docs[0])
        )
        sampling = Sampling() if keys.generation is None else self._build_sampling(keys.generation)
        sampling, thoughts = self._separate_thoughts(sampling)
        scoring = TaskScoring(
            keys,
            reader,
            self._scoring,
            has_several_contexts=has_contexts,
            has_several_targets=has_targets,
            thoughts=thoughts,
        )
        pool = self._build_pool(keys, examples, n_shots) if n_shots else None
        contexts = Contexts(
            keys, reader, has_several_contexts=has_contexts, system=self._arguments.system_instruction
        )
        builder: RequestBuilder | ClassRequestBuilder
        if builds_requests:
            builder = ClassRequestBuilder(own, keys, contexts, self._read_sampling)
            with calling_function(own.construct_requests, "construct_requests", keys, docs[0], 1):
                methods: tuple[Method, ...] = (builder.find_method(docs[0], examples[:n_shots]),)
            self._resolve_methods(keys, methods)
        else:
            methods = self._resolve_methods(keys, _METHODS[keys.output_type])
            builder = RequestBuilder(
                keys,
                reader,
                contexts,
                chat=ChatForm(self._arguments.fewshot_as_multiturn) if self._is_chat else None,
                scores_white_space=self._settings.is_faithful,
                sampling=sampling,
                has_several_contexts=has_contexts,
                needs_unconditional=scoring.needs_unconditional,
            )
        samples, documents = self._prepare(keys, docs, pool, scoring, reader, builder, methods)
        self._add_remarks(keys, docs[0])
        spec = self._build_spec(
            keys, split, samples, docs, methods, n_shots, examples, scoring, sampling, family
        )
        task = LmEvalTask(spec, samples, documents, scoring, builder, self._selected)
        facts = _describe_settings(spec.settings)
        return Compilation(task, tuple(dict.fromkeys(self._notes)), _KINDS[keys.output_type], facts)

    @property
    def _is_chat(self) -> bool:
        asked, settings = self._arguments.apply_chat_template, self._settings
        return settings.is_chat and not settings.is_faithful if asked is None else asked

    def _read_keys(self) -> tuple[TaskKeys, Any]:
        """Return the keys of the task, and the object of its class if it has one."""
        if "class" not in self._selected.config:
            return read_task_keys(self._selected, self._functions.resolve), None
        config = resolve_functions(self._selected.config, self._functions.resolve)
        cls = config["class"]
        try:
            with loading_with(self._loader.load), quiet_datasets_library():
                own = create_task(cls, config)
                known = read_class_config(own, self._selected.name)
        except AuthorError:
            raise
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            what = f"the class {getattr(cls, '__name__', cls)} raised {describe_exception(error)}"
            what = f"task {self._selected.name!r}: {what}"
            fix = "correct the class, or install what it needs"
            raise AuthorError(Problem("LMEVAL-008", what, fix, locate_task(self._selected))) from error
        known = {key: value for key, value in known.items() if key in KNOWN_KEYS}
        return read_task_keys(self._selected._replace(config=known), self._functions.resolve), own

    def _seed_generators(self) -> AbstractContextManager[Any]:
        """Seed what authors draw with: in a faithful run as the original does at its start."""
        settings = self._settings
        if not settings.is_faithful:
            return seeded_draws(settings.seed, self._selected.name, "rows")
        return fixed_draws(*(ORIGINAL_SEEDS if settings.has_default_seed else (settings.seed,) * 2))

    def _resolve_methods(self, keys: TaskKeys, supported: tuple[Method, ...]) -> tuple[Method, ...]:
        asked = self._settings.methods
        for method in asked or ():
            if method not in supported:
                allowed = f"which supports {listing(supported)}"
                what = f"task {keys.name!r} has output_type {keys.output_type}, {allowed}"
                problem = Problem(
                    METHOD_CODE, f"{what}, not {method!r}", f"use --method {supported[0]}", keys.where
                )
                raise PlanError(problem)
        return tuple(asked) if asked else supported[:1]

    def _resolve_shots(self, keys: TaskKeys) -> int:
        asked = self._settings.shots
        if asked is None:
            return keys.shots
        if keys.has_fixed_shots and asked:
            self._notes.append(
                f"{keys.name}: --shots has no effect, because the task file says num_fewshot: 0"
            )
            return 0
        if keys.output_type == ROLLING and asked:
            self._notes.append(f"{keys.name}: --shots has no effect on whole texts")
            return 0
        return asked

    def _look_at_first(self, keys: TaskKeys, reader: DocumentReader, doc: Document) -> tuple[bool, bool]:
        """Return whether options are contexts, and whether there are several right answers."""
        with calling_function(keys.doc_to_text, "doc_to_text", keys, doc, 1):
            text = reader.read_text(doc, keys.doc_to_text)
        with calling_function(keys.doc_to_target, "doc_to_target", keys, doc, 1):
            target = reader.read_target(doc, keys.doc_to_target)
        is_number = isinstance(text, int) and not isinstance(text, bool)
        return is_number and keys.doc_to_choice is not None, isinstance(target, list | tuple)

    def _build_pool(self, keys: TaskKeys, examples: Sequence[Document], n_shots: int) -> ExamplePool:
        settings, fewshot = self._settings, keys.fewshot
        # Without any of the two splits the original finds them equal, too.
        excludes = fewshot.split == keys.test_split
        if not settings.is_faithful and fewshot.split is None and fewshot.samples is None:
            excludes = keys.training_split is None
        seed = ORIGINAL_SEED if settings.is_faithful and settings.has_default_seed else settings.seed
        return build_pool(
            fewshot.sampler,
            examples,
            n_shots,
            excludes=excludes,
            seed=seed,
            is_faithful=settings.is_faithful,
            task=keys.name,
            where=keys.where,
        )

    def _build_sampling(self, own: Generation) -> Sampling:
        """Return the sampling of a task, changed by the user's settings."""
        settings = self._settings
        temperature = own.temperature if settings.temperature is None else settings.temperature
        return Sampling(
            max_tokens=settings.max_tokens or own.max_tokens,
            temperature=temperature,
            top_p=own.top_p if settings.top_p is None else settings.top_p,
            stop=own.until if settings.stop is None else settings.stop,
            seed=settings.seed if temperature > 0 else None,
        )

    def _separate_thoughts(self, sampling: Sampling) -> tuple[Sampling, Thoughts | None]:
        """Return the sampling of replies that begin with thoughts, which no stop sequence ends."""
        end = self._arguments.think_end_token
        if end is None:
            return sampling, None
        if self._settings.is_faithful:
            return sampling, Thoughts(end)
        return msgspec.structs.replace(sampling, stop=()), Thoughts(end, tuple(sampling.stop))

    def _read_sampling(self, given: Mapping[str, Any]) -> Sampling:
        """Return the sampling of a request that a class builds."""

        def fail(what: str, fix: str) -> None:
            raise UnreadableValue(f"{what}: {fix}")

        return self._build_sampling(read_generation(given, default_until="", add_problem=fail))

    def _prepare(
        self,
        keys: TaskKeys,
        docs: Sequence[Document],
        pool: ExamplePool | None,
        scoring: TaskScoring,
        reader: DocumentReader,
        builder: RequestBuilder | ClassRequestBuilder,
        methods: Sequence[Method],
    ) -> tuple[list[Sample], dict[str, PreparedDocument]]:
        """Build the samples, and check that every document gives requests."""
        fields = [describe_document(doc) for doc in docs]
        ids = name_rows([digest(row) for row in fields])
        limit = self._settings.limit
        chosen = None if limit is None else limit.select_ids(ids, self._settings.seed)
        numbers = self._arguments.choose_documents(keys.name, len(ids))
        if numbers is not None:
            chosen = frozenset(ids[number] for number in numbers)
        samples: list[Sample] = []
        documents: dict[str, PreparedDocument] = {}
        problems: dict[str, Problem] = {}
        for at, id_ in enumerate(ids):
            if chosen is not None and id_ not in chosen:
                continue
            doc, number = docs[at], at + 1
            try:
                examples = () if pool is None else pool.draw(len(samples), doc, id_)
                for method in methods:
                    for _ in builder.build(doc, examples, method):
                        pass
                sample = self._build_sample(keys, doc, id_, fields[at], number, scoring, reader)
            except (UnreadableValue, Exception) as error:  # noqa: BLE001 (authors' code may raise anything)
                problem = (
                    error.problems[0]
                    if isinstance(error, AuthorError)
                    else describe_error(
                        error, _find_function(keys, error), "the task file", keys, doc, number
                    )
                )
                problems.setdefault(problem.what.partition("; the document")[0].partition(": ")[2], problem)
                continue
            samples.append(sample)
            documents[id_] = PreparedDocument(number, doc, examples)
        collected = Problems()
        for problem in problems.values():
            collected.add(problem)
        collected.raise_if_any()
        if keys.output_type == MULTIPLE_CHOICE and keys.process_results is None:
            self._check_golds(keys, samples, documents, scoring)
        return samples, documents

    def _check_golds(
        self,
        keys: TaskKeys,
        samples: Sequence[Sample],
        documents: Mapping[str, PreparedDocument],
        scoring: TaskScoring,
    ) -> None:
        """Report documents without a right option; raise if no document has one."""
        lacking = [sample for sample in samples if not sample.gold]
        if not lacking:
            return
        if len(lacking) < len(samples) or self._settings.is_faithful:
            count = f"{len(lacking):,} of {len(samples):,} documents"
            self._notes.append(f"{keys.name}: {count} have no right option, so they are never right")
            return
        first, key = lacking[0], "doc_to_text" if scoring.has_several_contexts else "doc_to_target"
        found = scoring.read_target(documents[first.id].doc)
        given = f"{key} gives {found!r:.60}, and " if key == "doc_to_target" else ""
        what = (
            f"no document has a right option: in document 1, {given}the options are {listing(first.choices)}"
        )
        fix = f"let {key} give the number of an option, counted from 0, or its text"
        raise AuthorError(Problem("LMEVAL-006", f"task {keys.name!r}: {what}", fix, keys.where))

    def _build_sample(
        self,
        keys: TaskKeys,
        doc: Document,
        id_: str,
        fields: dict[str, Any],
        number: int,
        scoring: TaskScoring,
        reader: DocumentReader,
    ) -> Sample:
        origin = format_origin(keys, number)
        if keys.output_type == MULTIPLE_CHOICE:
            choices = [str(choice) for choice in reader.read_choices(doc, keys.doc_to_choice)]
            gold = scoring.read_gold(doc, choices)
            right = gold if isinstance(gold, list) else [gold]
            return Sample(
                id_,
                fields,
                origin,
                tuple(choices),
                build_labels(len(choices)),
                tuple(one for one in right if one != NO_OPTION),
            )
        target = reader.read_target(doc, keys.doc_to_target)
        if keys.doc_to_choice is not None and isinstance(target, int):
            target = reader.read_choices(doc, keys.doc_to_choice)[target]
        several = target if isinstance(target, list | tuple) else [target]
        targets = tuple(str(one) for one in several if one is not None)
        return Sample(id_, fields, origin, targets=targets if keys.output_type == GENERATE_UNTIL else ())

    def _add_remarks(self, keys: TaskKeys, doc: Any) -> None:
        for key in ("doc_to_text", "doc_to_target"):
            for name in find_literal_columns(getattr(keys, key), _list_columns(doc)):
                self._notes.append(
                    f"{keys.name}: {{{name}}} in {key} is plain text; {{{{{name}}}}} inserts the column"
                )
        if keys.generation is not None and keys.generation.ignored:
            names = listing(keys.generation.ignored)
            self._notes.append(f"{keys.name}: the generation_kwargs {names} are not sent to the model")
        if keys.checks_contamination:
            self._notes.append(f"{keys.name}: should_decontaminate has no effect")

    def _build_spec(
        self,
        keys: TaskKeys,
        split: str,
        samples: Sequence[Sample],
        docs: Sequence[Document],
        methods: tuple[Method, ...],
        n_shots: int,
        examples: Sequence[Document],
        scoring: TaskScoring,
        sampling: Sampling,
        family: str | None,
    ) -> TaskSpec:
        settings = self._settings
        is_cut = settings.limit is not None and settings.limit.is_below(len(docs))
        path, name = keys.dataset_path or _FROM_FUNCTION, keys.dataset_name
        end = self._arguments.think_end_token
        recorded = {
            "file": keys.where.path,
            "version": keys.version,
            "alias": keys.alias,
            "data": f"{path}:{name}" if name else path,
            "split": split,
            "output_type": keys.output_type,
            "metrics": scoring.metric_names,
            "filters": [entry.name for entry in keys.filters],
            "config": digest(_describe_config(self._selected.config), size=16),
            "form": "chat" if self._is_chat else "text",
            "shots": n_shots,
            "repeats": keys.repeats,
            "sampling": sampling if keys.generation is not None else None,
            "fidelity": "faithful" if settings.is_faithful else "corrected",
            "seed": settings.seed,
            "limit": settings.limit if is_cut else None,
            "system": self._arguments.system_instruction,
            "multi_turn": self._arguments.fewshot_as_multiturn if self._is_chat else None,
            **({} if end is None else {"think_end_token": end}),
        }
        traits = TaskTraits(
            keys.output_type,
            draws_shots=n_shots > 0 and keys.fewshot.sampler == "default",
            is_chat=settings.is_chat,
            has_limit=settings.limit is not None,
            runs_programs=keys.is_unsafe,
            has_thoughts=end is not None,
            has_conversations=self._is_chat,
        )
        code = [digest(file.read_bytes()) for file in self._functions.files]
        pool = [digest(describe_document(doc)) for doc in examples]
        return TaskSpec(
            keys.name,
            DIALECT,
            self._source,
            digest(([sample.id for sample in samples], pool, code), size=16),
            methods,
            len(samples),
            len(docs),
            msgspec.json.decode(msgspec.json.encode(recorded, enc_hook=str)),
            find_differences(traits, is_faithful=settings.is_faithful),
            family=family,
        )


def _describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return how the task file was read, for display."""
    facts = [
        ("task file", settings["file"]),
        ("data", settings["data"]),
        ("split", settings["split"]),
        ("output type", settings["output_type"]),
        ("metrics", ", ".join(settings["metrics"])),
    ]
    return (*facts, ("shots", str(settings["shots"]))) if settings["shots"] else tuple(facts)


def _list_columns(doc: Any) -> list[str]:
    return [str(name) for name in doc] if isinstance(doc, Mapping) else []


def _describe_config(config: Mapping[str, Any]) -> str:
    return repr(sorted((key, str(value)) for key, value in config.items()))


def _find_function(keys: TaskKeys, error: BaseException) -> Any:
    """Return the author's function whose file the error passed through."""
    functions = (keys.doc_to_text, keys.doc_to_target, keys.doc_to_choice)
    return next((function for function in functions if callable(function)), None)
