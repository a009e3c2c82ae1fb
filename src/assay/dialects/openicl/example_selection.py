"""Selection of the examples for each row, by a retriever or by the model itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import AuthorError, Problem
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Request, Span, make_request
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import ComponentSpec, Rehearse, TaskSpec
from assay.dialects.openicl.config.entry import DatasetEntry
from assay.dialects.openicl.dataset_rows import COLUMN_CODE
from assay.dialects.openicl.entry_validation import TEMPLATE_CODE, EntryContext, EntryParts
from assay.dialects.openicl.multimodal_prompts import MULTIMODAL_TEMPLATE as MULTIMODAL
from assay.dialects.openicl.multimodal_prompts import MultimodalPrompts
from assay.dialects.openicl.retrievers.corpus import Corpus, Trial, build_corpus, build_text_joiner
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.task import ConfigTask, RequestInputs
from assay.dialects.shared.described_task import DescribedTask
from assay.dialects.shared.plain_rows import LazyRows


def build_entry_corpus(
    entry: DatasetEntry,
    parts: EntryParts,
    labels: Sequence[tuple[Any, ...]],
    context: EntryContext,
    where: Origin,
) -> Corpus | None:
    """Return the corpus for selecting examples; None if no examples are used."""
    retriever, test, train = parts.retriever, parts.data.test, parts.data.train
    if not retriever.count:
        return None
    if isinstance(parts.templates, MultimodalPrompts):
        what = f"{type(retriever).__name__} selects examples, but {MULTIMODAL} does not support them"
        raise AuthorError(Problem(TEMPLATE_CODE, what, "write retriever=dict(type=ZeroRetriever)", where))
    if parts.data.lacks_train is not None:
        what = f"{type(retriever).__name__} selects examples, but {parts.data.lacks_train}"
        raise AuthorError(Problem(COLUMN_CODE, what, "correct reader_cfg.train_split", where))
    encoder = _encoder(parts, context)
    rows = list_selected_rows(parts, context)
    return build_corpus(
        train.rows,
        LazyRows(rows, test.rows.__getitem__),
        text=build_text_joiner(entry.reader_cfg.input_columns),
        question=build_text_joiner(_list_question_columns(entry, parts)),
        output_column=entry.reader_cfg.output_column,
        sample_ids=LazyRows(rows, test.ids.__getitem__),
        task=entry.name,
        seed=context.settings.seed,
        places=LazyRows(rows, test.numbers.__getitem__),
        labels=labels[0],
        train_split=train.name or entry.reader_cfg.train_split,
        where=where,
        embedder=context.tools.open_embedder(encoder) if retriever.needs_embedder else None,
    )


def _list_question_columns(entry: DatasetEntry, parts: EntryParts) -> list[str]:
    """Return the columns that distinguish rows: the input, and the template's columns except the answer."""
    known = parts.data.test.columns
    shown = {*entry.reader_cfg.input_columns, *parts.templates.columns} - {entry.reader_cfg.output_column}
    return [name for name in known if name in shown and name in parts.data.train.columns]


def list_selected_rows(parts: EntryParts, context: EntryContext) -> Sequence[int]:
    """Return the rows that need examples: those within the limit.

    The originals draw over all rows in sequence, so a faithful run needs all rows.
    """
    ids, limit = parts.data.test.ids, context.settings.limit
    if limit is None or (context.settings.is_faithful and not parts.retriever.needs_model):
        return range(len(ids))
    chosen = limit.select_ids(ids, context.settings.seed)
    return [at for at, row_id in enumerate(ids) if row_id in chosen]


def pick_examples(
    parts: EntryParts, corpus: Corpus | None, context: EntryContext
) -> Sequence[tuple[int, ...]]:
    """Return the examples of each row. Examples chosen by the model are selected later, before the run."""
    is_faithful = context.settings.is_faithful
    every: list[tuple[int, ...]] = [()] * len(parts.data.test)
    if corpus is None:
        return every
    if parts.retriever.needs_model:
        parts.retriever.check(corpus, is_faithful=is_faithful)
        return every
    found = parts.retriever.pick(corpus, is_faithful=is_faithful)
    for row, shots in zip(list_selected_rows(parts, context), found, strict=True):
        every[row] = shots
    return every


def _encoder(parts: EntryParts, context: EntryContext) -> str | None:
    """Return the folder of the encoder, from the arguments or from the config."""
    named = parts.retriever.encoder
    return context.arguments.embedder or (named if named and Path(named).is_dir() else None)


_TRACK = Method.PPL


class _TrialTask(DescribedTask):
    """Requests the likelihood of each label after the examples of each trial."""

    def __init__(
        self, name: str, source: str, asking: RequestInputs, trials: Sequence[Trial], labels: Sequence[Any]
    ):
        spec = TaskSpec(name, "openicl", source, "", (_TRACK,), len(trials), len(trials))
        super().__init__(spec)
        self._asking = asking
        self._trials = {_trial_id(asking, trial): trial for trial in trials}
        self._labels = labels

    def samples(self) -> Iterator[Sample]:
        """Yield one sample per trial."""
        labels = tuple(map(str, self._labels))
        where = Origin(self._spec.source)
        return (Sample(trial, {}, where, labels, labels) for trial in self._trials)

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the likelihood requests for all labels; a set of examples is never shortened."""
        row, picked = self._trials[sample.id]
        shown = [self._asking.train.rows[at] for at in picked]
        made = []
        for index, label in enumerate(self._labels):
            prompt, start, _ = self._asking.templates.render_label(self._asking.test.rows[row], shown, label)
            ask = Span(prompt, start)
            made.append(make_request(self._spec.name, sample.id, _TRACK, "option", index, ask, len(shown)))
        return made

    def scorers(self) -> Sequence[ComponentSpec]:
        """Return the scorer that passes the likelihoods on."""
        return [ComponentSpec("option_likelihood", {"track": _TRACK, "score_by": "sum"})]


class ExampleChoosingTask(ConfigTask):
    """An entry whose retriever compares sets of examples by the model's predictions."""

    def __init__(
        self,
        spec: TaskSpec,
        samples: Sequence[Sample],
        asking: RequestInputs,
        scorers: Sequence[ComponentSpec],
        retriever: MDLRetriever,
        corpus: Corpus,
        rows: Sequence[int],
        *,
        is_faithful: bool,
    ) -> None:
        """Store the corpus of the selected rows, and their positions among all rows."""
        super().__init__(spec, samples, asking, scorers)
        self._rows = rows
        self._retriever = retriever
        self._corpus = corpus
        self._is_faithful = is_faithful

    def prepare(self, rehearse: Rehearse) -> Sequence[str]:
        """Try the sets of every row, and use the one with the lowest entropy over labels."""

        def losses(trials: Sequence[Trial], labels: Sequence[Any]) -> list[Sequence[float] | None]:
            placed = [Trial(self._rows[trial.row], trial.shots) for trial in trials]
            asked = _TrialTask(f"{self._spec.name}~mdl", self._spec.source, self._asking, placed, labels)
            (scores,) = rehearse([asked])
            found = {score.sample_id: _losses(score) for score in scores}
            return [found.get(_trial_id(self._asking, trial)) for trial in placed]

        corpus = msgspec.structs.replace(self._corpus, losses=losses)
        decided = self._retriever.decide(corpus, is_faithful=self._is_faithful)
        picked = list(self._asking.picked)
        for row, one in zip(self._rows, decided, strict=True):
            picked[row] = one.shots
        self._asking = self._asking._replace(picked=picked)
        chosen = {self._asking.test.ids[row]: list(picked[row]) for row in self._rows}
        self._spec = msgspec.structs.replace(self._spec, chosen={"examples": chosen})
        unknown = sum(one.entropy is None for one in decided)
        note = f"{self._spec.name}: each row uses the set of examples with the lowest entropy over labels"
        return [
            note,
            *(
                [f"{unknown:,} rows use the nearest examples: the model answered none of them"]
                if unknown
                else []
            ),
        ]


def _trial_id(asking: RequestInputs, trial: Trial) -> str:
    return f"{asking.test.ids[trial.row]}:{','.join(map(str, trial.shots))}"


def _losses(score: Score) -> list[float] | None:
    if score.verdict is Verdict.FAILED:
        return None
    return [-(option.sum_logprob or 0.0) for option in score.options]
