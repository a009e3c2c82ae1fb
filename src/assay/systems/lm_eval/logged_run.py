"""A finished run as lm-eval logs it: samples, and the values of tasks and groups with standard errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from assay.core.errors import RAISED_BY_AUTHORS, reraise_interrupt
from assay.core.prompt import Prompt, final_text
from assay.core.request import Kind, Request
from assay.core.response import Failure
from assay.core.task import AnsweredRequest
from assay.dialects.lm_eval.config import GENERATE_UNTIL, ROLLING
from assay.dialects.lm_eval.evaluation import UNCONDITIONAL
from assay.dialects.lm_eval.selection import SelectedGroup
from assay.dialects.lm_eval.task import LmEvalTask
from assay.results.exchange.lm_eval_files import (
    NO_STDERR,
    LoggedGroup,
    LoggedSample,
    LoggedTask,
)
from assay.results.exchange.lm_eval_runs import format_prompt, read_exchanges
from assay.results.read import StoredRun
from assay.results.records import AskRecord, SampleRecord
from assay.results.response_index import ResponseIndex
from assay.scoring.originals.lm_eval.metrics import BYPASSED
from assay.scoring.originals.lm_eval.standard_errors import (
    combine_stderrs,
    combine_values,
    estimate_stderr,
)
from assay.systems.lm_eval.task_configs import describe_config, describe_generation, read_version

BYPASS = "bypass"
"""The metric of replies that are not scored."""
_ROLES = frozenset({"answer", "continuation", "labels", "option", "text", UNCONDITIONAL})
"""The roles of requests that a task file's keys describe."""
FormatPrompt = Callable[[Prompt], Any]
"""Returns a conversation as it is logged."""


class LogOptions(NamedTuple):
    """How a run is logged."""

    iterations: int
    """Draws for standard errors."""
    metadata: Mapping[str, Any]
    """Added to every task's metadata: the arguments of the model, and --metadata."""
    shots: int | None = None
    """The requested number of examples, which is logged even for texts without examples."""
    is_scored: bool = True
    format_prompt: FormatPrompt = format_prompt


class TaskLog:
    """The samples and values of one task."""

    def __init__(self, task: LmEvalTask, options: LogOptions) -> None:
        self._task = task
        self._options = options
        self._values: defaultdict[str, list[Any]] = defaultdict(list)

    def add(self, record: SampleRecord, responses: ResponseIndex) -> list[LoggedSample]:
        """Return a sample after each filter, and keep its values."""
        keys, sample_id = self._task.scoring.keys, record.sample.id
        asks = [ask for ask in record.asks if ask.track == self._task.spec.methods[0]]
        answers = [
            AnsweredRequest(_build_request(record, ask), response)
            for ask in asks
            if (response := responses.get(ask.id)) is not None
        ]
        collected = self._task.scoring.collect_replies(answers)
        replies: list[list[Any]] = [[] for _ in asks] if isinstance(collected, Failure) else collected
        prepared = self._task.document(sample_id)
        values = {} if isinstance(collected, Failure) else self._score(prepared.doc, replies)
        arguments = self._build_arguments(record, asks, responses)
        logged = []
        for chosen in keys.filters:
            is_empty = isinstance(collected, Failure)
            own = values.get(chosen.name, {})
            logged.append(
                LoggedSample(
                    prepared.number - 1,
                    prepared.doc,
                    self._task.scoring.read_target(prepared.doc),
                    arguments,
                    replies,
                    [] if is_empty else self._task.scoring.filter_replies(chosen, replies, prepared.doc),
                    chosen.name,
                    own,
                )
            )
            for metric, value in own.items():
                self._values[f"{metric},{chosen.name}"].append(value)
        return logged

    def build(self) -> LoggedTask:
        """Return the results over all samples that were added."""
        task, scoring = self._task, self._task.scoring
        keys = scoring.keys
        aggregations = scoring.aggregation()
        values: dict[str, Any] = {}
        stderrs: dict[str, float | str] = {}
        for name, items in self._values.items():
            metric = name.partition(",")[0]
            aggregate = aggregations[name if len(keys.filters) > 1 else metric]
            if not self._options.is_scored:
                values[name], stderrs[name] = BYPASSED, NO_STDERR
                continue
            try:
                values[name] = aggregate(items)
            except RAISED_BY_AUTHORS as error:
                reraise_interrupt(error)  # The run has reported it.
                continue
            stderr = estimate_stderr(metric, aggregate, items, self._options.iterations)
            stderrs[name] = NO_STDERR if stderr is None else stderr
        names = list(dict.fromkeys(entry.name for entry in keys.metrics)) if self._options.is_scored else []
        shots = keys.shots if keys.has_fixed_shots or self._options.shots is None else self._options.shots
        config = describe_config(task, shots, self._options.metadata)
        if not self._options.is_scored:
            config |= {"metric_list": [{"metric": BYPASS}], "process_results": "process_results"}
        return LoggedTask(
            task.spec.name,
            keys.alias,
            read_version(task),
            config,
            shots,
            task.spec.n_rows,
            max(map(len, self._values.values()), default=0),
            values,
            stderrs,
            {name: scoring.stated_direction(name) for name in names} or {BYPASS: True},
        )

    def _score(self, doc: Any, replies: Sequence[Sequence[Any]]) -> dict[str, dict[str, Any]]:
        """Return the values of a document by filter; without any if its author's code raises."""
        filters = self._task.scoring.keys.filters
        if not self._options.is_scored:
            is_text = self._task.scoring.keys.output_type == GENERATE_UNTIL
            return {chosen.name: {BYPASS: None} if is_text else {} for chosen in filters}
        try:
            scored = self._task.scoring.score(doc, replies)
        except RAISED_BY_AUTHORS as error:
            reraise_interrupt(error)  # The run has reported it.
            return {}
        if len(filters) == 1:
            return {filters[0].name: scored}
        by_filter: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for name, value in scored.items():
            metric, _, chosen = name.rpartition(",")
            by_filter[chosen][metric] = value
        return dict(by_filter)

    def _build_arguments(
        self, record: SampleRecord, asks: Sequence[AskRecord], responses: ResponseIndex
    ) -> list[tuple[Any, ...]]:
        """Return the arguments of the requests before white space moves from a prompt to what follows it."""
        keys = self._task.scoring.keys
        if keys.output_type == ROLLING or not all(ask.role in _ROLES for ask in asks):
            # An author's class builds its requests itself.
            return [exchange.arguments for exchange in read_exchanges(record, asks, responses)]
        prompts = self._task.prompts(record.sample.id)
        if keys.output_type == GENERATE_UNTIL:
            options = describe_generation(self._task.selected.config, keys)
            return [(self._options.format_prompt(prompts[0]), options)]
        arguments: list[tuple[Any, ...]] = []
        for ask in asks:
            if ask.kind is Kind.LABELS:
                shown = self._options.format_prompt(prompts[0])
                arguments += [(shown, spellings[0]) for spellings in ask.labels]
                continue
            prompt: Prompt = prompts[ask.index] if len(prompts) > 1 else prompts[0]
            if ask.role == UNCONDITIONAL:
                prompt = ""
            whole = final_text(record.ask(ask).prompt)
            before = _find_begun_text(prompt)
            arguments.append((self._options.format_prompt(prompt), whole[len(before) :]))
        return arguments


def _find_begun_text(prompt: Prompt) -> str:
    """Return the text that an answer follows in the same message; in a conversation only a begun reply."""
    if isinstance(prompt, str) or prompt[-1].role == "assistant":
        return final_text(prompt)
    return ""


def _build_request(record: SampleRecord, ask: AskRecord) -> Request:
    return Request(
        ask.id, record.task, record.sample.id, ask.track, ask.role, ask.index, record.ask(ask), ask.n_shots
    )


def log_samples(run: StoredRun, logs: Mapping[str, TaskLog]) -> Iterator[tuple[str, list[LoggedSample]]]:
    """Yield the samples of each task: after its first filter, then after its second, and so on."""
    with run.response_index() as responses:
        for name, records in groupby(run.samples(), key=lambda record: record.task):
            if name not in logs:
                continue
            samples = [logs[name].add(record, responses) for record in records]
            yield name, [one for several in zip(*samples, strict=True) for one in several]


def build_group(group: SelectedGroup, results: Mapping[str, LoggedTask]) -> LoggedGroup:
    """Return the values that a group combines from its tasks."""
    tasks = [results[name] for name in group.tasks if name in results]
    values: dict[str, Any] = {}
    stderrs: dict[str, float | str] = {}
    counts: dict[str, int] = {}
    for aggregation in group.aggregations:
        chosen = aggregation.filters
        if chosen is None:
            prefix = f"{aggregation.metric},"
            chosen = tuple(
                sorted(
                    {
                        name.removeprefix(prefix)
                        for task in tasks
                        for name in task.values
                        if name.startswith(prefix)
                    }
                )
            )
        for one in chosen:
            name = f"{aggregation.metric},{one}"
            members = [task for task in tasks if name in task.values]
            if not members:
                continue
            sizes = [task.n_evaluated for task in members]
            weighted = aggregation.is_weighted
            values[name] = combine_values(
                [task.values[name] for task in members], sizes, is_weighted=weighted
            )
            errors = [task.stderrs[name] for task in members]
            numbers = [error for error in errors if not isinstance(error, str)]
            is_known = len(numbers) == len(errors) and (not weighted or sum(sizes) > len(sizes))
            stderrs[name] = combine_stderrs(numbers, sizes, is_weighted=weighted) if is_known else NO_STDERR
            counts[name] = sum(sizes)
    return LoggedGroup(
        group.name,
        group.alias,
        group.version or "N/A",
        group.members,
        sum(task.n_evaluated for task in tasks),
        values,
        stderrs,
        counts,
        is_aggregated=bool(group.aggregations),
    )
