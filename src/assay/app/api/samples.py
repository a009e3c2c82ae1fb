"""The samples of a run as objects: what was asked, what the model replied, and what it scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from assay.core.errors import Problem, UsageError, listing, suggest_name
from assay.core.prompt import AFTER_TURN, Prompt
from assay.core.response import Completion, Failure, Response
from assay.core.score import Score, Verdict
from assay.results.read import StoredRun
from assay.results.records import SampleRecord

CODE = "USAGE-007"


@dataclass(frozen=True)
class Answer:
    """What one method got for one sample."""

    method: str
    messages: tuple[dict[str, str], ...]
    """The prompt as messages; empty if it is plain text."""
    prompt: str
    """The prompt as one text."""
    reply: str | None
    """The text that the model wrote; None for ppl and prob, and if it failed."""
    replies: tuple[str, ...]
    """All texts, if several were requested."""
    answer: str | None
    """The answer found in the reply, or the chosen option."""
    target: str | None
    """The right answer."""
    score: float | None
    """The value of the metric; None if there is none."""
    verdict: str
    """`scored`, `unanswered`, `failed` or `ungraded`."""
    metric: str
    rule: str | None
    """The rule that found the answer."""
    why: str | None
    """Why it failed."""

    @property
    def is_right(self) -> bool:
        """Whether the answer has the full score."""
        return self.verdict == Verdict.SCORED and self.score is not None and self.score >= 1


@dataclass(frozen=True)
class SampleResult:
    """One sample. With a single method, the attributes of its answer are also its own."""

    id: str
    task: str
    index: int
    """Its position among the samples, from 0."""
    fields: dict[str, Any]
    """The row as it was read."""
    choices: tuple[str, ...]
    group: str | None
    answers: dict[str, Answer] = field(repr=False)
    """The answer of each method."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the only answer."""
        if name.startswith("_") or (name not in Answer.__dataclass_fields__ and name != "is_right"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if len(self.answers) != 1:
            what = f"sample {self.id} has {len(self.answers)} answers: {listing(self.answers) or 'none'}"
            example = next(iter(self.answers), "gen")
            fix = f"name the method: sample.answers[{example!r}].{name}"
            raise UsageError(Problem(CODE, what, fix))
        (answer,) = self.answers.values()
        return getattr(answer, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *Answer.__dataclass_fields__, "is_right"})


class Samples(Sequence[SampleResult]):
    """The samples of a run in the order of the dataset; `samples[0]` and `samples["id"]` return one."""

    def __init__(self, samples: Sequence[SampleResult]) -> None:
        self._samples = samples
        self._by_id: dict[str, list[SampleResult]] = {}
        for sample in samples:
            self._by_id.setdefault(sample.id, []).append(sample)

    @overload
    def __getitem__(self, wanted: int | str) -> SampleResult: ...
    @overload
    def __getitem__(self, wanted: slice) -> Samples: ...
    def __getitem__(self, wanted: int | str | slice) -> SampleResult | Samples:
        """Return a sample by its position or id, or a part of the samples."""
        if isinstance(wanted, slice):
            return Samples(self._samples[wanted])
        if isinstance(wanted, int):
            return self._samples[wanted]
        found = self._by_id.get(wanted, [])
        if len(found) == 1:
            return found[0]
        if found:
            tasks = [sample.task for sample in found]
            what = f"{len(found)} samples have the id {wanted!r}, in the tasks {listing(tasks)}"
            raise UsageError(
                Problem(CODE, what, f"choose the task: result[{tasks[0]!r}].samples[{wanted!r}]")
            )
        what = f"there is no sample {wanted!r}{suggest_name(str(wanted), self._by_id)}"
        first = listing(list(self._by_id)[:5])
        raise UsageError(Problem(CODE, what, f"give a position or an id; the first ids are {first}"))

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[SampleResult]:
        return iter(self._samples)

    def __repr__(self) -> str:
        return f"<{len(self)} samples, {len(self.wrong)} not right>"

    @property
    def wrong(self) -> Samples:
        """The samples that at least one method does not have right, including failed ones."""
        return self.filter(lambda sample: not all(one.is_right for one in sample.answers.values()))

    def filter(self, keeps: Callable[[SampleResult], bool]) -> Samples:
        """Return the samples for which a function returns True."""
        return Samples([sample for sample in self._samples if keeps(sample)])


def read_samples(run: StoredRun) -> Samples:
    """Read all samples of a run with their answers."""
    scores: dict[tuple[str, str], list[Score]] = {}
    for score in run.scores():
        scores.setdefault((score.task, score.sample_id), []).append(score)
    responses = {response.request_id: response for response in run.responses()}
    samples = []
    for index, record in enumerate(run.samples()):
        sample = record.sample
        own = scores.get((record.task, sample.id), [])
        answers = {str(score.track): _build_answer(record, score, responses) for score in own}
        samples.append(
            SampleResult(sample.id, record.task, index, sample.fields, sample.choices, sample.group, answers)
        )
    return Samples(samples)


def _build_answer(record: SampleRecord, score: Score, responses: dict[str, Response]) -> Answer:
    asks = [ask for ask in record.asks if ask.track == score.track]
    prompt: Prompt = record.contexts[asks[0].context] if asks else ""
    outcomes = [responses[ask.id].outcome for ask in asks if ask.id in responses]
    texts = [one.text for outcome in outcomes if isinstance(outcome, Completion) for one in outcome.outputs]
    failures = [outcome.message for outcome in outcomes if isinstance(outcome, Failure)]
    messages = () if isinstance(prompt, str) else prompt
    return Answer(
        method=str(score.track),
        messages=tuple({"role": one.role, "content": one.display_text} for one in messages),
        prompt=prompt if isinstance(prompt, str) else AFTER_TURN.join(one.display_text for one in messages),
        reply=texts[0] if texts else None,
        replies=tuple(texts),
        answer=score.answer,
        target=score.target,
        score=score.value,
        verdict=str(score.verdict),
        metric=score.metric,
        rule=score.rule,
        why=score.why or (failures[0] if failures else None),
    )
