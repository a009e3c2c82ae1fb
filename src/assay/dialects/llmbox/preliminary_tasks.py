"""Small tasks that run before the samples, to find out what to show.

They are ordinary tasks, so the journal, the cache and the context limit apply in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from assay.core.errors import BackendError
from assay.core.method import Method
from assay.core.origin import Origin
from assay.core.request import Ask, Generate, Kind, Request, Span, make_request
from assay.core.response import Completion, Failure, Likelihood
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest, ComponentSpec, Rehearse, Scorer, TaskSpec
from assay.dialects.llmbox.calling import DatasetAuthor
from assay.dialects.llmbox.formatted_dataset import FormattedDataset
from assay.dialects.llmbox.formatting import Instance, letters
from assay.dialects.llmbox.prompts import PromptExamples
from assay.dialects.llmbox.task import ClassTask, RequestSettings

TaskT = TypeVar("TaskT", bound=ClassTask)


def build_rehearsal(
    kind: type[TaskT], name: str, method: Method, prepared: FormattedDataset, asking: RequestSettings
) -> TaskT:
    """Return a task over prepared rows that are not part of the evaluation."""
    where = Origin(str(prepared.author.path))
    samples = [
        Sample(
            sample_id,
            {},
            where,
            choices=one.choices,
            labels=letters(len(one.choices)),
        )
        for sample_id, one in zip(prepared.index, prepared.instances, strict=True)
    ]
    return kind(_spec(name, where.path, method, len(samples)), samples, {method: prepared}, asking)


def _spec(name: str, source: str, method: Method, n_samples: int) -> TaskSpec:
    return TaskSpec(name, "llmbox", source, "", (method,), n_samples, n_samples)


class ProbeTask(ClassTask):
    """Questions whose chosen option is needed, right or wrong."""

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer that determines the chosen option."""
        inner = (self._inner(method, prepared) for method, prepared in self._prepared.items())
        return [spec for spec in inner if spec is not None]


class TargetTask(ClassTask):
    """The likelihood of the right answer, for questions with free answers."""

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer that returns the likelihood."""
        return [_LogLikelihoodScorer(method) for method in self._prepared]

    def _asks(
        self, method: Method, prepared: FormattedDataset, row: Instance, examples: PromptExamples
    ) -> Iterator[tuple[str, int, Ask]]:
        before = self._render_opening(examples, row.sources[0], prepared.lead)
        yield "target", 0, Span(*before.followed_by(row.target or ""))


class _LogLikelihoodScorer:
    def __init__(self, track: Method) -> None:
        self.track = track

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the log-probability of the right answer."""
        ((request, response),) = answers
        outcome = response.outcome
        known = (request.task, sample.id, self.track, "log_likelihood")
        if isinstance(outcome, Likelihood):
            return Score(*known, Verdict.SCORED, outcome.sum_logprob)
        return Score(*known, Verdict.FAILED, why=_format_failure(outcome))


class WritingTask:
    """Texts for the model to write; the answer of each score is one of them."""

    def __init__(self, name: str, source: str, asks: Sequence[Generate]) -> None:
        self._asks = asks
        self._source = source
        self._spec = _spec(name, source, _TextScorer.track, len(asks))

    @property
    def spec(self) -> TaskSpec:
        """Return its name and size."""
        return self._spec

    @property
    def kinds(self) -> frozenset[Kind]:
        """Return GENERATE."""
        return frozenset({Kind.GENERATE})

    def samples(self) -> Iterator[Sample]:
        """Yield one sample per text."""
        return (Sample(str(number), {}, Origin(self._source)) for number in range(len(self._asks)))

    def requests(self, sample: Sample, *, shots: int | None = None) -> Sequence[Request]:
        """Return the request for one text; its examples cannot be omitted."""
        number = int(sample.id)
        return [make_request(self._spec.name, sample.id, Method.GEN, "answer", number, self._asks[number])]

    def scorers(self) -> Sequence[ComponentSpec | Scorer]:
        """Return the scorer that returns the text."""
        return [_TextScorer()]


class _TextScorer:
    track = Method.GEN

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the generated text."""
        ((request, response),) = answers
        outcome = response.outcome
        known = (request.task, sample.id, self.track, "text")
        if isinstance(outcome, Completion):
            return Score(*known, Verdict.UNGRADED, answer=outcome.outputs[0].text)
        return Score(*known, Verdict.FAILED, why=_format_failure(outcome))


def find_comparable_rows(results: Sequence[Sequence[Score]], author: DatasetAuthor, way: str) -> list[int]:
    """Return the rows that failed in no result, because only those are comparable."""
    failed = [score for scores in results for score in scores if score.verdict is Verdict.FAILED]
    rows = [
        at
        for at, scores in enumerate(zip(*results, strict=True))
        if all(score.verdict is not Verdict.FAILED for score in scores)
    ]
    if rows:
        return rows
    raise build_search_error(author, way, str(failed[0].why))


def generate_texts(
    rehearse: Rehearse,
    name: str,
    asks: Sequence[Generate],
    author: DatasetAuthor,
    way: str,
    *,
    clean: Callable[[str], str] = str.strip,
) -> list[str]:
    """Return the distinct texts that the model writes for these asks, without empty ones."""
    (scores,) = rehearse([WritingTask(name, str(author.path), asks)])
    usable = find_comparable_rows([scores], author, way)
    texts = (clean(scores[at].answer or "") for at in usable)
    distinct = [text for text in dict.fromkeys(texts) if text]
    if not distinct:
        raise build_search_error(author, way, "it wrote nothing")
    return distinct


def build_search_error(author: DatasetAuthor, way: str, why: str) -> BackendError:
    """Return the error for a preliminary search without a usable result."""
    return BackendError(
        author.problem(
            "LLMBOX-012",
            f"{way} got no usable answer from the model while preparing the samples: {why}",
            f"fix that and run the same command with --retry-failed, or omit {way}",
        )
    )


def _format_failure(outcome: object) -> str:
    if isinstance(outcome, Failure):
        return f"{outcome.kind}: {outcome.message}"
    return f"unexpected kind of answer: {type(outcome).__name__}"
