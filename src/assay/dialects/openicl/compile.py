"""Entries of configs compiled into tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import AuthorError, Problem, Problems, listing
from assay.core.ids import digest
from assay.core.ports import Embedder
from assay.core.sample import Sample
from assay.core.task import ComponentSpec, TaskSettings, TaskSpec
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.code import Code, Offered, last_name
from assay.dialects.openicl.choosing import ChoosingTask
from assay.dialects.openicl.circular import ORDER, QUESTION
from assay.dialects.openicl.config.entry import Component, DatasetEntry
from assay.dialects.openicl.entries import Found
from assay.dialects.openicl.evaluation import Evaluation, Scoring
from assay.dialects.openicl.evaluators import Evaluators
from assay.dialects.openicl.facts import facts_of
from assay.dialects.openicl.inferencing import CODE as INFERENCE
from assay.dialects.openicl.inferencing import inference_of
from assay.dialects.openicl.multimodal_prompts import NAME as MULTIMODAL
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.quirks import Traits, quirks_of
from assay.dialects.openicl.reading import COLUMNS, check_columns, load
from assay.dialects.openicl.retrievers.corpus import Corpus, corpus_of, joined
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.retrievers.registry import make_retriever
from assay.dialects.openicl.retrievers.retriever import Retriever
from assay.dialects.openicl.scoring_parts import ScoringParts
from assay.dialects.openicl.task import Asking, ConfigTask
from assay.dialects.openicl.templates.reading import TemplateSpec
from assay.dialects.openicl.templates.rendering import Rendering
from assay.dialects.openicl.templates.templates import Templates
from assay.dialects.openicl.turns import Conversation, UnreadableTurns, conversation_in

DIALECT = "openicl"
_PLAIN_ACCURACY = ("AccEvaluator", "AccwithDetailsEvaluator")
_CHOICES, _CONTINUATION, _OWN_LENGTH = "choices", "cont", "max_out_len"
_TEMPLATE = "OPENICL-015"
_MULTI_TURN = "MultiTurnPromptTemplate"


class Tools(NamedTuple):
    """What the app hands over from other rooms."""

    offered: Offered
    scoring: ScoringParts
    open_embedder: Callable[[str | None], Embedder]
    data_root: Path | None = None


class CompiledEntry(msgspec.Struct, frozen=True):
    """A task, and what a person should see of it."""

    task: ConfigTask
    notes: tuple[str, ...]
    kind: str

    def facts(self) -> list[tuple[str, str]]:
        """Return in words how the entry was understood."""
        return facts_of(self.task.spec.settings)


def code_for(found: Sequence[Found], asked: ConfigArguments, tools: Tools) -> Code:
    """Return the code that the entries of one config can name."""
    folders = [path.absolute().parent for one in found for path in reversed(one.config.files)]
    own = [folder for folder in dict.fromkeys(folders) if not _is_of_checkout(folder, asked.root)]
    return Code(own, asked.root, tools.data_root, tools.offered)


def _is_of_checkout(folder: Path, root: Path | None) -> bool:
    """Whether a folder holds a checkout's configs: files there are called like modules and hold no code."""
    if root is None or not folder.is_relative_to(root.absolute()):
        return False
    return "configs" in folder.relative_to(root.absolute()).parts


def compile_entry(
    found: Found, source: str, settings: TaskSettings, asked: ConfigArguments, tools: Tools, code: Code
) -> CompiledEntry:
    """Compile one entry."""
    return _Compilation(found, source, settings, asked, tools, code).compiled()


class _Compilation:
    """One entry on its way."""

    def __init__(
        self,
        found: Found,
        source: str,
        settings: TaskSettings,
        asked: ConfigArguments,
        tools: Tools,
        code: Code,
    ) -> None:
        assert isinstance(found.entry, DatasetEntry)
        self._found = found
        self._entry = found.entry
        self._source = source
        self._settings = settings
        self._asked = asked
        self._tools = tools
        self._code = code
        self._config = found.config.path
        self._notes: list[str] = []
        self._inference = inference_of(self._entry, settings, found.where, asked)
        self._check_method()
        self._is_chat = settings.is_chat
        self._data = load(self._entry, code, self._config, found.where)
        check_columns(self._data, self._entry, self._config)
        self._notes += [*self._inference.notes, *self._data.notes]

    def compiled(self) -> CompiledEntry:
        """Put the task together."""
        retriever = self._retriever()
        templates = self._templates(retriever)
        labels = self._labels(templates)
        corpus = self._corpus(retriever, labels)
        asking = Asking(
            self._inference,
            templates,
            self._data.test,
            self._data.train,
            self._picked(retriever, corpus),
            labels,
            self._conversation(templates),
            is_chat=self._is_chat,
            is_whole=self._settings.score_by is None and not self._is_chat,
            keeps_spaces=self._settings.is_faithful,
            has_own_length=self._has_own_length(),
        )
        self._check_turns(asking)
        evaluators = Evaluators(
            self._found,
            self._inference,
            self._code,
            self._tools.scoring,
            self._asked,
            self._data.test.columns,
            seed=self._settings.seed,
            is_faithful=self._settings.is_faithful,
        )
        scoring = evaluators.scoring()
        golds = evaluators.golds(self._data.test, scoring.golds)
        samples = self._samples(labels, golds)
        evaluation = Evaluation(
            scoring, self._data.test, golds, labels, self._inference, self._referring(golds)
        )
        traits = self._traits(retriever, templates, scoring)
        spec = self._spec(retriever, templates, scoring, traits)
        scorers = [self._scorer(scoring, evaluation)]
        task = ConfigTask(spec, samples, asking, scorers)
        if isinstance(retriever, MDLRetriever) and corpus is not None:
            is_faithful = self._settings.is_faithful
            rows = self._asked_rows(retriever)
            task = ChoosingTask(
                spec, samples, asking, scorers, retriever, corpus, rows, is_faithful=is_faithful
            )
        if not isinstance(templates, MultimodalPrompts):
            self._check_prompts(task)
        kind = {"answer": "free answer", "chat": "conversation", "text": "text"}
        return CompiledEntry(
            task, tuple(dict.fromkeys(self._notes)), kind.get(self._inference.form, "choice")
        )

    def _check_method(self) -> None:
        asked = self._settings.methods
        if asked and self._inference.method not in asked:
            what = f"method {listing(asked)} was asked for, and {self._inference.name} is for "
            what += self._inference.method
            fix = f"evaluate by {self._inference.method}, or name a config with another inferencer"
            raise AuthorError(Problem(INFERENCE, what, fix, self._found.where))
        for method in asked or ():
            if method != self._inference.method:
                self._notes.append(f"the config is not for {method}, which is left out")

    def _retriever(self) -> Retriever:
        component = self._entry.infer_cfg.retriever
        arguments = {key: value for key, value in component.arguments.items() if key != "ice_template"}
        made = make_retriever(last_name(component.type), arguments, where=self._found.where)
        if self._settings.shots is not None and self._settings.shots != made.count:
            made = made.with_count(self._settings.shots)
        return made

    def _templates(self, retriever: Retriever) -> Templates | MultimodalPrompts:
        reader, infer = self._entry.reader_cfg, self._entry.infer_cfg
        spec = _spec_of(infer.prompt_template)
        if spec is not None and spec.name == MULTIMODAL:
            return self._multimodal(spec)
        templates = Templates(
            spec,
            _spec_of(infer.ice_template),
            output_column=reader.output_column,
            rendering=Rendering(self._is_chat, self._asked.meta_template, self._settings.is_faithful),
            ice_separator=retriever.ice_separator,
            ice_eos_token=retriever.ice_eos_token,
            replace_token=self._inference.replace_token,
        )
        if self._inference.form == "chat" and spec is not None and spec.name != _MULTI_TURN:
            # The turns stand in a column: what the template says is not shown to anybody.
            return templates
        problems = Problems()
        for what, fix in templates.problems(self._data.test.columns, has_shots=retriever.count > 0):
            problems.add(Problem(_TEMPLATE, what, fix, self._found.where))
        problems.raise_if_any()
        return templates

    def _multimodal(self, spec: TemplateSpec) -> MultimodalPrompts:
        path = self._entry.load_arguments.get("path")
        found = self._code.data.find(path) if isinstance(path, str) else None
        beside = [] if found is None else [found if found.is_dir() else found.parent]
        return MultimodalPrompts(
            spec,
            self._data.test,
            output_column=self._entry.reader_cfg.output_column,
            replace_token=self._inference.replace_token,
            roots=[*beside, self._config.parent],
            is_faithful=self._settings.is_faithful,
            where=self._found.where,
        )

    def _labels(self, templates: Templates | MultimodalPrompts) -> list[tuple[Any, ...]]:
        """Return for each row the labels that are compared; none where a text is written."""
        test = self._data.test
        if self._inference.form == "choices":
            first = test.rows[0].get(_CHOICES)
            if not isinstance(first, list | tuple) or not first:
                what = f"{self._inference.name} compares the column {_CHOICES!r}, which has {first!r:.60}"
                fix = f"let load return the options of each row in {_CHOICES!r}"
                raise AuthorError(Problem(COLUMNS, what, fix, test.origins[0]))
            return [tuple(row.get(_CHOICES) or first) for row in test.rows]
        if self._inference.form not in ("options", "continuation"):
            return [()] * len(test)
        if self._inference.form == "continuation" and _CONTINUATION not in test.columns:
            what = f"{self._inference.name} scores the column {_CONTINUATION!r}, which is not there"
            raise AuthorError(Problem(COLUMNS, what, "let load return it", test.origins[0]))
        labels = self._inference.labels or templates.labels or self._answers()
        return [labels] * len(test)

    def _answers(self) -> tuple[Any, ...]:
        """Return the right answers of all rows, each once, in a steady order."""
        column = self._entry.reader_cfg.output_column
        rows = (*self._data.test.rows, *self._data.train.rows)
        answers = dict.fromkeys(row.get(column) for row in rows if column and row.get(column) is not None)
        if not answers:
            what = f"{self._inference.name} compares labels, and neither the template nor a column names any"
            fix = "write the template as a dict from each label to its text"
            raise AuthorError(Problem(_TEMPLATE, what, fix, self._found.where))
        return tuple(sorted(answers, key=str))

    def _corpus(self, retriever: Retriever, labels: Sequence[tuple[Any, ...]]) -> Corpus | None:
        """Return what examples are picked from; None where none are shown."""
        if not retriever.count:
            return None
        reader, test, train = self._entry.reader_cfg, self._data.test, self._data.train
        embedder = self._tools.open_embedder(self._encoder(retriever)) if retriever.needs_embedder else None
        rows = self._asked_rows(retriever)
        return corpus_of(
            train.rows,
            [test.rows[at] for at in rows],
            text=joined(reader.input_columns),
            output_column=reader.output_column,
            sample_ids=[test.ids[at] for at in rows],
            task=self._entry.name,
            seed=self._settings.seed,
            places=[test.numbers[at] for at in rows],
            labels=labels[0],
            train_split=train.name or reader.train_split,
            where=self._found.where,
            embedder=embedder,
        )

    def _asked_rows(self, retriever: Retriever) -> Sequence[int]:
        """Return the rows that examples are picked for: only those of a limit, where the model is asked."""
        ids, limit = self._data.test.ids, self._settings.limit
        if limit is None or not retriever.needs_model:
            return range(len(ids))
        chosen = limit.chosen(ids, self._settings.seed)
        return [at for at, row_id in enumerate(ids) if row_id in chosen]

    def _picked(self, retriever: Retriever, corpus: Corpus | None) -> Sequence[tuple[int, ...]]:
        """Return the examples of each row; those that the model has a say in are chosen before the run."""
        is_faithful = self._settings.is_faithful
        if corpus is None or retriever.needs_model:
            if corpus is not None:
                retriever.check(corpus, is_faithful=is_faithful)
            return [()] * len(self._data.test)
        return retriever.pick(corpus, is_faithful=is_faithful)

    def _encoder(self, retriever: Retriever) -> str | None:
        """Return the folder of the encoder that was named, by the person or by the config."""
        named = retriever.encoder
        return self._asked.embedder or (named if named and Path(named).is_dir() else None)

    def _conversation(
        self, templates: Templates | MultimodalPrompts
    ) -> Callable[[Mapping[str, Any]], Conversation]:
        """Return what reads the turns of a row: the template's, or a column's."""
        column = self._entry.reader_cfg.input_columns[0] if self._entry.reader_cfg.input_columns else ""

        def read(row: Mapping[str, Any]) -> Conversation:
            turns = templates.turns(row)
            if turns:
                return Conversation(
                    (), tuple(one.user for one in turns), tuple(one.reference for one in turns)
                )
            return conversation_in(row.get(column))

        return read

    def _check_turns(self, asking: Asking) -> None:
        if self._inference.form != "chat":
            return
        problems = Problems()
        for row, origin in zip(self._data.test.rows, self._data.test.origins, strict=True):
            try:
                said = asking.conversation(row)
                if self._inference.turn_mode != "every" and None in said.references[:-1]:
                    turn = said.references.index(None) + 1
                    raise UnreadableTurns(f"turn {turn} has no right answer, which stands before the next")
            except UnreadableTurns as error:
                problems.add(Problem(COLUMNS, str(error), "correct the row", origin))
        problems.raise_if_any()

    def _check_prompts(self, task: ConfigTask) -> None:
        """Raise for all rows of which no prompt can be made, before a model is loaded."""
        problems = Problems()
        for origin, why in task.troubles():
            problems.add(Problem(_TEMPLATE, why, "correct the row, or the template", origin))
        problems.raise_if_any()

    def _has_own_length(self) -> bool:
        is_read = _OWN_LENGTH in self._entry.reader_cfg.input_columns
        if not is_read or self._settings.max_tokens is not None:
            return False
        problems = Problems()
        for row, origin in zip(self._data.test.rows, self._data.test.origins, strict=True):
            value = row.get(_OWN_LENGTH)
            if isinstance(value, bool) or not str(value).isdecimal() or int(str(value)) < 1:
                what = f"found {value!r:.60}, expected a number of tokens from 1 on"
                problems.add(Problem(COLUMNS, what, "correct the value", origin.at(_OWN_LENGTH)))
        problems.raise_if_any()
        return True

    def _samples(self, labels: Sequence[tuple[Any, ...]], golds: Sequence[Any]) -> list[Sample]:
        test = self._data.test
        samples = []
        for number, fields in enumerate(test.fields):
            names = tuple(map(str, labels[number]))
            gold = golds[number]
            right = tuple(at for at, name in enumerate(names) if name == str(gold))
            targets = () if names else _texts(gold)
            choices = tuple(_option_text(fields, name) for name in names)
            samples.append(
                Sample(
                    test.ids[number],
                    fields,
                    test.origins[number],
                    choices,
                    names,
                    right,
                    targets,
                    # All orders of a question's options are one question.
                    cluster=str(fields[QUESTION]) if ORDER in fields and QUESTION in fields else None,
                )
            )
        return samples

    def _referring(self, golds: Sequence[Any]) -> Callable[[int, str], Any]:
        reference = self._tools.scoring.reference
        rows = self._data.test.rows
        return lambda number, prompt: reference(golds[number], rows[number], prompt)

    def _scorer(self, scoring: Scoring, evaluation: Evaluation) -> ComponentSpec:
        inference, settings = self._inference, self._settings
        track = inference.method
        inner: ComponentSpec | None = None
        if inference.form == "options":
            if settings.score_by is not None or (self._is_chat and inference.normalizing_str is None):
                inner = ComponentSpec(
                    "option_likelihood", {"track": track, "score_by": settings.score_by or "per_token"}
                )
            else:
                inner = ComponentSpec(
                    "whole_text_likelihood",
                    {
                        "track": track,
                        "faithful": settings.is_faithful,
                        "normalised": inference.normalizing_str is not None,
                    },
                )
        elif inference.form == "continuation":
            inner = ComponentSpec(
                "option_likelihood", {"track": track, "score_by": settings.score_by or "sum"}
            )
        elif inference.form == "choices":
            inner = ComponentSpec("label_probability", {"track": track})
        if inner is not None and scoring.evaluator_name in _PLAIN_ACCURACY:
            return inner
        return ComponentSpec("author_metrics", {"track": track, "author": evaluation, "inner": inner})

    def _spec(
        self, retriever: Retriever, templates: Templates | MultimodalPrompts, scoring: Scoring, traits: Traits
    ) -> TaskSpec:
        entry, settings, inference = self._entry, self._settings, self._inference
        train = self._data.train.digests if retriever.count else []
        data_hash = digest([self._data.test.digests, train], size=16)
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in self._files()}
        recorded = {
            "config": str(self._config),
            "abbr": entry.abbr,
            "dataset_class": self._data.dataset_class,
            "prompt_hash": self._found.prompt_hash,
            "code": files,
            "load": _written(entry.load_arguments),
            "reader": _written(msgspec.to_builtins(entry.reader_cfg)),
            "prompt_format": templates.format,
            "prompt_template": _component(entry.infer_cfg.prompt_template),
            "ice_template": _component(entry.infer_cfg.ice_template),
            "retriever": {"name": type(retriever).__name__, **_written(msgspec.to_builtins(retriever))},
            "inferencer": {
                "name": inference.name,
                "turns": inference.turn_mode,
                "labels": _written(inference.labels),
            },
            "sampling": msgspec.to_builtins(inference.sampling),
            "shots": retriever.count,
            "evaluator": scoring.evaluator_name,
            "evaluator_arguments": _written(entry.eval_cfg.evaluator.arguments) if entry.eval_cfg else {},
            "postprocessors": [one.name for one in scoring.predictions],
            "dataset_postprocessor": scoring.golds.name if scoring.golds else None,
            "n": inference.sampling.n,
            "k": list(entry.k),
            "form": "chat" if self._is_chat else "text",
            "seed": settings.seed,
            "faithful": settings.is_faithful,
            "score_by": settings.score_by,
            **(templates.settings if isinstance(templates, MultimodalPrompts) else {}),
        }
        return TaskSpec(
            entry.name,
            DIALECT,
            self._source,
            data_hash,
            (inference.method,),
            len(self._data.test),
            len(self._data.test),
            recorded,
            quirks_of(traits, self._tools.scoring.corrected, is_faithful=settings.is_faithful),
        )

    def _traits(
        self, retriever: Retriever, templates: Templates | MultimodalPrompts, scoring: Scoring
    ) -> Traits:
        entry = self._entry
        named = {scoring.evaluator_name, *(one.name for one in scoring.predictions)}
        if scoring.golds is not None:
            named.add(scoring.golds.name)
        return Traits(
            self._inference,
            templates,
            retriever,
            frozenset(named),
            has_own_evaluator=scoring.is_own,
            is_chat=self._is_chat,
            has_pred_role=entry.eval_cfg is not None and entry.eval_cfg.pred_role is not None,
            has_range=entry.reader_cfg.test_range is not None,
            names_path=isinstance(entry.load_arguments.get("path"), str),
        )

    def _files(self) -> list[Path]:
        return sorted({*self._found.config.files, *self._code.modules.files})


def _spec_of(component: Component | None) -> TemplateSpec | None:
    return None if component is None else TemplateSpec(last_name(component.type), component.arguments)


def _component(component: Component | None) -> dict[str, Any] | None:
    if component is None:
        return None
    return {"type": last_name(component.type), **_written(component.arguments)}


def _written(value: Any) -> Any:
    """Return a value of a config as it is stored: code by its name."""
    if isinstance(value, Mapping):
        return {str(key): _written(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_written(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else last_name(value)


def _texts(gold: Any) -> tuple[str, ...]:
    if gold is None:
        return ()
    several = gold if isinstance(gold, list | tuple) else (gold,)
    return tuple(map(str, several))


def _option_text(fields: Mapping[str, Any], label: str) -> str:
    """Return the text of an option: the column that is called like its label, else the label."""
    value = fields.get(label)
    return value if isinstance(value, str) and value else label
