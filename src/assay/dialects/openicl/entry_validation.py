"""Validation of all parts of an entry, with all problems raised together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.errors import AuthorError, Problem, Problems, listing
from assay.core.ports import Embedder
from assay.core.task import TaskSettings
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.code import AuthorCode, LibraryParts, get_short_name
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.dataset_rows import LoadedData, check_columns, load_data
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.evaluation import EntryScoring
from assay.dialects.openicl.evaluators import EvaluatorBuilder
from assay.dialects.openicl.inferencing import INFERENCE_CODE as INFERENCE
from assay.dialects.openicl.inferencing import Inference, read_inference
from assay.dialects.openicl.media import CONTENT, START_MARKS
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.registry import make_retriever
from assay.dialects.openicl.retrievers.retriever import Retriever, ZeroRetriever
from assay.dialects.openicl.scoring_parts import ScoringParts
from assay.dialects.openicl.templates.meta import CHAT_META_TEMPLATE, OPENCOMPASS_LOCAL_CHAT
from assay.dialects.openicl.templates.multimodal import PART_EXAMPLE
from assay.dialects.openicl.templates.rendering import RenderOptions
from assay.dialects.openicl.templates.template_parsing import TemplateSpec
from assay.dialects.openicl.templates.templates import Templates

TEMPLATE_CODE = "OPENICL-015"
_REHEARSED_FORMS = ("answer", "options", "continuation")
"""The forms in which a prediction has the same type as a right answer."""
_MULTI_TURN = "MultiTurnPromptTemplate"


class OpenIclTools(NamedTuple):
    """Dependencies from other packages that the app passes in."""

    offered: LibraryParts
    scoring: ScoringParts
    open_embedder: Callable[[str | None], Embedder]
    data_root: Path | None = None


class EntryContext(NamedTuple):
    """The settings and tools for reading an entry."""

    settings: TaskSettings
    arguments: ConfigArguments
    tools: OpenIclTools
    code: AuthorCode


class EntryParts(NamedTuple):
    """The validated parts of an entry."""

    inference: Inference
    retriever: Retriever
    data: LoadedData
    templates: Templates | MultimodalPrompts
    scoring: EntryScoring
    golds: Sequence[Any]
    """The right answer of each row, post-processed."""
    notes: tuple[str, ...]


def read_entry_parts(config_entry: ConfigEntry, context: EntryContext) -> EntryParts:
    """Read every part of an entry, or raise all problems."""
    return _EntryReader(config_entry, context).parts()


class _EntryReader:
    """Reads one entry."""

    def __init__(self, config_entry: ConfigEntry, context: EntryContext) -> None:
        assert isinstance(config_entry.entry, DatasetEntry)
        self._config_entry = config_entry
        self._entry = config_entry.entry
        self._settings, self._context, self._tools, self._code = context
        self._config = config_entry.config.path
        self._notes: list[str] = []

    def parts(self) -> EntryParts:
        found, problems = self._config_entry, Problems()
        inference = problems.collect(self._read_inference)
        retriever = problems.collect(self._read_retriever)
        data = problems.collect(partial(load_data, self._entry, self._code, self._config, found.where))
        evaluators = EvaluatorBuilder(
            found,
            self._code,
            self._tools.scoring,
            self._context,
            None if data is None else data.test.columns,
            seed=self._settings.seed,
            is_faithful=self._settings.is_faithful,
        )
        n = 1 if inference is None else inference.n_compared
        scoring = problems.collect(partial(evaluators.build_scoring, n))
        golds: Sequence[Any] | None = None
        templates: Templates | MultimodalPrompts | None = None
        if data is not None:
            has_shots = retriever is not None and retriever.count > 0
            problems.collect(partial(check_columns, data, self._entry, found.where, has_shots=has_shots))
            if scoring is not None:
                golds = problems.collect(partial(evaluators.golds, data.test, scoring.golds))
                if golds is not None and inference is not None and inference.form in _REHEARSED_FORMS:
                    rehearse = partial(evaluators.rehearse_author_evaluator, data.test, golds, scoring)
                    self._notes += problems.collect(rehearse) or ()
            read = partial(self._read_templates, data, retriever or ZeroRetriever(), inference)
            templates = problems.collect(read)
        problems.raise_if_any()
        assert inference is not None
        assert retriever is not None
        assert data is not None
        assert scoring is not None
        assert golds is not None
        assert templates is not None
        notes = (*self._notes, *inference.notes, *data.notes, *self._gaps(data))
        return EntryParts(inference, retriever, data, templates, scoring, golds, notes)

    def _gaps(self, data: LoadedData) -> Iterator[str]:
        """Yield notes on prompt columns with missing values."""
        columns = [name for name in self._entry.reader_cfg.input_columns if name in data.test.columns]
        gaps = Counter(name for row in data.test.rows for name in columns if row.get(name) is None)
        for column in columns:
            if n := gaps[column]:
                total = len(data.test)
                yield f"{column!r} has no value in {n:,} of {total:,} rows: their prompts show None"

    def _read_inference(self) -> Inference:
        inference = read_inference(self._entry, self._settings, self._config_entry.where, self._context)
        asked = self._settings.methods
        if asked and inference.method not in asked:
            what = f"method {listing(asked)} is given, but {inference.name} is for {inference.method}"
            fix = f"use --method {inference.method}, or name a config with another inferencer"
            raise AuthorError(Problem(INFERENCE, what, fix, self._config_entry.where))
        for method in asked or ():
            if method != inference.method:
                self._notes.append(f"the config does not support {method}: skipped")
        return inference

    def _read_retriever(self) -> Retriever:
        component = self._entry.infer_cfg.retriever
        arguments = {key: value for key, value in component.arguments.items() if key != "ice_template"}
        made = make_retriever(get_short_name(component.type), arguments, where=self._config_entry.where)
        if self._settings.shots is not None and self._settings.shots != made.count:
            made = made.with_count(self._settings.shots)
        return made

    def _read_templates(
        self, data: LoadedData, retriever: Retriever, inference: Inference | None
    ) -> Templates | MultimodalPrompts:
        replace_token = "" if inference is None else inference.replace_token
        reader, infer = self._entry.reader_cfg, self._entry.infer_cfg
        spec = _build_template_spec(infer.prompt_template)
        if spec is not None and spec.name == MULTIMODAL:
            return self._build_multimodal(spec, data, replace_token)
        templates = Templates(
            spec,
            _build_template_spec(infer.ice_template),
            output_column=reader.output_column,
            rendering=RenderOptions(
                self._settings.is_chat,
                self._context.meta_template,
                self._settings.is_faithful,
                CHAT_META_TEMPLATE if self._entry.is_aisbench else OPENCOMPASS_LOCAL_CHAT,
                self._context.joins_turns,
            ),
            ice_separator=retriever.ice_separator,
            ice_eos_token=retriever.ice_eos_token,
            replace_token=replace_token,
        )
        is_chat = inference is not None and inference.form == "chat"
        if is_chat and spec is not None and spec.name != _MULTI_TURN:
            # The turns are in a column, so the template's texts are not used.
            return templates
        problems = Problems()
        columns, of_examples = data.test.columns, data.train.columns
        for what, fix in templates.problems(columns, of_examples, has_shots=retriever.count > 0):
            problems.add(Problem(TEMPLATE_CODE, what, fix, self._config_entry.where))
        if not self._settings.is_faithful and (marked := _find_content_mark(spec, data)) is not None:
            what = f"the prompt uses {{{CONTENT}}}, but this template does not support marks such as {marked}"
            fix = f"use type=MMPromptTemplate, and in its round {PART_EXAMPLE}"
            problems.add(Problem(TEMPLATE_CODE, what, fix, self._config_entry.where))
        problems.raise_if_any()
        return templates

    def _build_multimodal(
        self, spec: TemplateSpec, data: LoadedData, replace_token: str
    ) -> MultimodalPrompts:
        path = self._entry.load_arguments.get("path")
        found = self._code.data.find(path) if isinstance(path, str) else None
        beside = [] if found is None else [found if found.is_dir() else found.parent]
        return MultimodalPrompts(
            spec,
            data.test,
            output_column=self._entry.reader_cfg.output_column,
            replace_token=replace_token,
            roots=[*beside, self._config.parent],
            is_faithful=self._settings.is_faithful,
            where=self._config_entry.where,
        )


def _find_content_mark(spec: TemplateSpec | None, data: LoadedData) -> str | None:
    """Return a mark in the content column if a text template uses that column; otherwise None."""
    if spec is None or CONTENT not in data.test.columns or f"{{{CONTENT}}}" not in str(spec.arguments):
        return None
    first = next((str(row.get(CONTENT)) for row in data.test.rows), "")
    return next((mark for mark in START_MARKS if mark in first), None)


def _build_template_spec(component: Component | None) -> TemplateSpec | None:
    return None if component is None else TemplateSpec(get_short_name(component.type), component.arguments)
