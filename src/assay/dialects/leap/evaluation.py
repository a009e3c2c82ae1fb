"""The model's results as an author's code expects them, and its scoring.

`results` has one value per request, in order. A loglikelihood gives its number, and the greedy flag for index
1; as a whole it gives the number, or both in lm-eval. With method `prob` the number is the logarithm of the
option's share of the probability of all options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.errors import RAISED_BY_AUTHORS, describe_exception, reraise_interrupt
from assay.core.request import Generate
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome
from assay.core.sample import Sample
from assay.core.task import AnsweredRequest
from assay.dialects.leap.author_requests import LOGLIKELIHOOD
from assay.dialects.leap.calling import format_document
from assay.dialects.leap.model_requests import DocumentRequests, ExpectedResult, ParsedRequest
from assay.dialects.leap.prepared_task import PreparedTask
from assay.dialects.shared.author_modules import find_error_line
from assay.dialects.shared.choices import UNKNOWN_LABEL

ORIGINAL_DIGITS = 4


class Evaluation:
    """The author's scoring of one track."""

    def __init__(self, prepared: PreparedTask, *, headline: str | None, is_faithful: bool) -> None:
        self._prepared = prepared
        self._task = prepared.task
        self._is_faithful = is_faithful
        self.headline = headline
        self.digits = ORIGINAL_DIGITS if is_faithful else None
        self.file = str(prepared.author.path)

    def values(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Mapping[str, Any] | Failure:
        """Return the values of process_results for a document, or a failure."""
        results = self.results(sample, answers)
        if isinstance(results, Failure):
            return results
        number = self._prepared.number[sample.id]
        doc = self._prepared.documents.docs[number]
        try:
            returned: Any = self._task.process_results(self._prepared.doc_for_results(number), results)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            where = find_error_line(error, self._prepared.author.path)
            what = f"raised {describe_exception(error)} ({where}); the document is {format_document(doc)}"
            return Failure("process_results", what)
        if not isinstance(returned, Mapping):
            what = (
                f"returned {type(returned).__name__}, expected a dict; the document is {format_document(doc)}"
            )
            return Failure("process_results", what)
        return {str(name): value for name, value in returned.items()}

    def answer(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> str | None:
        """Return the generated text; for options, the label of the best one."""
        if sample.choices:
            results = self.results(sample, answers)
            known = [] if isinstance(results, Failure) else results
            numbers = [number for number in known if isinstance(number, float)]
            if len(numbers) != len(sample.labels):
                return None
            return sample.labels[max(range(len(numbers)), key=numbers.__getitem__)]
        texts = [reply.outputs[0].text for reply in map(_outcome, answers) if isinstance(reply, Completion)]
        return "\n".join(texts) if texts else None

    def truth(self, sample: Sample) -> str | None:
        """Return the right answer as written by the author's code; None if it is not a text."""
        return self._prepared.prepared[self._prepared.number[sample.id]].target

    def aggregation(self) -> Mapping[str, Callable[[list[Any]], Any]]:
        """Return the author's aggregation functions."""
        with self._prepared.author.convert_errors("aggregation"):
            return {str(name): function for name, function in self._task.aggregation().items()}

    def higher_is_better(self) -> Mapping[str, bool]:
        """Return for each metric whether higher is better."""
        with self._prepared.author.convert_errors("higher_is_better"):
            directions = self._task.higher_is_better()
            return {str(name): bool(is_better) for name, is_better in (directions or {}).items()}

    def results(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> list[Any] | Failure:
        """Return the results of one document's requests as the author's code expects them."""
        document = self._prepared.prepared[self._prepared.number[sample.id]]
        outcomes: dict[int, AnsweredRequest] = {answered.request.index: answered for answered in answers}
        failed = next((outcome for outcome in map(_outcome, answers) if isinstance(outcome, Failure)), None)
        if failed is not None:
            return failed
        first = _outcome(outcomes[0])
        if self._lacks_flag(document.wishes, answers):
            return Failure(
                "greedy_flag", "the model does not report whether it would generate a continuation"
            )
        if isinstance(first, LabelProbs):
            if first.at_most:
                return UNKNOWN_LABEL
            shares = _log_shares(first)
            return [
                _select_part(shares[value.wish], shares[value.wish] == max(shares), value)
                for value in document.wishes.values
            ]
        return [
            self._result(outcomes[value.wish], document.wishes.every[value.wish], value)
            for value in document.wishes.values
        ]

    def _result(self, answered: AnsweredRequest, wish: ParsedRequest, value: ExpectedResult) -> Any:
        outcome, ask = answered.response.outcome, answered.request.ask
        if isinstance(outcome, Completion):
            text = outcome.outputs[0].text
            is_shortened = isinstance(ask, Generate) and isinstance(ask.prompt, str) and not self._is_faithful
            # The model generated the spaces that were removed from the end of the context.
            return text.removeprefix(wish.context) if is_shortened else text
        assert isinstance(outcome, Likelihood)
        if answered.request.role == "text":
            return outcome.sum_logprob
        window = self._prepared.window
        if window is not None and not wish.is_classic:
            return window.total(outcome, wish.continuation)
        if not self._needs_flag(value):
            return outcome.sum_logprob
        return _select_part(outcome.sum_logprob, bool(outcome.is_greedy), value)

    def _lacks_flag(self, wishes: DocumentRequests, answers: Sequence[AnsweredRequest]) -> bool:
        """Return whether a flag is needed that the model did not report."""
        ranked = [value for value in wishes.values if wishes.every[value.wish].type == LOGLIKELIHOOD]
        unknown = (
            isinstance(outcome, Likelihood) and outcome.is_greedy is None
            for outcome in map(_outcome, answers)
        )
        return any(map(self._needs_flag, ranked)) and any(unknown)

    def _needs_flag(self, value: ExpectedResult) -> bool:
        """Return whether a result includes the greedy flag."""
        if value.is_classic:
            return value.part != 0
        return value.part == 1 and not self._is_faithful


def build_dummy_results(values: Sequence[ExpectedResult], wishes: Sequence[ParsedRequest]) -> list[Any]:
    """Return dummy results of the right form, to test the author's code with."""
    results: list[Any] = []
    for number, value in enumerate(values):
        wish = wishes[value.wish]
        if wish.writing is not None:
            results.append("text")
        elif wish.type == LOGLIKELIHOOD:
            results.append(_select_part(-1.0 - number, number == 0, value))
        else:
            results.append(-1.0 - number)
    return results


def _outcome(answered: AnsweredRequest) -> Outcome:
    return answered.response.outcome


def _select_part(number: float, is_greedy: bool, value: ExpectedResult) -> Any:
    """Return the part of an answer that a request uses."""
    if value.part is None:
        return (number, is_greedy) if value.is_classic else number
    return is_greedy if value.part == 1 else number


def _log_shares(outcome: LabelProbs) -> list[float]:
    total = math.fsum(outcome.probs)
    return [math.log(prob / total) if total > 0 and prob > 0 else -math.inf for prob in outcome.probs]
