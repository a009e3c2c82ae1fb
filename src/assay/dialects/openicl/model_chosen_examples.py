"""A task whose examples the model chooses: sets of examples are tried for each row before the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Request, Span, make_request
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import ComponentSpec, Rehearse, TaskSpec
from assay.dialects.openicl.retrievers.corpus import Corpus, Trial
from assay.dialects.openicl.retrievers.mdl import MDLRetriever
from assay.dialects.openicl.task import ConfigTask, RequestInputs
from assay.dialects.shared.described_task import DescribedTask

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
            prompt, start, _ = self._asking.templates.labelled(self._asking.test.rows[row], shown, label)
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
