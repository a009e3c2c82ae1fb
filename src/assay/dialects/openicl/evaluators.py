"""The evaluators and post-processors of `eval_cfg`: by name, or an author's own."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

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
from assay.core.origin import Origin
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.author import build_author, check_arguments, check_own_names
from assay.dialects.openicl.authored.code import AuthorCode, find_source_file, get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry, EvalConfig
from assay.dialects.openicl.dataset_rows import Split
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.evaluation import EVALUATION_CODE, EntryScoring, extract_answer
from assay.dialects.openicl.judge_prompts import JUDGE_FIELDS, render_judge_prompt
from assay.dialects.openicl.scoring_parts import JudgeConfig, PairwiseJudgeConfig, PostProcess, ScoringParts
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.shared.plain_rows import LazyRows

_GENERIC_JUDGE, _GRADING_JUDGE, _CASCADE = "GenericLLMEvaluator", "LMEvaluator", "CascadeEvaluator"
_JUDGE_EVALUATORS = (_GENERIC_JUDGE, _GRADING_JUDGE)
_POSTPROCESSOR = "pred_postprocessor"
RIVAL_COLUMNS = ("rival", "prediction2", "output")
"""Columns that may contain the answers of a rival model."""
_PROMPT_ARGUMENT = "origin_prompt"
"""The parameter name for prompts in an author's `score`."""
_REHEARSED_ROWS = 2


class EvaluatorBuilder:
    """Builds the scoring of one entry."""

    def __init__(
        self,
        config_entry: ConfigEntry,
        code: AuthorCode,
        parts: ScoringParts,
        arguments: ConfigArguments,
        columns: Sequence[str] | None,
        *,
        seed: int,
        is_faithful: bool,
    ) -> None:
        """Store an entry, the code it can use and the columns of its rows (None if unreadable)."""
        assert isinstance(config_entry.entry, DatasetEntry)
        self._seed = seed
        self._entry = config_entry.entry
        self._config = config_entry.config.path
        self._where = config_entry.where
        self._code = code
        self._parts = parts
        self._arguments = arguments
        self._columns = columns
        self._is_faithful = is_faithful
        self._is_own = False
        self._sees_prompts = False
        self._files: set[Path] = set()
        self._own: dict[str, Callable[[], Any]] = {}
        """Factories of the person's own evaluators, by name."""

    def build_scoring(self, n: int) -> EntryScoring:
        """Return the scoring for `n` answers per row.

        Without an `eval_cfg`, answers are collected without scoring.
        """
        config = self._entry.eval_cfg
        before = (
            [self._build_postprocessor(self._arguments.model_postprocessor, {})]
            if self._arguments.model_postprocessor
            else []
        )
        if config is None:
            return EntryScoring(
                None, "none", is_own=False, is_repeated=False, predictions=tuple(before), golds=None
            )
        component = config.evaluator
        problems, predictions = Problems(), list(before)
        gold = config.dataset_postprocessor
        golds = None if gold is None else problems.collect(partial(self._postprocess, gold))
        judge = self._entry.judge_infer_cfg
        if judge is not None:
            reading = config.pred_postprocessor or component
            asked = (judge.get("prompt_template"), get_short_name(reading.type), reading.arguments)
            evaluator = problems.collect(partial(self._build_judge_evaluator, _GENERIC_JUDGE, *asked))
        else:
            evaluator = problems.collect(partial(self._evaluator, component))
            for one in self._list_postprocessors(config):
                process = problems.collect(partial(self._postprocess, one))
                predictions += [] if process is None else [process]
        problems.raise_if_any()
        if n > 1:
            named = repr(config.evaluator.type)
            of_aisbench = "ais_bench" in named or ("opencompass" not in named and self._entry.is_aisbench)
            ks = self._entry.resolve_k(n)
            evaluator = self._parts.build_repeated_evaluator(
                evaluator, n, ks, of_aisbench=of_aisbench, is_faithful=self._is_faithful
            )
        return EntryScoring(
            evaluator,
            get_short_name(component.type),
            self._is_own,
            n > 1,
            tuple(predictions),
            golds,
            self._sees_prompts,
            frozenset(self._files),
        )

    def _list_postprocessors(self, config: EvalConfig) -> list[Component]:
        """Return the post-processors of predictions: those of the config, and that of the evaluator."""
        own = config.evaluator.arguments.get(_POSTPROCESSOR)
        several = (config.pred_postprocessor, None if own is None else _component(own))
        return [one for one in several if one is not None]

    def rehearse_author_evaluator(
        self, test: Split, golds: Sequence[Any], scoring: EntryScoring
    ) -> list[str]:
        """Run the person's own evaluators on the first right answers, and return notes.

        An invalid return value is an error before the model runs. An exception may be due to the trial
        itself, so it becomes a note.
        """
        notes, problems = [], Problems()
        rows = range(min(_REHEARSED_ROWS, len(test)))
        references = [self._parts.reference(golds[row], test.rows[row], "") for row in rows]
        predictions = [_to_prediction(golds[row], scoring.predictions) for row in rows]
        for name, make in self._own.items():
            try:
                problems.collect(partial(make(), predictions, references))
            except RAISED_BY_AUTHORS as error:
                reraise_interrupt(error)
                raised = f"{type(error).__name__} for the right answers of the first rows: {error}"
                notes.append(f"{name} raised {raised}")
        problems.raise_if_any()
        return notes

    def golds(self, test: Split, process: PostProcess | None) -> Sequence[Any]:
        """Return the post-processed right answer of each row, or None if the dataset has none."""
        column = self._entry.reader_cfg.output_column
        if column is None:
            return [None] * len(test)
        written = LazyRows(test.rows, lambda row: _drop_nan(row.get(column)))
        if process is None:
            return written
        find = process.find_gold or partial(_process_gold, process.find)
        made, problems = [], Problems()
        for gold, origin in zip(written, test.origins, strict=True):
            try:
                made.append(None if gold is None else find(gold))
            except RAISED_BY_AUTHORS as error:
                reraise_interrupt(error)
                what = f"dataset_postprocessor {process.name} raised {describe_exception(error)}; "
                what += f"found {gold!r:.80}"
                problems.add(
                    Problem(EVALUATION_CODE, what, "correct the function or the row", origin.at(column))
                )
        problems.raise_if_any()
        return made

    def _evaluator(self, component: Component) -> Any:
        name = get_short_name(component.type)
        arguments = {key: value for key, value in component.arguments.items() if key != _POSTPROCESSOR}
        if not self._code.is_own(component.type):
            if name in _JUDGE_EVALUATORS:
                reading = arguments.get("dict_postprocessor") or {}
                rest = {key: value for key, value in reading.items() if key != "type"}
                read_by = get_short_name(reading["type"]) if reading else None
                return self._build_judge_evaluator(name, arguments.get("prompt_template"), read_by, rest)
            if name == _CASCADE:
                return self._cascade(arguments)
            with _ErrorOrigin(self._where):
                module = getattr(component.type, "module", "")
                known = self._parts.evaluator(name, module, arguments, is_faithful=self._is_faithful)
            if known is not None:
                return known
        return self._build_author_evaluator(component, arguments)

    def _build_author_evaluator(self, component: Component, arguments: Mapping[str, Any]) -> Any:
        cls = self._code.require(
            component.type,
            "evaluator",
            self._where,
            (*self._parts.evaluator_names, *_JUDGE_EVALUATORS, _CASCADE),
        )
        author = build_author(cls, self._config)
        if inspect.isfunction(cls):
            # Some authors register a function that returns an evaluator.
            check_arguments(cls, arguments, EVALUATION_CODE, self._where)
            with author.convert_errors(cls.__name__):
                made_by = type(cls(**arguments))
        else:
            made_by = cls
        check_own_names(author, made_by, self._code)
        if not callable(getattr(made_by, "score", None)):
            what = "it has no method score(predictions, references), so it is not an evaluator"
            fix = "write class NAME(BaseEvaluator) with a method score"
            raise AuthorError(author.problem(EVALUATION_CODE, what, fix))
        check_arguments(cls, arguments, EVALUATION_CODE, self._where)
        self._is_own = True
        self._sees_prompts = _PROMPT_ARGUMENT in inspect.signature(made_by.score).parameters
        self._files |= {path for path in (find_source_file(cls),) if path is not None}
        file = str(find_source_file(cls) or self._config)

        def make() -> Any:
            with author.convert_errors("__init__"):
                made = cls(**arguments)
            return self._parts.build_author_evaluator(made, file, is_faithful=self._is_faithful)

        # Evaluators of a checkout are trusted, and may need servers to run.
        if self._code.is_own(component.type):
            self._own[author.class_name] = make
        return make()

    def _cascade(self, arguments: Mapping[str, Any]) -> Any:
        parts = {}
        for key in ("rule_evaluator", "llm_evaluator"):
            part = arguments.get(key)
            if not isinstance(part, Mapping) or "type" not in part:
                what = f"{_CASCADE}: {key} is {part!r:.60}, expected a dict with a 'type'"
                raise AuthorError(Problem(EVALUATION_CODE, what, f"write {key}=dict(type=...)", self._where))
            parts[key] = self._evaluator(_component(part))
        return self._parts.cascade(
            parts["rule_evaluator"],
            parts["llm_evaluator"],
            is_parallel=bool(arguments.get("parallel", True)),
            is_faithful=self._is_faithful,
        )

    def _build_judge_evaluator(
        self, name: str, template: Any, reading: str | None, arguments: Mapping[str, Any]
    ) -> Any:
        if not isinstance(template, Mapping) or "type" not in template:
            what = f"the judge's prompt_template is {template!r:.60}, expected a dict with a 'type'"
            fix = "write prompt_template=dict(type=PromptTemplate, template=...)"
            raise AuthorError(Problem(EVALUATION_CODE, what, fix, self._where))
        component = _component(template)
        templates = Templates(
            TemplateSpec(get_short_name(component.type), component.arguments),
            None,
            output_column=None,
            rendering=RenderOptions(is_chat=True, meta=None, is_faithful=False),
        )
        problems = Problems()
        columns = None if self._columns is None else [*self._columns, *JUDGE_FIELDS]
        for what, fix in () if columns is None else templates.problems(columns, has_shots=False):
            problems.add(Problem(EVALUATION_CODE, f"the judge's prompt: {what}", fix, self._where))
        problems.raise_if_any()
        render = partial(render_judge_prompt, templates, is_faithful=self._is_faithful)
        judging = JudgeConfig(render, reading, arguments)
        with _ErrorOrigin(self._where):
            if name == _GRADING_JUDGE and (self._parts.is_pair_reader(reading) or self._order is not None):
                comparing = PairwiseJudgeConfig(render, self._rival(), reading, arguments, self._order)
                return self._parts.build_pairwise_evaluator(
                    comparing, seed=self._seed, is_faithful=self._is_faithful
                )
            if name == _GRADING_JUDGE and self._parts.is_grade_reader(reading):
                return self._parts.build_grading_evaluator(judging, is_faithful=self._is_faithful)
            return self._parts.build_judge_evaluator(judging, is_faithful=self._is_faithful)

    @property
    def _order(self) -> str | None:
        """The order of the two answers in the judge's prompt, from the entry."""
        order: str | None = self._entry.load_arguments.get("infer_order")
        return order

    def _rival(self) -> Callable[[Mapping[str, Any]], str | None]:
        """Return the function that reads the rival's answer of a row."""
        columns = self._columns
        column = next((name for name in RIVAL_COLUMNS if columns is None or name in columns), None)
        if column is None:
            what = f"the judge compares answers with a rival's, but no column is {listing(RIVAL_COLUMNS)}"
            fix = f"return the rival's answers in {RIVAL_COLUMNS[0]!r} from load"
            raise AuthorError(Problem(EVALUATION_CODE, what, fix, self._where))

        def rival(row: Mapping[str, Any]) -> str | None:
            return None if row.get(column) is None else str(row[column])

        return rival

    def _postprocess(self, component: Component) -> PostProcess:
        name = get_short_name(component.type)
        if not self._code.is_own(component.type):
            with _ErrorOrigin(self._where):
                known = self._parts.postprocessor(name, component.arguments, is_faithful=self._is_faithful)
            if known is not None:
                return known
        function = self._code.require(
            component.type, "post-processor", self._where, self._parts.postprocessor_names
        )
        if not callable(function):
            what = f"the post-processor {name!r} is {type(function).__name__}, expected a function"
            raise AuthorError(Problem(EVALUATION_CODE, what, "write def NAME(text): ...", self._where))
        self._files |= {path for path in (find_source_file(function),) if path is not None}
        given = partial(function, **component.arguments) if component.arguments else function
        check_arguments(function, component.arguments, EVALUATION_CODE, self._where, n_before=1)
        return self._parts.build_author_postprocessor(name, given, is_faithful=self._is_faithful)

    def _build_postprocessor(self, name: str, arguments: Mapping[str, Any]) -> PostProcess:
        return self._postprocess(Component(name, dict(arguments)))


class _ErrorOrigin:
    """Adds the origin to errors of a named part or its arguments."""

    def __init__(self, where: Origin) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, _: object) -> None:
        if isinstance(error, ValueError):
            raise AuthorError(
                Problem(EVALUATION_CODE, str(error), "correct the value", self._where)
            ) from error
        if isinstance(error, PlanError):
            placed = [msgspec.structs.replace(one, where=self._where) for one in error.problems]
            raise AuthorError(placed, total=error.total) from error


def _component(given: Mapping[str, Any]) -> Component:
    return Component(given["type"], {key: value for key, value in given.items() if key != "type"})


def _to_prediction(gold: Any, processes: Sequence[PostProcess]) -> Any:
    """Return the prediction for a model output that is exactly the right answer."""
    if isinstance(gold, list | tuple):
        return _to_prediction(gold[0] if gold else None, processes)
    text = "" if gold is None else str(gold)
    try:
        found = extract_answer(text, processes)
    except RAISED_BY_AUTHORS as error:
        reraise_interrupt(error)
        # Post-processors expect model outputs and may fail on a bare answer.
        return text
    return "" if found is None else found


def _drop_nan(gold: Any) -> Any:
    """Return a right answer; nan, a gap in a column of numbers, becomes None."""
    return None if isinstance(gold, float) and math.isnan(gold) else gold


def _process_gold(find: Callable[[str], Any], gold: Any) -> Any:
    """Return a post-processed right answer; of several answers, process each."""
    if isinstance(gold, list | tuple):
        return [_process_gold(find, one) for one in gold]
    return find(gold) if isinstance(gold, str) else gold
