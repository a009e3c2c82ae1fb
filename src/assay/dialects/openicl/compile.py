"""The compiler from config entries to tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from assay.core.compilation import Compilation
from assay.core.errors import AuthorError, Problem, Problems, listing
from assay.core.origin import Origin
from assay.core.sample import Sample
from assay.core.task import ComponentSpec
from assay.dialects.openicl.arguments import ConfigArguments
from assay.dialects.openicl.authored.code import AuthorCode
from assay.dialects.openicl.circular import ORDER_COLUMN, QUESTION_COLUMN
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.dataset_rows import COLUMN_CODE, LoadedData
from assay.dialects.openicl.entries import ConfigEntry
from assay.dialects.openicl.entry_manifest import build_task_spec
from assay.dialects.openicl.entry_validation import (
    TEMPLATE_CODE,
    EntryContext,
    EntryParts,
    OpenIclTools,
    read_entry_parts,
)
from assay.dialects.openicl.evaluation import EntryEvaluation
from assay.dialects.openicl.example_selection import (
    ExampleChoosingTask,
    build_entry_corpus,
    list_selected_rows,
    pick_examples,
)
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.task import (
    ConfigTask,
    RequestInputs,
    RowConversation,
    UnreadableTurns,
    read_conversation,
)
from assay.dialects.shared.plain_rows import LazyRows

_CHOICES, _CONTINUATION = "choices", "cont"


def find_labels(parts: EntryParts, output_column: str | None, where: Origin) -> Sequence[tuple[Any, ...]]:
    """Return the labels to compare for each row; none if the model generates text."""
    inference, test = parts.inference, parts.data.test
    if inference.form == "choices":
        return _choices(parts)
    if inference.form not in ("options", "continuation"):
        return [()] * len(test)
    if inference.form == "continuation":
        _check_continuations(parts)
    labels = inference.labels or parts.templates.labels or _answers(parts.data, output_column)
    if not labels:
        what = f"{inference.name} compares labels, but neither the template nor a column defines any"
        fix = "write the template as a dict from each label to its text"
        raise AuthorError(Problem(TEMPLATE_CODE, what, fix, where))
    names = Counter(map(str, labels))
    if len(names) < len(labels):
        what = f"two labels have the same name {names.most_common(1)[0][0]!r}"
        raise AuthorError(Problem(TEMPLATE_CODE, what, "give each label a unique name", where))
    return [labels] * len(test)


def _check_continuations(parts: EntryParts) -> None:
    """Raise for all rows without a continuation to score after the labels."""
    problems = Problems()
    for row, origin in zip(parts.data.test.rows, parts.data.test.origins, strict=True):
        value = row.get(_CONTINUATION)
        if not isinstance(value, str) or not value:
            what = f"{parts.inference.name} scores the column {_CONTINUATION!r}, which is {value!r:.60}"
            problems.add(Problem(COLUMN_CODE, what, "return a text in this column from load", origin))
    problems.raise_if_any()


def _choices(parts: EntryParts) -> Sequence[tuple[Any, ...]]:
    """Return the options from a column; as in the original, a row without any has those of the first."""
    test = parts.data.test
    first = test.rows[0].get(_CHOICES)
    if not isinstance(first, list | tuple) or not first:
        what = f"{parts.inference.name} compares the options in column {_CHOICES!r}, which is {first!r:.60}"
        fix = f"return the options of each row in {_CHOICES!r} from load"
        raise AuthorError(Problem(COLUMN_CODE, what, fix, test.origins[0]))
    return LazyRows(test.rows, lambda row: tuple(row.get(_CHOICES) or first))


def _answers(data: LoadedData, column: str | None) -> tuple[Any, ...]:
    """Return the distinct right answers of all rows, in a stable order."""
    if not column:
        return ()
    found = (row.get(column) for row in chain(data.test.rows, data.train.rows))
    return tuple(sorted(dict.fromkeys(one for one in found if one is not None), key=str))


def describe_settings(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the settings that the manifest stores as (name, description) pairs."""
    rows = [("class", str(settings["dataset_class"]))]
    if settings["prompt_hash"]:
        rows.append(("hash", f"{settings['prompt_hash']} (prompt)"))
    rows += [
        ("prompt", f"{settings['prompt_format']}, with {settings['inferencer']['name']}"),
        ("evaluator", _describe_evaluation(settings)),
    ]
    if settings["shots"]:
        rows.append(("shots", f"{settings['shots']}, from {settings['retriever']['name']}"))
    if settings["n"] > 1:
        rows.append(("repeats", f"{settings['n']} requests per row"))
    return tuple(rows)


def _describe_evaluation(settings: Mapping[str, Any]) -> str:
    through = " > ".join(settings["postprocessors"])
    return f"{settings['evaluator']}, after {through}" if through else str(settings["evaluator"])


_PLAIN_ACCURACY = ("AccEvaluator", "AccwithDetailsEvaluator")
_LENGTH_COLUMN = "max_out_len"
_KINDS = {"answer": "free-form answer", "chat": "conversation", "text": "text"}


def build_author_code(
    entries: Sequence[ConfigEntry], arguments: ConfigArguments, tools: OpenIclTools
) -> AuthorCode:
    """Return the code that the entries of one config can refer to."""
    folders = [path.absolute().parent for one in entries for path in reversed(one.config.files)]
    own = [
        folder for folder in dict.fromkeys(folders) if not _is_checkout_config_folder(folder, arguments.root)
    ]
    return AuthorCode(own, arguments.root, tools.data_root, tools.offered)


def _is_checkout_config_folder(folder: Path, root: Path | None) -> bool:
    """Whether a folder contains a checkout's configs, whose files have module names but no code."""
    if root is None or not folder.is_relative_to(root.absolute()):
        return False
    return "configs" in folder.relative_to(root.absolute()).parts


def compile_entry(config_entry: ConfigEntry, source: str, context: EntryContext) -> Compilation[ConfigTask]:
    """Compile one entry. `source`: the dataset name as given."""
    return _Compilation(config_entry, source, context).compile()


class _Compilation:
    """The compilation of one entry."""

    def __init__(self, config_entry: ConfigEntry, source: str, context: EntryContext) -> None:
        assert isinstance(config_entry.entry, DatasetEntry)
        self._config_entry = config_entry
        self._entry = config_entry.entry
        self._source = source
        self._context = context
        self._settings = context.settings
        self._parts = read_entry_parts(config_entry, context)
        self._test = self._parts.data.test
        self._inference = self._parts.inference

    def compile(self) -> Compilation[ConfigTask]:
        """Return the compiled entry."""
        parts, is_faithful = self._parts, self._settings.is_faithful
        labels = find_labels(parts, self._entry.reader_cfg.output_column, self._config_entry.where)
        corpus = build_entry_corpus(self._entry, parts, labels, self._context, self._config_entry.where)
        asking = RequestInputs(
            parts.inference,
            parts.templates,
            parts.data.test,
            parts.data.train,
            pick_examples(parts, corpus, self._context),
            labels,
            self._conversation(),
            is_chat=self._settings.is_chat,
            is_whole=self._settings.score_by is None and not self._settings.is_chat,
            keeps_spaces=is_faithful,
            has_own_length=self._has_own_length(),
            asks_one_by_one=self._has_blank_failures and parts.inference.sampling.temperature > 0,
        )
        self._check_turns(asking)
        samples = self._samples(labels)
        spec = build_task_spec(self._config_entry, self._source, parts, self._context)
        scorers = [self._scorer(labels, samples)]
        task = ConfigTask(spec, samples, asking, scorers)
        if isinstance(parts.retriever, MDLRetriever) and corpus is not None:
            rows = list_selected_rows(parts, self._context)
            task = ExampleChoosingTask(
                spec, samples, asking, scorers, parts.retriever, corpus, rows, is_faithful=is_faithful
            )
        if not isinstance(parts.templates, MultimodalPrompts):
            self._check_prompts(task)
        kind = _KINDS.get(parts.inference.form, "choice")
        facts = describe_settings(task.spec.settings)
        return Compilation(task, tuple(dict.fromkeys(parts.notes)), kind, facts)

    def _conversation(self) -> Callable[[Mapping[str, Any]], RowConversation]:
        """Return the function that reads the turns of a row, from the template or from a column."""
        templates = self._parts.templates
        column = self._entry.reader_cfg.input_columns[0] if self._entry.reader_cfg.input_columns else ""

        def read(row: Mapping[str, Any]) -> RowConversation:
            turns = templates.turns(row)
            if turns:
                return RowConversation(
                    (), tuple(one.user for one in turns), tuple(one.reference for one in turns)
                )
            return read_conversation(row.get(column))

        return read

    def _check_turns(self, asking: RequestInputs) -> None:
        if self._inference.form != "chat":
            return
        problems = Problems()
        for row, origin in zip(self._test.rows, self._test.origins, strict=True):
            try:
                conversation = asking.conversation(row)
                if self._inference.turn_mode != "every" and None in conversation.references[:-1]:
                    turn = conversation.references.index(None) + 1
                    raise UnreadableTurns(f"turn {turn} has no right answer, which the next turn needs")
            except UnreadableTurns as error:
                problems.add(Problem(COLUMN_CODE, str(error), "correct the row", origin))
        problems.raise_if_any()

    def _check_prompts(self, task: ConfigTask) -> None:
        """Raise for all rows whose prompt cannot be rendered, before a model is loaded."""
        problems = Problems()
        for origin, why in task.troubles():
            problems.add(Problem(TEMPLATE_CODE, why, "correct the row or the template", origin))
        problems.raise_if_any()

    def _has_own_length(self) -> bool:
        is_read = (
            _LENGTH_COLUMN in self._entry.reader_cfg.input_columns and _LENGTH_COLUMN in self._test.columns
        )
        if not is_read or self._settings.max_tokens is not None:
            return False
        problems = Problems()
        for row, origin in zip(self._test.rows, self._test.origins, strict=True):
            value = row.get(_LENGTH_COLUMN)
            if isinstance(value, bool) or not str(value).isdecimal() or int(str(value)) < 1:
                what = f"found {value!r:.60}, expected a number of tokens, at least 1"
                problems.add(Problem(COLUMN_CODE, what, "correct the value", origin.at(_LENGTH_COLUMN)))
        problems.raise_if_any()
        return True

    def _samples(self, labels: Sequence[tuple[Any, ...]]) -> Sequence[Sample]:
        test = self._test

        def make_sample(number: int) -> Sample:
            fields = test.fields[number]
            names = tuple(map(str, labels[number]))
            gold = self._parts.golds[number]
            right = tuple(at for at, name in enumerate(names) if name == _label_name(gold))
            targets = () if names else _texts(gold)
            choices = tuple(_option_text(fields, name) for name in names)
            return Sample(
                test.ids[number],
                fields,
                test.origins[number],
                choices,
                names,
                right,
                targets,
                # All orders of a question's options count as one question.
                cluster=str(fields[QUESTION_COLUMN])
                if ORDER_COLUMN in fields and QUESTION_COLUMN in fields
                else None,
            )

        return LazyRows(range(len(test)), make_sample)

    def _evaluation(self, labels: Sequence[tuple[Any, ...]]) -> EntryEvaluation:
        golds, rows = self._parts.golds, self._test.rows
        reference = self._context.tools.scoring.reference
        part = f"{self._entry.abbr}_{self._test.name}" if self._test.name else self._entry.abbr

        def build_reference(number: int, prompt: str) -> Any:
            # The originals' base class adds two columns to every row, which evaluators may use.
            added = {"subdivision": part, "idx": self._test.numbers[number]}
            return reference(golds[number], {**added, **rows[number]}, prompt)

        return EntryEvaluation(
            self._parts.scoring,
            self._test,
            golds,
            labels,
            self._inference,
            build_reference,
            blanks_failures=self._has_blank_failures,
        )

    @property
    def _has_blank_failures(self) -> bool:
        """Whether a failed request counts as an empty answer, as in AISBench."""
        is_aisbenchs = self._settings.is_faithful and self._entry.is_aisbench
        return is_aisbenchs and self._inference.form == "answer"

    def _are_golds_labels(self, samples: Sequence[Sample]) -> bool:
        """Whether every right answer is one of the labels; raise otherwise, except in a faithful run."""
        problems = Problems()
        for sample, gold in zip(samples, self._parts.golds, strict=True):
            if gold is not None and not sample.gold:
                what = f"the right answer {gold!r:.60} is not one of the labels {listing(sample.labels)}"
                fix = "correct the row, the labels or dataset_postprocessor"
                problems.add(Problem(COLUMN_CODE, what, fix, sample.origin))
        is_each = not problems.total
        if self._settings.is_faithful and self._inference.form != "choices":
            return is_each  # The original counts such rows as wrong.
        problems.raise_if_any()
        return True

    def _scorer(self, labels: Sequence[tuple[Any, ...]], samples: Sequence[Sample]) -> ComponentSpec:
        inner, evaluation = self._name_choice_scorer(), self._evaluation(labels)
        is_plain = self._parts.scoring.evaluator_name in _PLAIN_ACCURACY and not evaluation.found_labels
        if inner is not None and is_plain and self._are_golds_labels(samples):
            return inner
        args = {"track": self._inference.method, "author": evaluation, "inner": inner}
        return ComponentSpec("author_metrics", args)

    def _name_choice_scorer(self) -> ComponentSpec | None:
        """Return the scorer that chooses between options; None if the model generates text."""
        inference, settings = self._inference, self._settings
        args: dict[str, Any] = {"track": inference.method}
        if inference.form == "continuation":
            return ComponentSpec("option_likelihood", {**args, "score_by": settings.score_by or "sum"})
        if inference.form == "choices":
            return ComponentSpec("label_probability", args)
        if inference.form != "options":
            return None
        is_normalised = inference.normalizing_str is not None
        if settings.score_by is not None or (settings.is_chat and not is_normalised):
            return ComponentSpec("option_likelihood", {**args, "score_by": settings.score_by or "per_token"})
        return ComponentSpec(
            "whole_text_likelihood", {**args, "faithful": settings.is_faithful, "normalised": is_normalised}
        )


def _label_name(gold: Any) -> str:
    """Return a right answer as a label name: a column of integers with gaps contains 1.0 instead of 1."""
    return str(int(gold)) if isinstance(gold, float) and gold.is_integer() else str(gold)


def _texts(gold: Any) -> tuple[str, ...]:
    if gold is None:
        return ()
    several = gold if isinstance(gold, list | tuple) else (gold,)
    return tuple(map(str, several))


def _option_text(fields: Mapping[str, Any], label: str) -> str:
    """Return the text of an option: the column named like its label, or else the label."""
    value = fields.get(label)
    return value if isinstance(value, str) and value else label
