"""Compile transforms, configs and rows into tasks, one for each data file, and describe them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.compilation import Compilation
from assay.core.difference import Difference
from assay.core.errors import AuthorError, Problem, listing
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Sampling
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, TaskSettings, TaskSpec
from assay.dialects.shared.fewshot import ShotPolicy
from assay.dialects.ultraeval.arguments import TransformArguments, read_transform_arguments
from assay.dialects.ultraeval.collect import CollectedTask, Recipe, collect_tasks, find_recipe_method
from assay.dialects.ultraeval.differences import TransformTraits, find_differences
from assay.dialects.ultraeval.library import PostProcess
from assay.dialects.ultraeval.parameters import build_sampling
from assay.dialects.ultraeval.prompts import Prompts
from assay.dialects.ultraeval.rows import StandardRows
from assay.dialects.ultraeval.script import Script, TransformedRow
from assay.dialects.ultraeval.task import (
    LetterForm,
    MethodPlan,
    PromptPartsSource,
    TransformTask,
    infer_letter_form,
)
from assay.dialects.ultraeval.transformed_rows import (
    NoShots,
    OriginalShots,
    SeededShots,
    TransformRunner,
    build_sample,
)


def describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return names and descriptions, from the settings in the manifest."""
    rows = [
        ("transform", _group_by_method(settings["transform"], _describe_script)),
        ("metrics", _group_by_method(settings["metrics"], _describe_metrics)),
    ]
    if any(settings["shots"].values()):
        rows.append(("shots", f"{_group_by_method(settings['shots'], str)}, from {settings['shots_from']}"))
    return tuple(rows)


def _group_by_method(values: Mapping[str, Any], in_words: Callable[[Any], str]) -> str:
    """Return the description of each method; methods with the same description are grouped."""
    groups: dict[str, list[str]] = {}
    for method, value in values.items():
        groups.setdefault(in_words(value), []).append(method)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{words} for {', '.join(methods)}" for words, methods in groups.items())


def _describe_script(script: Mapping[str, Any]) -> str:
    others = [name for name in script["available"] if name != script["file"]]
    return f"{script['file']} (also available: {', '.join(others)})" if others else str(script["file"])


def _describe_metrics(metrics: Mapping[str, Mapping[str, Any]]) -> str:
    named = [f"{name} ({metric['type']})" for name, metric in metrics.items()]
    return ", ".join(named) or "accuracy"


DIALECT = "ultraeval"
NORMALISED = "general_torch_ppl_norm"
"""The post-processor that divides a sentence's likelihood by its length, as named in configs."""
_MODEL_POSTPROCESSORS = ("general_torch", "general_torch_ppl", NORMALISED)
"""Post-processors of model outputs that are part of the requests here."""


class UltraevalTools(NamedTuple):
    """What the application provides from other packages."""

    postprocessors: Mapping[str, PostProcess]
    """By registered name."""
    corrected: Mapping[str, Difference[object]]
    """Post-processors that differ from the original: the original's behaviour, and Assay's."""


def compile_transforms(
    name: str, settings: TaskSettings, tools: UltraevalTools
) -> list[Compilation[TransformTask]]:
    """Compile a dataset folder, a config or a list of configs, a transform, or a data file."""
    asked = read_transform_arguments(settings.dataset_args)
    written = collect_tasks(name, asked)
    scripts = _Scripts(tools, is_faithful=settings.is_faithful)
    chosen = [(task, _select_methods(task, settings)) for task in written]
    selected = [(task, methods) for task, methods in chosen if methods]
    if not selected:
        raise AuthorError(_build_no_method_problem(name, written, settings))
    families = [task.dataset for task, _ in selected]
    compiled = []
    for task, methods in selected:
        family = task.dataset if families.count(task.dataset) > 1 else None
        compiled.append(_Compilation(name, task, methods, settings, asked, scripts, tools).compile(family))
    return compiled


class _Scripts:
    """Scripts by path: many tasks share one."""

    def __init__(self, tools: UltraevalTools, *, is_faithful: bool) -> None:
        self._tools = tools
        self._is_faithful = is_faithful
        self._loaded: dict[Path, Script] = {}

    def load(self, path: Path) -> Script:
        """Return a script, run once."""
        if path not in self._loaded:
            self._loaded[path] = Script(path, self._tools.postprocessors, is_faithful=self._is_faithful)
        return self._loaded[path]


def _recipe(written: CollectedTask, method: Method) -> Recipe:
    return written.recipes[find_recipe_method(method)]


def _select_methods(written: CollectedTask, settings: TaskSettings) -> tuple[Method, ...]:
    """Return the requested methods that a task defines; generation by default."""
    default = (Method.GEN,) if Method.GEN in written.recipes else (Method.PPL,)
    asked = dict.fromkeys(settings.methods or default)
    return tuple(method for method in asked if find_recipe_method(method) in written.recipes)


def _build_no_method_problem(name: str, written: Sequence[CollectedTask], settings: TaskSettings) -> Problem:
    available = sorted({method for task in written for method in task.recipes})
    requested = listing(settings.methods or ())
    other = Method.PPL if available == [Method.GEN] else Method.GEN
    fix = f"use --method {' or '.join(available)}, or write transform_{other}_v0.py"
    if any(recipe.config for task in written for recipe in task.recipes.values()):
        fix += " and a config for it"
    what = f"method {requested} was requested, but the transforms here are for {listing(available)}"
    return Problem("ULTRAEVAL-007", what, fix, Origin(name))


class _Compilation:
    """The compilation of one task."""

    def __init__(
        self,
        source: str,
        written: CollectedTask,
        methods: tuple[Method, ...],
        settings: TaskSettings,
        arguments: TransformArguments,
        scripts: _Scripts,
        tools: UltraevalTools,
    ) -> None:
        self._source = source
        self._written = written
        self._methods = methods
        self._settings = settings
        self._arguments = arguments
        self._scripts = scripts
        self._tools = tools
        self._notes = [
            f"there is no transform for {method}, so this method is omitted"
            for method in settings.methods or ()
            if method not in methods
        ]
        self._is_chat = settings.is_chat and not settings.is_faithful
        self._draws = False
        needs_options = any(method != Method.GEN for method in methods)
        self._rows = StandardRows.read(written.data, needs_options=needs_options)
        self._has_options = any(row.choices for row in self._rows.rows)
        self._pool = (
            None
            if settings.shots_from is None
            else StandardRows.read(Path(settings.shots_from), needs_options=False)
        )

    def compile(self, family: str | None) -> Compilation[TransformTask]:
        """Transform the rows for each method, and build the task."""
        runners = {method: self._build_runner(method) for method in self._methods}
        transformed = {method: runner.rows(self._rows.rows) for method, runner in runners.items()}
        samples = self._samples(transformed)
        ways = {
            method: self._way(method, runners[method], samples, transformed[method])
            for method in self._methods
        }
        task = TransformTask(self._spec(runners, ways, len(samples), family), samples, ways)
        kind = "choice" if self._has_options else "free answer"
        facts = describe_settings(task.spec.settings)
        return Compilation(task, tuple(dict.fromkeys(self._notes)), kind, facts)

    def _build_runner(self, method: Method) -> TransformRunner:
        recipe = _recipe(self._written, method)
        n_shots = self._settings.shots
        if n_shots is None:
            n_shots = recipe.config.fewshot if recipe.config else 0
        script = self._scripts.load(recipe.version.path)
        full_name = self._written.full_name(method)
        return TransformRunner(script, full_name, n_shots, seed=self._settings.seed)

    def _samples(self, rows_by_method: Mapping[Method, Sequence[TransformedRow]]) -> list[Sample]:
        """Return the rows as samples, with the right answers for generation."""
        written = rows_by_method.get(Method.GEN) or rows_by_method.get(Method.PROB)
        if written is None:
            return [build_sample(row, ()) for row in self._rows.rows]
        return [build_sample(row, one.answers) for row, one in zip(self._rows.rows, written, strict=True)]

    def _way(
        self,
        method: Method,
        transforming: TransformRunner,
        samples: Sequence[Sample],
        rows: Sequence[TransformedRow],
    ) -> MethodPlan:
        recipe = _recipe(self._written, method)
        settings = self._settings
        prompts = Prompts(self._description(recipe), is_chat=self._is_chat, keeps_spaces=settings.is_faithful)
        is_written = method == Method.GEN
        sampling = (
            build_sampling(recipe, settings, self._arguments, self._notes) if is_written else Sampling()
        )
        copies = sampling.n if settings.is_faithful and transforming.n_shots else 1
        parts_of = self._parts_of(transforming, samples, rows, copies)
        self._draws = self._draws or transforming.draws
        return MethodPlan(
            parts_of,
            prompts,
            self._scorer(method),
            n_copies=copies,
            sampling=sampling,
            form=self._form(rows, recipe) if method == Method.PROB else LetterForm("", ""),
            is_whole=method == Method.PPL and settings.score_by is None and not self._is_chat,
            compares_alone=settings.score_by == "pmi",
        )

    def _parts_of(
        self,
        transforming: TransformRunner,
        samples: Sequence[Sample],
        rows: Sequence[TransformedRow],
        copies: int,
    ) -> PromptPartsSource:
        settings = self._settings
        if not transforming.n_shots:
            return NoShots(samples, rows)
        source = str(self._written.data)
        if settings.is_faithful and self._pool is None:
            return OriginalShots(
                transforming, self._rows.rows, rows, seed=settings.seed, n_copies=copies, source=source
            )
        examples = None
        if self._pool is None:
            self._notes.append(
                "examples are other rows of the evaluated file; use --shots-from FILE for another file"
            )
        else:
            pool_made = transforming.rows(self._pool.rows)
            pool = [
                build_sample(row, one.answers) for row, one in zip(self._pool.rows, pool_made, strict=True)
            ]
            examples = pool, pool_made
        policy: ShotPolicy = "random" if self._pool is None else "first"
        if settings.shot_policy is not None:
            policy = "first" if settings.shot_policy == "first" else "random"
        return SeededShots(
            transforming,
            samples,
            rows,
            examples,
            policy=policy,
            seed=settings.seed,
            task=self._written.name,
            source=settings.shots_from or source,
        )

    def _description(self, recipe: Recipe) -> str:
        if self._arguments.description is not None:
            return self._arguments.description
        return recipe.config.description if recipe.config else ""

    def _form(self, rows: Sequence[TransformedRow], recipe: Recipe) -> LetterForm:
        """Return how the outputs spell letters, inferred from rows with one right option."""
        pairs = (
            (one.output, row.labels[row.gold[0]])
            for one, row in zip(rows, self._rows.rows, strict=True)
            if len(row.gold) == 1
        )
        form = infer_letter_form(pairs)
        if form is None:
            what = "prob compares the letters of the options, but the transform's 'output' is not a letter"
            fix = "return the letter of the right option as 'output', or use --method gen or ppl"
            raise AuthorError(Problem("ULTRAEVAL-007", what, fix, Origin(str(recipe.version.path))))
        return form

    def _postprocess(self, recipe: Recipe) -> str | dict[str, Any]:
        """Return the post-processor as written: a name, or an object with the name as its type."""
        config = recipe.config
        configured = (config.postprocess, config.task_postprocess, config.model_postprocess) if config else ()
        return next((value for value in (*configured, self._arguments.postprocess) if value), "")

    def _postprocess_name(self, recipe: Recipe) -> str:
        value = self._postprocess(recipe)
        return value if isinstance(value, str) else str(value["type"])

    def _metrics(self, method: Method) -> dict[str, dict[str, Any]]:
        """Return the metrics of a method; empty if its answers are scored by the default for their form."""
        recipe = _recipe(self._written, method)
        written = recipe.config.metrics() if recipe.config else {}
        if method == Method.PROB or (method == Method.PPL and self._settings.score_by is not None):
            return {}
        if method == Method.PPL:
            return written or {"accuracy": {"type": "log_prob", "aggregation": None}}
        has_own = self._postprocess(recipe) not in ("", *_MODEL_POSTPROCESSORS)
        return written or ({"accuracy": {"type": "exact_match", "aggregation": None}} if has_own else {})

    def _scorer(self, method: Method) -> ComponentSpec:
        postprocess = self._postprocess(_recipe(self._written, method))
        metrics, faithful = self._metrics(method), self._settings.is_faithful
        args: dict[str, Any] = {"track": method}
        if method == Method.PROB:
            return ComponentSpec("label_probability", args)
        if method == Method.PPL and not metrics:
            return ComponentSpec("option_likelihood", {**args, "score_by": self._settings.score_by})
        if method == Method.PPL:
            args |= {"metrics": metrics, "normalised": postprocess == NORMALISED, "faithful": faithful}
            return ComponentSpec("sentence_likelihood", args)
        if not metrics:
            usual = "generated_option" if self._has_options else "generated_answer"
            return ComponentSpec(usual, {**args, "faithful": faithful})
        own = "" if postprocess in _MODEL_POSTPROCESSORS else postprocess
        return ComponentSpec(
            "row_metrics", {**args, "metrics": metrics, "postprocess": own, "faithful": faithful}
        )

    def _spec(
        self,
        transformings: Mapping[Method, TransformRunner],
        ways: Mapping[Method, MethodPlan],
        n: int,
        family: str | None,
    ) -> TaskSpec:
        written, settings = self._written, self._settings
        recipes = {method: _recipe(written, method) for method in self._methods}
        recorded = {
            "transform": {
                method: {
                    "file": recipe.version.path.name,
                    "version": recipe.version.name,
                    "available": [version.path.name for version in recipe.available],
                }
                for method, recipe in recipes.items()
            },
            "config": {
                method: recipe.config_path.name for method, recipe in recipes.items() if recipe.config_path
            },
            "full_name": {method: written.full_name(method) for method in self._methods},
            "description": {method: self._description(recipe) for method, recipe in recipes.items()},
            "shots": {method: one.n_shots for method, one in transformings.items()},
            "shots_from": settings.shots_from or "the evaluated file",
            "shot_policy": settings.shot_policy,
            "metrics": {method: self._metrics(method) for method in self._methods},
            "postprocess": {method: self._postprocess(recipe) for method, recipe in recipes.items()},
            "scoring": {
                method: "whole sentence" if way.is_whole else settings.score_by
                for method, way in ways.items()
                if method == Method.PPL
            },
            "sampling": ways[Method.GEN].sampling if Method.GEN in ways else None,
            "form": "chat" if self._is_chat else "text",
            "fidelity": "faithful" if settings.is_faithful else "corrected",
            "seed": settings.seed,
        }
        touched = TransformTraits(
            methods=self._methods,
            has_shots=any(one.n_shots for one in transformings.values()),
            is_chat=settings.is_chat,
            n_samples=ways[Method.GEN].sampling.n if Method.GEN in ways else 1,
            scoring=frozenset(filter(None, map(self._postprocess_name, recipes.values()))).union(
                metric["type"].lower()
                for method in self._methods
                for metric in self._metrics(method).values()
            ),
            names_parameters=Method.GEN in recipes and self._has_named_parameters(recipes[Method.GEN]),
            draws=self._draws,
        )
        return TaskSpec(
            written.name,
            DIALECT,
            self._source,
            self._data_hash(transformings),
            self._methods,
            n,
            n,
            msgspec.json.decode(msgspec.json.encode(recorded)),
            find_differences(touched, self._tools.corrected, is_faithful=settings.is_faithful),
            family=family,
        )

    def _has_named_parameters(self, recipe: Recipe) -> bool:
        named = recipe.config is not None and bool(recipe.config.generate.params)
        return named or self._arguments.params is not None

    def _data_hash(self, transformings: Mapping[Method, TransformRunner]) -> str:
        """Return a hash of the rows and of every script that builds prompts from them."""
        files = sorted({file for one in transformings.values() for file in one.script.files})
        scripts = [digest(file.read_bytes()) for file in files]
        pool = self._pool.data_hash if self._pool else None
        return digest((self._rows.data_hash, scripts, pool), size=16)
