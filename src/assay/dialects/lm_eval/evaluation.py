"""The score of one document: filters, then the author's `process_results` or lm-eval's own metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import (
    RAISED_BY_AUTHORS,
    AuthorError,
    Problem,
    describe_exception,
    listing,
    reraise_interrupt,
    suggest_name,
)
from assay.core.request import Span
from assay.core.response import Completion, Failure, LabelProbs, Likelihood, Outcome
from assay.core.sample import Sample
from assay.core.task import AnsweredRequest
from assay.dialects.lm_eval.calling import describe_error
from assay.dialects.lm_eval.config import (
    CODE,
    GENERATE_UNTIL,
    LOGLIKELIHOOD,
    MULTIPLE_CHOICE,
    ROLLING,
    FilterEntry,
    FilterStep,
    MetricEntry,
    TaskKeys,
)
from assay.dialects.lm_eval.rendering import Document, DocumentReader, UnreadableValue

UNCONDITIONAL = "unconditional"
OWN_REQUEST = "request"
"""The role of a request that an author's class builds."""
NO_OPTION = -100
"""The original's number of an option that does not exist."""
_WORDS = re.compile(r"\s+")
_UNKNOWN_METRIC: tuple[str | None, bool | None] = (None, None)


class ScoringTools(NamedTuple):
    """lm-eval's filters and metrics, which the application provides."""

    filters: Mapping[str, type]
    aggregations: Mapping[str, Callable[[Any], Any]]
    text_metrics: Mapping[str, Callable[..., Any]]
    """Metrics that score a single reply."""
    known_metrics: Mapping[str, tuple[str, bool]]
    """The aggregation of each metric, and whether higher is better."""
    load_metric: Callable[[str], Any]
    """Returns a metric of the `evaluate` library; raises what its installation raises."""


class Thoughts(NamedTuple):
    """The thoughts before an answer, which are not scored."""

    end: str
    """The text after which the answer begins."""
    stops: tuple[str, ...] = ()
    """Texts that end the answer, but not the thoughts."""

    def remove(self, reply: str) -> str:
        """Return the answer in a reply: the whole reply if it has no thoughts."""
        answer = reply.rpartition(self.end)[2].lstrip()
        for stop in self.stops:
            answer = answer.partition(stop)[0]
        return answer


class TaskScoring:
    """How the documents of one task are scored."""

    def __init__(
        self,
        keys: TaskKeys,
        reader: DocumentReader,
        tools: ScoringTools,
        *,
        has_several_contexts: bool,
        has_several_targets: bool,
        thoughts: Thoughts | None = None,
    ) -> None:
        self.keys = keys
        self._thoughts = thoughts
        self._reader = reader
        self._tools = tools
        self.has_several_contexts = has_several_contexts
        self._has_several_targets = has_several_targets
        self._names = frozenset(entry.name for entry in keys.metrics)
        self._functions: dict[str, Callable[[Any], Any]] = {}
        self._better: dict[str, bool | None] = {}
        self._library: dict[str, Callable[..., Any]] = {}
        for entry in keys.metrics:
            self._add_metric(entry)
        for name in {
            step.function for entry in keys.filters for step in entry.steps if isinstance(step.function, str)
        }:
            if name not in tools.filters:
                near = suggest_name(name, tools.filters)
                self._fail(
                    f"there is no filter {name!r}{near}", f"use one of {listing(sorted(tools.filters))}"
                )
        for chosen in keys.filters:
            for step in chosen.steps:
                self._check_step(chosen.name, step)

    @property
    def file(self) -> str:
        """Return the task file."""
        return self.keys.where.path

    @property
    def needs_unconditional(self) -> bool:
        """Return whether a metric needs the options' likelihood without the question."""
        return "acc_mutual_info" in self._names

    @property
    def metric_names(self) -> list[str]:
        """Return the names of the metrics, for each filter."""
        return [self._name(entry.name, chosen) for chosen in self.keys.filters for entry in self.keys.metrics]

    def aggregation(self) -> Mapping[str, Callable[[list[Any]], Any]]:
        """Return the function of each metric; an author's code may return further ones, which are means."""
        return _WithDefault(self._functions, self._tools.aggregations["mean"])

    def higher_is_better(self) -> Mapping[str, bool]:
        """Return whether higher is better, for each metric; True if neither its name nor the file says it."""
        return _WithDefault({name: True if one is None else one for name, one in self._better.items()}, True)

    def stated_direction(self, metric: str) -> bool | None:
        """Return whether higher is better as the file or the metric's name says it, else None."""
        return self._better.get(self._name(metric, self.keys.filters[0]))

    def collect_replies(self, answers: Sequence[AnsweredRequest]) -> list[list[Any]] | Failure:
        """Return the replies as lm-eval's code expects them, without the thoughts before an answer."""
        return collect_replies(answers, self._thoughts)

    def score(self, doc: Document, replies: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Return the values of a document for every filter; raise what the author's code raises."""
        values: dict[str, Any] = {}
        for chosen in self.keys.filters:
            results = self.filter_replies(chosen, replies, doc)
            own = self.keys.process_results
            scored = self._score_builtin(doc, results) if own is None else own(doc, results)
            if not isinstance(scored, Mapping):
                raise TypeError(f"process_results returned {type(scored).__name__}, expected a dict")
            values |= {self._name(str(name), chosen): value for name, value in scored.items()}
        return values

    def read_answer(self, doc: Document, replies: Sequence[Sequence[Any]]) -> str | None:
        """Return the text that the first filter takes from the replies; None if it is not a single text."""
        try:
            results = self.filter_replies(self.keys.filters[0], replies, doc)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)  # `score` reports it
            return None
        answer = results[0] if results else None
        return answer if isinstance(answer, str) else None

    def _add_metric(self, entry: MetricEntry) -> None:
        """Find how a metric is aggregated; raise if it is not known."""
        name = entry.name
        usual, better = self._tools.known_metrics.get(entry.name, _UNKNOWN_METRIC)
        is_own = not isinstance(entry.metric, str) or self.keys.process_results is not None
        if not is_own and self.keys.output_type == GENERATE_UNTIL and (usual is None or entry.is_library):
            self._library[name] = self._load_metric(name)
        elif usual is None and not is_own:
            what = f"output_type {self.keys.output_type} has no metric {name!r}"
            near = suggest_name(name, self._tools.known_metrics)
            self._fail(f"{what}{near}", "use a metric of lm-eval, or write process_results: !function")
        how = entry.aggregation or usual or "mean"
        if isinstance(how, str) and how not in self._tools.aggregations:
            near = suggest_name(how, self._tools.aggregations)
            what = f"metric {name!r} has the unknown aggregation {how!r}{near}"
            self._fail(what, f"use one of {listing(self._tools.aggregations)}")
        function = self._tools.aggregations[how] if isinstance(how, str) else how
        for chosen in self.keys.filters:
            self._functions[self._name(name, chosen)] = function
            self._better[self._name(name, chosen)] = (
                better if entry.higher_is_better is None else entry.higher_is_better
            )

    def _load_metric(self, name: str) -> Callable[..., Any]:
        """Return the function of a metric of the `evaluate` library."""
        try:
            compute: Callable[..., Any] = self._tools.load_metric(name).compute
        except Exception as error:
            near = suggest_name(name, self._tools.known_metrics)
            what = f"there is no metric {name!r}{near}, and the `evaluate` library does not load it: {error}"
            fix = "use a metric of lm-eval, or write a function: metric: !function utils.NAME"
            problem = Problem(CODE, f"task {self.keys.name!r}: {what}", fix, self.keys.where)
            raise AuthorError(problem) from error
        return compute

    def _fail(self, what: str, fix: str) -> None:
        raise AuthorError(Problem(CODE, f"task {self.keys.name!r}: {what}", fix, self.keys.where))

    def _name(self, metric: str, chosen: FilterEntry) -> str:
        """Return a metric's name in the results; the only filter of most tasks is not part of it."""
        return metric if len(self.keys.filters) == 1 else f"{metric},{chosen.name}"

    def _check_step(self, name: str, step: FilterStep) -> None:
        """Raise for arguments that a step of a filter does not accept, before any reply is filtered."""
        try:
            self._build_step(step)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            shown = step.function if isinstance(step.function, str) else step.function.__name__
            what = f"filter {name!r}: the step {shown} with {dict(step.arguments)!r:.80} raised"
            self._fail(f"{what} {describe_exception(error)}", "correct the arguments of the step")

    def _build_step(self, step: FilterStep) -> Any:
        cls = self._tools.filters[step.function] if isinstance(step.function, str) else step.function
        return cls(**step.arguments)

    def filter_replies(
        self, chosen: FilterEntry, replies: Sequence[Sequence[Any]], doc: Document
    ) -> list[Any]:
        """Return what a filter makes of the replies to a document's requests."""
        results: Any = [list(one) for one in replies]
        for step in chosen.steps:
            results = self._build_step(step).apply(results, [doc] * len(replies))
        return list(results)

    # --- lm-eval's own metrics ---

    def _score_builtin(self, doc: Document, results: Sequence[Any]) -> dict[str, Any]:
        output_type = self.keys.output_type
        if output_type == MULTIPLE_CHOICE:
            values = self._score_options(doc, results)
        elif output_type == LOGLIKELIHOOD:
            (likelihood, is_greedy) = results[0]
            values = {"perplexity": likelihood}
            if "acc" in self._names:
                values["acc"] = int(is_greedy)
        elif output_type == ROLLING:
            text = self._reader.read_target(doc, self.keys.doc_to_target)
            by_byte = (results[0], len(text.encode()))
            values = {
                "word_perplexity": (results[0], len(_WORDS.split(text))),
                "byte_perplexity": by_byte,
                "bits_per_byte": by_byte,
            }
        else:
            return self._score_text(doc, results[0])
        return {name: value for name, value in values.items() if name in self._names}

    def _score_options(self, doc: Document, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
        choices = [str(choice) for choice in self._reader.read_choices(doc, self.keys.doc_to_choice)]
        sums = [likelihood for likelihood, _ in results[: len(choices)]]
        greedy = [is_greedy for _, is_greedy in results[: len(choices)]]
        gold = self.read_gold(doc, choices)
        right = set(gold) if isinstance(gold, list) else {gold}
        best = _argmax(sums)
        by_char = _argmax([_divide(one, len(choice)) for one, choice in zip(sums, choices, strict=True)])
        by_byte = _argmax(
            [_divide(one, len(choice.encode())) for one, choice in zip(sums, choices, strict=True)]
        )
        values: dict[str, Any] = {
            "acc": float(best in right),
            "acc_norm": float(by_char in right),
            "acc_bytes": float(by_byte in right),
            "f1": (gold, best),
            "mcc": (gold, best),
            "brier_score": (gold, _softmax(sums)),
            "likelihood": (gold, sums),
        }
        if "exact_match" in self._names:
            values["exact_match"] = int(any(greedy[one] for one in right if one != NO_OPTION))
        if self.needs_unconditional:
            alone = [likelihood for likelihood, _ in results[len(choices) :]]
            gains = [one - other for one, other in zip(sums, alone, strict=True)]
            values["acc_mutual_info"] = float(_argmax(gains) == gold)
        return values

    def read_target(self, doc: Document) -> Any:
        """Return the right answer as the task defines it: a text, a number, or a list."""
        return self._reader.read_target(doc, self.keys.doc_to_target)

    def read_gold(self, doc: Document, choices: Sequence[Any]) -> int | list[int]:
        """Return the number of the right option, or of several; NO_OPTION if there is none such."""
        read = self._reader.read_text if self.has_several_contexts else self._reader.read_target
        gold = read(doc, self.keys.doc_to_text if self.has_several_contexts else self.keys.doc_to_target)
        if isinstance(gold, list | tuple):
            return [_find_option(one, choices) for one in gold]
        return _find_option(gold, choices)

    def _score_text(self, doc: Document, result: Any) -> dict[str, Any]:
        gold = self._reader.read_target(doc, self.keys.doc_to_target)
        if self.keys.doc_to_choice is not None:
            gold = self._reader.read_choices(doc, self.keys.doc_to_choice)[gold]
        elif self._has_several_targets:
            gold = list(gold) if isinstance(gold, list | tuple) else [gold]
        elif type(gold) is not type(result) and "bypass" not in self._names and not isinstance(result, list):
            gold = type(result)(gold)
        values: dict[str, Any] = {}
        for entry in self.keys.metrics:
            if self._has_several_targets:
                targets = gold if isinstance(gold, list) else [gold]
                scores = [self._call_metric(entry, target, result) for target in targets]
                values[entry.name] = float(any(_unwrap(score, entry.name) for score in scores))
                continue
            score = self._call_metric(entry, gold, result)
            values |= score if isinstance(score, Mapping) else {entry.name: score}
        return values

    def _call_metric(self, entry: MetricEntry, gold: Any, result: Any) -> Any:
        if isinstance(entry.metric, str):
            function = self._library.get(entry.metric) or self._tools.text_metrics.get(entry.metric)
            if function is None:
                return (gold, result)  # Metrics of whole lists: BLEU and others.
            return function(references=[gold], predictions=[result], **entry.arguments)
        try:
            return entry.metric(references=[gold], predictions=[result], **entry.arguments)
        except TypeError:
            return entry.metric([gold, result])


class Evaluation:
    """The scoring of one track, as the scorer `task_results` uses it."""

    digits: int | None = None

    def __init__(
        self, scoring: TaskScoring, documents: Mapping[str, Document], numbers: Mapping[str, int]
    ) -> None:
        """`documents` and `numbers`: the document of each sample, and its number from 1."""
        self._scoring = scoring
        self._documents = documents
        self._numbers = numbers
        self.file = scoring.file
        self.headline: str | None = next(iter(scoring.metric_names), None)

    def values(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Mapping[str, Any] | Failure:
        """Return the values of a document, or a failure."""
        replies = self._scoring.collect_replies(answers)
        if isinstance(replies, Failure):
            return replies
        doc, keys = self._documents[sample.id], self._scoring.keys
        try:
            return self._scoring.score(doc, replies)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)
            function = keys.process_results
            key = "process_results" if function is not None else "scoring"
            problem = describe_error(error, function, key, keys, doc, self._numbers[sample.id])
            return Failure(key, f"{problem.what}{f' ({problem.where})' if problem.where else ''}")

    def answer(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> str | None:
        """Return the generated text after the first filter; for options, the label of the most likely one."""
        replies = self._scoring.collect_replies(answers)
        if isinstance(replies, Failure) or not replies:
            return None
        if sample.choices:
            sums = [reply[0][0] for reply in replies[: len(sample.choices)]]
            return sample.labels[_argmax(sums)] if len(sums) == len(sample.labels) else None
        return self._scoring.read_answer(self._documents[sample.id], replies)

    def aggregation(self) -> Mapping[str, Callable[[list[Any]], Any]]:
        """Return the function of each metric."""
        return self._scoring.aggregation()

    def higher_is_better(self) -> Mapping[str, bool]:
        """Return whether higher is better, for each metric."""
        return self._scoring.higher_is_better()


class _UnknownFirstChoice:
    """Stands for "yes" or "no" where the server does not report it; raises if the difference matters."""

    def __repr__(self) -> str:
        return "None"  # As result files show what is not known.

    def __bool__(self) -> bool:
        raise UnreadableValue(
            "the metric needs to know whether the text is the model's first choice, "
            "which this server does not report"
        )

    __int__ = __float__ = __index__ = __bool__

    def __eq__(self, other: object) -> bool:
        return bool(self)

    __hash__ = None  # type: ignore[assignment]


UNKNOWN_FIRST_CHOICE = _UnknownFirstChoice()


def collect_replies(
    answers: Sequence[AnsweredRequest], thoughts: Thoughts | None = None
) -> list[list[Any]] | Failure:
    """Return the replies as lm-eval's code expects them: a list of repeats for each request, in order."""
    outcomes = [(answered.request, answered.response.outcome) for answered in answers]
    failed = next((outcome for _, outcome in outcomes if isinstance(outcome, Failure)), None)
    if failed is not None:
        return failed
    texts: list[str] = []
    numbered: list[tuple[bool, int, list[Any]]] = []
    for request, outcome in outcomes:
        is_own = request.role == OWN_REQUEST
        if isinstance(outcome, Completion):
            replies = [
                output.text if thoughts is None else thoughts.remove(output.text)
                for output in outcome.outputs
            ]
            if is_own:
                numbered.append((False, request.index, replies))
            else:
                texts += replies
        elif isinstance(outcome, LabelProbs):
            return [[reply] for reply in _read_label_probs(outcome)]
        elif isinstance(outcome, Likelihood):
            is_greedy = UNKNOWN_FIRST_CHOICE if outcome.is_greedy is None else outcome.is_greedy
            is_text = isinstance(request.ask, Span) and request.ask.windows is not None
            reply = outcome.sum_logprob if is_text else (outcome.sum_logprob, is_greedy)
            numbered.append((request.role == UNCONDITIONAL, request.index, [reply]))
    if texts:
        return [texts]
    return [reply for _, _, reply in sorted(numbered, key=lambda one: one[:2])]


def _read_label_probs(outcome: Outcome) -> list[tuple[float, bool]]:
    """Return the options' log-probabilities among all options, and which is the most likely."""
    assert isinstance(outcome, LabelProbs)
    total = math.fsum(outcome.probs)
    logs = [math.log(prob / total) if prob > 0 and total > 0 else -math.inf for prob in outcome.probs]
    return [(one, one == max(logs)) for one in logs]


class _WithDefault(dict[str, Any]):
    """A dict that has every key."""

    def __init__(self, known: Mapping[str, Any], default: Any) -> None:
        super().__init__(known)
        self._default = default

    def __missing__(self, key: str) -> Any:
        return self._default

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:
        return self[key]


def _find_option(gold: Any, choices: Sequence[Any]) -> int:
    if isinstance(gold, str):
        return list(choices).index(gold) if gold in choices else NO_OPTION
    return int(gold) if gold is not None and gold < len(choices) else NO_OPTION


def _argmax(numbers: Sequence[float]) -> int:
    return max(range(len(numbers)), key=numbers.__getitem__)


def _divide(number: float, length: int) -> float:
    return number / length if length else -math.inf


def _softmax(numbers: Sequence[float]) -> list[float]:
    highest = max(numbers)
    weights = [math.exp(number - highest) for number in numbers]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _unwrap(score: Any, name: str) -> Any:
    return score.get(name) if isinstance(score, Mapping) else score
