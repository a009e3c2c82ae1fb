"""MDL: the set of examples with the lowest entropy, and its requests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import AuthorError
from assay.core.ids import digest
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Kind, Request, Span, make_request
from assay.core.response import Failure, Likelihood, Outcome
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Rehearse, Scorer, TaskSpec
from assay.dialects.openicl.retrievers.corpus import Losses, Trial
from assay.dialects.openicl.retrievers.mdl import MDLRetriever, compute_entropy
from assay.dialects.openicl.retrievers.registry import make_retriever
from fakes.openicl_corpus import corpus, rows, vectors
from fakes.rehearsals import Rehearsed

TRAIN = [f"train {n}" for n in range(30)]
TEST = [f"test {n}" for n in range(10)]
SETS = {"ice_num": 3, "candidate_num": 8, "select_time": 6, "labels": ["yes", "no", "maybe"]}


def mdl(**more: Any) -> MDLRetriever:
    made = make_retriever("MDLRetriever", {**SETS, **more})
    assert isinstance(made, MDLRetriever)
    return made


class HashModel:
    """Answers trials by a hash, and remembers them."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.labels: Sequence[Any] = ()

    def __call__(self, trials: Sequence[Trial], labels: Sequence[Any]) -> list[list[float]]:
        self.trials += trials
        self.labels = labels
        return [self.losses(trial, labels) for trial in trials]

    @staticmethod
    def losses(trial: Trial, labels: Sequence[Any]) -> list[float]:
        return [int(digest([trial, label])[:4], 16) / 65536 * 4 for label in labels]


@given(st.lists(st.floats(0, 800), min_size=1, max_size=6), st.floats(-50, 50))
def test_entropy_is_that_of_the_normalised_probabilities(losses: list[float], shift: float) -> None:
    weights = np.exp(-(np.array(losses) - min(losses)))
    shares = weights / weights.sum()
    expected = float(-sum(share * math.log(share) for share in shares if share > 0))
    assert compute_entropy(losses) == pytest.approx(expected, abs=1e-12)
    assert compute_entropy([loss + shift for loss in losses]) == pytest.approx(expected, abs=1e-9)


def test_a_label_that_is_all_but_impossible_adds_nothing() -> None:
    assert compute_entropy([2.0, 2.0, 747.0]) == pytest.approx(math.log(2))


def test_sets_are_the_nearest_and_draws_from_near_ones() -> None:
    asked = HashModel()
    decided = mdl().decide(corpus(rows(*TRAIN), rows(*TEST), losses=asked))
    assert asked.labels == ("yes", "no", "maybe")
    for row, text in enumerate(TEST):
        cosines = vectors(TRAIN) @ vectors([text])[0]
        near = sorted(range(30), key=lambda at: -cosines[at])[:8]
        tried = [trial.shots for trial in asked.trials if trial.row == row]
        assert tried[0] == tuple(near[:3])
        assert 1 < len(tried) <= 6
        assert all(len(set(one)) == 3 and set(one) <= set(near) for one in tried)
        doubts = {one: compute_entropy(asked.losses(Trial(row, one), asked.labels)) for one in tried}
        assert decided[row] == (min(doubts, key=doubts.__getitem__), min(doubts.values()), len(tried))


def test_draws_differ_from_row_to_row_and_by_seed() -> None:
    def tried(seed: int) -> list[Trial]:
        asked = HashModel()
        mdl().pick(corpus(rows(*TRAIN), rows("same words", "same words"), losses=asked, seed=seed))
        return asked.trials

    assert tried(0) == tried(0)
    assert tried(0) != tried(1)
    first, second = ([trial.shots for trial in tried(0) if trial.row == row] for row in (0, 1))
    assert first[0] == second[0]
    assert first != second


def test_the_original_draws_for_one_row_after_the_other() -> None:
    asked = HashModel()
    mdl(seed=5).pick(corpus(rows(*TRAIN), rows(*TEST), losses=asked), is_faithful=True)
    state = np.random.get_state()
    np.random.seed(5)
    for row, text in enumerate(TEST):
        cosines = vectors(TRAIN) @ vectors([text])[0]
        near = sorted(range(30), key=lambda at: -cosines[at])[:8]
        drawn = [tuple(np.random.choice(near, 3, replace=False).tolist()) for _ in range(5)]
        expected = list(dict.fromkeys([tuple(near[:3]), *drawn]))
        assert [trial.shots for trial in asked.trials if trial.row == row] == expected
    np.random.set_state(state)


def test_a_set_without_an_answer_is_not_chosen_and_without_any_the_nearest_are() -> None:
    def losses(trials: Sequence[Trial], labels: Sequence[Any]) -> list[list[float] | None]:
        firsts: dict[int, Trial] = {}
        for trial in trials:
            firsts.setdefault(trial.row, trial)
        return [[0.0, 9.0, 9.0] if trial.row == 0 and trial != firsts[0] else None for trial in trials]

    asked = HashModel()
    mdl().pick(corpus(rows(*TRAIN), rows(*TEST), losses=asked))
    nearest = [next(trial.shots for trial in asked.trials if trial.row == row) for row in (0, 1)]
    first, second, *_ = mdl().decide(corpus(rows(*TRAIN), rows(*TEST), losses=losses))
    assert first.shots != nearest[0]
    assert first.n_tried > 0
    assert second == (nearest[1], None, 0)


def test_labels_are_those_of_the_dataset_where_the_retriever_names_none() -> None:
    asked = HashModel()
    train = [{"q": text, "a": "AB"[at % 2]} for at, text in enumerate(TRAIN)]
    mdl(labels=None).pick(corpus(train, rows(*TEST), losses=asked))
    assert asked.labels == ("A", "B")


def test_fewer_than_two_labels_are_an_error_before_the_model_is_asked() -> None:
    made = corpus([{"q": text, "a": "A"} for text in TRAIN], rows(*TEST))
    with pytest.raises(AuthorError, match="OPENICL-030 MDLRetriever compares labels, but there are 1"):
        mdl(labels=None).check(made)


class LossTask:
    """A small task that asks how likely each label is after the examples of a trial."""

    kinds = frozenset({Kind.SPAN})

    def __init__(self, name: str, trials: Sequence[Trial], labels: Sequence[Any]) -> None:
        self._trials = trials
        self._labels = labels
        self.spec = TaskSpec(name, "openicl", "quiz_ppl.py", "", (Method.PPL,), len(trials), len(trials))

    def samples(self) -> Iterator[Sample]:
        return (Sample(str(number), {}, Origin("quiz_ppl.py")) for number in range(len(self._trials)))

    def requests(self, sample: Sample, *, shots: int | None = None) -> list[Request]:
        row, examples = self._trials[int(sample.id)]
        before = "".join(f"{TRAIN[at]}\n" for at in examples) + TEST[row]
        spans = [Span(f"{before} {label}", len(before)) for label in self._labels]
        return [
            make_request(self.spec.name, sample.id, "ppl", "label", at, ask) for at, ask in enumerate(spans)
        ]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        return [_Losses()]


class _Losses:
    track = Method.PPL

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Hand the losses on, as parts of the score."""
        known = (answers[0].request.task, sample.id, self.track, "losses")
        outcomes = [answer.response.outcome for answer in answers]
        losses = [-one.sum_logprob for one in outcomes if isinstance(one, Likelihood)]
        if len(losses) < len(outcomes):
            return Score(*known, Verdict.FAILED, why="a label has no likelihood")
        return Score(*known, Verdict.UNGRADED, also=dict(zip("0123", losses, strict=False)))


def losses_by(rehearse: Rehearse) -> Losses:
    """Return losses that a task gets of the model before its samples."""

    def losses(trials: Sequence[Trial], labels: Sequence[Any]) -> list[Sequence[float] | None]:
        (scores,) = rehearse([LossTask("quiz#mdl", trials, labels)])
        return [None if score.verdict is Verdict.FAILED else list(score.also.values()) for score in scores]

    return losses


def test_losses_come_from_the_model_before_the_samples() -> None:
    def outcome(asked: Request) -> Outcome:
        assert isinstance(asked.ask, Span)
        assert isinstance(asked.ask.prompt, str)
        if TEST[3] in asked.ask.prompt:
            return Failure("too_long", "no room")
        value = int(digest(asked.ask.prompt)[:4], 16) / 65536
        return Likelihood(-value, 1, 1, 1, is_greedy=False, n_prompt_tokens=1)

    rehearse = Rehearsed(outcome)
    made = corpus(rows(*TRAIN), rows(*TEST))
    decided = mdl().decide(msgspec.structs.replace(made, losses=losses_by(rehearse)))
    assert decided[3].entropy is None
    assert all(one.entropy is not None for row, one in enumerate(decided) if row != 3)
