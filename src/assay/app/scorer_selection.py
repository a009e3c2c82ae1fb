"""Choose the scorers of a rescoring: those of the run, with a person's choices applied.

Every choice is checked against the run's requests and samples before anything is scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assay.app.metric_selection import (
    OWN_PREFIX,
    ReportedMetrics,
    build_metric_specs,
    check_metrics,
    select_own_metrics,
)
from assay.app.settings import hide_secrets
from assay.app.stored_tasks import MethodRequests, StoredTask
from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.request import Kind
from assay.core.run import RunManifest
from assay.core.task import ComponentSpec
from assay.scoring.judges.agreement import unknown_fields
from assay.scoring.scorers.extractors import find_extractor, is_postprocessor
from assay.scoring.scorers.response_outcomes import ACCURACY

JUDGE_METRIC = "gpt4_eval"
"""The metric that asks a judge whether an answer agrees with the reference."""
_OF_OPTIONS = "qa_match"
_BY_JUDGE = "judge"
"""The way of matching that asks a judge."""
_WITHOUT_TARGETS = ("function_execution", JUDGE_METRIC)
"""Metrics that need no reference text: programs have tests, and a judge gets the right option."""


class ScoringChoices(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's choices; empty: score as the run was scored."""

    extract: str | None = None
    metrics: tuple[str, ...] = ()
    """The first is the headline, the others are reported as well. `own:NAME`: from the dataset's own code."""
    metric_args: dict[str, str] = {}
    """By argument name, or `METRIC.NAME`."""
    score_by: str | None = None
    match: str | None = None
    """What makes a free answer right."""
    several_right: str | None = None
    """What makes an answer right if several options are right."""
    judge: str | None = None
    judge_args: dict[str, str] = {}
    judge_prompt: str | None = None
    """The judge's prompt, with `{answer}`, `{reference}` and fields of the row."""
    methods: tuple[str, ...] = ()
    """The methods that the choices apply to; empty: all that fit."""
    tasks: tuple[str, ...] = ()

    def to_manifest(self) -> dict[str, Any]:
        """Return the choices for the manifest, without secrets."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        if "judge_args" in plain:
            plain["judge_args"] = hide_secrets(self.judge_args)
        return plain

    @property
    def uses_own_metrics(self) -> bool:
        """Return whether the metrics come from the dataset's own code."""
        return any(name.startswith(OWN_PREFIX) for name in self.metrics)

    @property
    def about_text(self) -> dict[str, Any]:
        """Return the choices about generated text, by flag."""
        named = {
            "--extract": self.extract,
            "--metric": self.metrics,
            "--match": self.match,
            "--several-right": self.several_right,
            "--judge": self.judge,
            "--judge-prompt": self.judge_prompt,
        }
        return {flag: value for flag, value in named.items() if value}


class ExtractorNames(NamedTuple):
    """The extractors that `--extract` can name."""

    own: dict[str, str]
    """Assay's own, with a description."""
    post_processors: tuple[str, ...]
    """The post-processors of configs."""


def list_extractors() -> ExtractorNames:
    """Return the extractors by name."""
    from assay.scoring.originals.opencompass.postprocess.registry import POSTPROCESSORS
    from assay.scoring.scorers.extractors import OWN_EXTRACTORS, PATTERNS

    own = {name: description for name, (_, description) in OWN_EXTRACTORS.items()}
    return ExtractorNames({**own, **PATTERNS}, tuple(POSTPROCESSORS))


class ScoringPlan(NamedTuple):
    """The scorer of each method of each task."""

    named: dict[tuple[str, str], ComponentSpec]
    """By task and method."""
    by_author: dict[tuple[str, str], tuple[str, ...]]
    """Those scored by the dataset author's code, with the chosen metrics; empty: all of its metrics."""
    notes: tuple[str, ...]


def plan_scoring(
    manifest: RunManifest, tasks: Mapping[str, StoredTask], choices: ScoringChoices, known: ReportedMetrics
) -> ScoringPlan:
    """Return how to score the answers of a run with some choices; raise UsageError if they do not fit.

    `known`: the metrics that the run itself reports.
    """
    _check_names(choices)
    _check_combination(choices)
    named: dict[tuple[str, str], ComponentSpec] = {}
    by_author: dict[tuple[str, str], tuple[str, ...]] = {}
    notes: list[str] = []
    chosen = set(_select_places(tasks, choices))
    is_used = dict.fromkeys(choices.about_text, False) | (
        {"--score-by": False} if choices.score_by is not None else {}
    )
    for name, task in tasks.items():
        own = {spec.args.get("track"): spec for spec in manifest.scorers.get(name, ())}
        for method in task.spec.methods:
            place, before = (name, method), own.get(method)
            track = _TrackScoring(task, method, before, is_judged=manifest.judge is not None)
            spec = before
            if place in chosen:
                spec, used = track.select_scorer(choices)
                is_used |= dict.fromkeys(used, True)
                if used and before is None and spec is not None:
                    notes.append(f"{name} {method}: not scored by its dataset's own code in this scoring")
            if spec is None:
                by_author[place] = ()
            else:
                named[place] = spec
    if choices.uses_own_metrics:
        by_author |= select_own_metrics(
            choices.metrics, [place for place in by_author if place in chosen], known
        )
        is_used["--metric"] = any(by_author.values())
    if idle := [flag for flag, one in is_used.items() if not one]:
        raise _unused_choice_error(idle, chosen, are_own=choices.uses_own_metrics)
    return ScoringPlan(named, by_author, tuple(notes))


def _check_names(choices: ScoringChoices) -> None:
    if choices.extract is not None:
        try:
            find_extractor(choices.extract)
        except ValueError as error:
            raise UsageError(
                Problem("RESCORE-002", str(error), "`assay score --list` lists the extractors")
            ) from error
    check_metrics(choices.metrics, choices.metric_args)


def _check_combination(choices: ScoringChoices) -> None:
    """Raise if choices contradict each other or one needs another."""
    asks = JUDGE_METRIC in choices.metrics or (choices.uses_own_metrics and choices.judge_prompt is None)
    if choices.metrics and (choices.judge or choices.judge_prompt) and not asks:
        what = f"--judge or --judge-prompt is set, but {listing(choices.metrics)} uses no judge"
        raise UsageError(Problem("RESCORE-008", what, f"remove --metric, or add --metric {JUDGE_METRIC}"))
    if choices.metrics and (choices.match or choices.several_right):
        flag = "--match" if choices.match else "--several-right"
        what = f"--metric {choices.metrics[0]} and {flag} both define what makes an answer right"
        raise UsageError(Problem("RESCORE-003", what, "remove one of them"))
    if (choices.judge or choices.judge_prompt) and choices.match not in (None, _BY_JUDGE):
        what = f"--judge or --judge-prompt is set, but --match {choices.match} uses no judge"
        raise UsageError(Problem("RESCORE-008", what, "use --match judge, or remove --judge"))
    if choices.uses_own_metrics and choices.extract is not None:
        what = f"--extract {choices.extract}: the dataset's own code reads answers for {choices.metrics[0]}"
        raise UsageError(Problem("RESCORE-003", what, "remove --extract, or choose another metric"))
    if choices.judge_args and choices.judge is None:
        what = f"--judge-arg is set ({listing(choices.judge_args)}), but no judge is named"
        raise UsageError(Problem("RESCORE-008", what, "name one: --judge MODEL"))
    if (choices.tasks or choices.methods) and not (choices.about_text or choices.score_by):
        what = "--task and --method limit a new scoring, but nothing about the scoring is changed"
        fix = "add one, such as --metric or --extract; or remove them to score everything as the run did"
        raise UsageError(Problem("RESCORE-004", what, fix))


def _select_places(tasks: Mapping[str, StoredTask], choices: ScoringChoices) -> Iterator[tuple[str, str]]:
    """Yield the tasks and methods that the choices apply to."""
    families = {task.spec.family for task in tasks.values() if task.spec.family is not None}
    methods = dict.fromkeys(method for task in tasks.values() for method in task.spec.methods)
    for noun, given, known in (
        ("task", choices.tasks, [*tasks, *families]),
        ("method", choices.methods, list(methods)),
    ):
        for name in given:
            if name not in known:
                what = f"the run has no {noun} {name!r}{suggest_name(name, known)}; it has {listing(known)}"
                raise UsageError(
                    Problem("RESCORE-004", what, f"name a {noun} of the run, or remove --{noun}")
                )
    for name, task in tasks.items():
        if not choices.tasks or name in choices.tasks or task.spec.family in choices.tasks:
            for method in task.spec.methods:
                if not choices.methods or method in choices.methods:
                    yield name, method


def _unused_choice_error(idle: Sequence[str], chosen: set[tuple[str, str]], *, are_own: bool) -> UsageError:
    needed = "scores options by likelihood" if "--score-by" in idle else "generates text"
    if "--match" in idle or "--several-right" in idle:
        needed = "has free answers" if "--match" in idle else "has options and generates text"
    if are_own and "--metric" in idle:
        needed = "is scored by its dataset's own code"
    there = listing(f"{task} {method}" for task, method in sorted(chosen))
    what = f"{' and '.join(idle)}: no selected method {needed}; selected: {there}"
    fix = "remove it, or choose another --task or --method"
    return UsageError(Problem("RESCORE-004", what, fix))


class _TrackScoring:
    """One method of one task, and its scorer under some choices."""

    def __init__(
        self, task: StoredTask, method: str, before: ComponentSpec | None, *, is_judged: bool
    ) -> None:
        self._task = task
        self._method = method
        self._before = before
        self._is_judged = is_judged
        self._requests = task.method_requests.get(method, MethodRequests(set(), set()))
        self._place = f"{task.spec.name} {method}"

    def select_scorer(self, choices: ScoringChoices) -> tuple[ComponentSpec | None, list[str]]:
        """Return the scorer and the flags that it uses; the run's own scorer if no choice applies."""
        if choices.uses_own_metrics:
            return self._before, list(choices.about_text) if self._before is None else []
        if Kind.GENERATE in self._requests.kinds and "answer" in self._requests.roles:
            about = self._list_relevant_flags(choices)
            return (self._build_text_scorer(choices), about) if about else (self._before, [])
        if (
            choices.score_by is not None
            and "option" in self._requests.roles
            and Kind.SPAN in self._requests.kinds
        ):
            return self._build_option_scorer(choices.score_by), ["--score-by"]
        return self._before, []

    def _list_relevant_flags(self, choices: ScoringChoices) -> list[str]:
        """Return the flags for this method: --match is for free answers, --several-right for options."""
        other = "--match" if self._task.n_with_options else "--several-right"
        return [flag for flag in choices.about_text if flag != other]

    def _build_option_scorer(self, score_by: str) -> ComponentSpec:
        is_own = self._before is not None and self._before.name == "option_likelihood"
        if self._requests.scores_prompts and not is_own:
            what = f"{self._place}: prompt and option were scored together, "
            what += "so the likelihood of the option alone is unknown"
            fix = f"query the model again: assay run {self._task.spec.source} --score-by {score_by}"
            raise UsageError(Problem("RESCORE-005", what, fix))
        if score_by == "pmi" and "unconditional" not in self._requests.roles:
            what = (
                f"{self._place}: pmi needs each option's likelihood without the question, which the run lacks"
            )
            fix = f"query the model again: assay run {self._task.spec.source} --score-by pmi"
            raise UsageError(Problem("RESCORE-005", what, fix))
        return ComponentSpec("option_likelihood", {"track": self._method, "score_by": score_by})

    def _build_text_scorer(self, choices: ScoringChoices) -> ComponentSpec | None:
        if choices.metrics and choices.metrics != (ACCURACY,):
            return self._row_metrics(build_metric_specs(choices.metrics, choices.metric_args), choices)
        if choices.metrics:
            return self._accuracy(choices.extract or "auto", choices)
        if choices.judge or choices.judge_prompt or choices.match == _BY_JUDGE:
            return self._choose_judge_scorer(choices)
        if choices.match or choices.several_right:
            return self._accuracy(choices.extract or "auto", choices)
        if self._before is not None and self._before.name == "row_metrics":
            return self._row_metrics(self._before.args["metrics"], choices)
        return self._accuracy(choices.extract or "auto", choices)

    def _choose_judge_scorer(self, choices: ScoringChoices) -> ComponentSpec | None:
        """Return the scorer if a judge is named but no metric."""
        own = self._before.args.get("metrics", {}) if self._before is not None else {}
        if any(metric.get("type") == JUDGE_METRIC for metric in own.values()):
            return self._row_metrics(own, choices)
        if self._before is None and self._is_judged and not (choices.judge_prompt or choices.extract):
            return None  # The author's own code queries the judge.
        return self._row_metrics({JUDGE_METRIC: {"type": JUDGE_METRIC}}, choices)

    def _accuracy(self, extract: str, choices: ScoringChoices) -> ComponentSpec:
        task = self._task
        if 0 < task.n_with_options < task.spec.n_samples:
            what = (
                f"{self._place}: only {task.n_with_options:,} of {task.spec.n_samples:,} samples have options"
            )
            fix = "choose a metric that compares texts: --metric exact_match"
            raise UsageError(Problem("RESCORE-004", what, fix))
        name = "generated_option" if task.n_with_options else "generated_answer"
        own = "several_right" if task.n_with_options else "match"
        chosen = getattr(choices, own) or (self._before.args.get(own) if self._before is not None else None)
        if own == "several_right" and choices.several_right and not task.n_with_several_right:
            what = f"{self._place}: --several-right needs rows with several right options, but there are none"
            raise UsageError(Problem("RESCORE-004", what, "remove --several-right"))
        args = {"track": self._method, "extract": extract} | ({} if chosen is None else {own: chosen})
        return ComponentSpec(name, args)

    def _row_metrics(
        self, metrics: Mapping[str, Mapping[str, Any]], choices: ScoringChoices
    ) -> ComponentSpec:
        task, types = self._task, [str(metric["type"]) for metric in metrics.values()]
        for name in types:
            if not task.n_with_targets and name not in _WITHOUT_TARGETS:
                what = f"{self._place}: {name} compares texts, but the samples have no reference text"
                fix = f"use --metric {ACCURACY}, which reads options, or a judge: --judge MODEL"
                raise UsageError(Problem("RESCORE-004", what, fix))
            if name == _OF_OPTIONS and not task.n_with_options:
                what = f"{self._place}: {name} looks for options, but the samples have none"
                raise UsageError(Problem("RESCORE-004", what, "choose another metric"))
        if choices.judge_prompt is not None:
            metrics = self._add_judge_prompt(metrics, choices.judge_prompt)
        task.has_option_targets = JUDGE_METRIC in types
        return ComponentSpec(
            "row_metrics",
            {
                "track": self._method,
                "metrics": metrics,
                **self._choose_extraction(choices.extract, types),
                **self._fidelity(),
            },
        )

    def _fidelity(self) -> dict[str, Any]:
        """Return the run's fidelity to the original: a rescoring keeps it."""
        args = {} if self._before is None else self._before.args
        return {"faithful": args["faithful"]} if "faithful" in args else {}

    def _add_judge_prompt(self, metrics: Mapping[str, Mapping[str, Any]], prompt: str) -> dict[str, Any]:
        if unknown := unknown_fields(prompt, self._task.fields or ()):
            known = ["answer", "reference", *sorted(self._task.fields or ())]
            what = f"--judge-prompt names {listing(unknown)}, but {self._place} has only {listing(known)}"
            raise UsageError(Problem("RESCORE-008", what, "correct the name in --judge-prompt"))
        if "{answer}" not in prompt:
            what = "--judge-prompt does not contain {answer}: all answers would get the same judgment"
            raise UsageError(Problem("RESCORE-008", what, "write {answer} where the model's answer belongs"))
        return {
            name: {**metric, "prompt": prompt} if metric["type"] == JUDGE_METRIC else metric
            for name, metric in metrics.items()
        }

    def _choose_extraction(self, extract: str | None, types: Sequence[str]) -> dict[str, Any]:
        """Return how to extract answers: as chosen, else as in the run. A judge reads the whole text."""
        if extract is not None:
            return {"postprocess" if is_postprocessor(extract) else "extract": extract}
        before = self._before
        if before is not None and before.name == "row_metrics":
            return {name: before.args[name] for name in ("postprocess", "extract") if name in before.args}
        if before is None or JUDGE_METRIC in types:
            return {"extract": "whole"}
        return {"extract": before.args.get("extract") or "auto"}
