"""What a reader finds in a log of another program. Every field is optional: the log may not hold it.

A reader returns one `ImportedRun`. Its samples are read while the run folder is written, so that a log of any
size fits into memory. A field that the log does not hold keeps its default, and readers never fill one in by
guessing: the run folder then says that it is not in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.core.method import Method
from assay.core.model import ModelIdentity
from assay.core.prompt import Prompt
from assay.core.request import Sampling
from assay.core.response import Call, Finish
from assay.core.run import LogFact, LoggedMetric
from assay.core.score import Metric, Ratio, Score, Verdict
from assay.core.summary_group import SummaryGroup
from assay.core.task import TaskSpec


class ImportedReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One text that the model wrote."""

    text: str
    finish: Finish = Finish.UNKNOWN
    n_tokens: int = 0
    """0: not in the log."""
    n_prompt_tokens: int = 0
    """0: not in the log."""
    reasoning: str | None = None
    turns: tuple[str, ...] = ()
    """With several turns: the answer to each; `text` is the last one."""
    calls: tuple[Call, ...] = ()
    seconds: float = 0.0
    """0: not in the log."""


class ImportedOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One option whose likelihood or probability the model computed."""

    text: str
    """The scored text as it follows the prompt, or the label whose probability was read."""
    sum_logprob: float | None = None
    prob: float | None = None
    """The probability of the label, with method `prob`."""
    unconditional: float | None = None
    """Sum of log-probabilities of the same text without a question before it."""
    is_greedy: bool | None = None
    n_tokens: int | None = None
    prompt: Prompt | None = None
    """The text before it, if options have different ones; None: the prompt of the result."""


class ImportedResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the model answered one sample by one method, and the scores of that."""

    method: Method = Method.GEN
    metric: str = ""
    """The metric that decides; empty: the first in `values` or `ratios`."""
    values: dict[str, float] = {}
    """Every metric of the sample whose value over the task is a mean, as a number; shares from 0 to 1."""
    ratios: dict[str, Ratio] = {}
    """Every metric whose value over the task is a ratio of sums, such as a perplexity."""
    verdict: Verdict | None = None
    """None: follows from the other fields (a failure, a value, or neither)."""
    answer: str | None = None
    """The extracted answer, or the label of the chosen option."""
    target: str | None = None
    rule: str | None = None
    """The filter or scorer that found the answer, as the log names it."""
    prompt: Prompt | None = None
    sampling: Sampling | None = None
    """None: the log does not say how texts were sampled."""
    n_shots: int | None = None
    replies: tuple[ImportedReply, ...] = ()
    """One per repeat."""
    options: tuple[ImportedOption, ...] = ()
    failure: str | None = None
    """Why there is no answer, if the request failed."""
    is_truncated: bool = False
    details: tuple[dict[str, Any], ...] = ()
    """What else the log reports about the score, under its own names."""
    score: Score | None = None
    """Assay's own score, if the log is an export of Assay; it replaces the fields of the score above."""


class ImportedSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One sample of a log."""

    task: str
    id: str
    """The log's own id, unique within the task."""
    fields: dict[str, Any] = {}
    """The record of the dataset, as far as the log holds it."""
    row: int | None = None
    """Its number in the dataset, counted from 1, if the log says so."""
    line: int | None = None
    """The line of the log that it comes from."""
    file: str | None = None
    """The file of the log that it comes from."""
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """Empty: A, B, C, ... if there are choices."""
    gold: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    group: str | None = None
    cluster: str | None = None
    results: tuple[ImportedResult, ...] = ()
    """One per method; empty: the log has the sample but no result."""


class ImportedMetricFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the log says about a metric of a task; None: nothing."""

    higher_is_better: bool | None = None
    is_share: bool | None = None


class ImportedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task of a log."""

    name: str
    source: str | None = None
    """The dataset as the log names it."""
    n_rows: int | None = None
    """Number of rows in the dataset."""
    shots: int | None = None
    settings: dict[str, Any] = {}
    """What determined prompts and scores, as the log has it."""
    metrics: dict[str, ImportedMetricFacts] = {}
    family: str | None = None
    spec: TaskSpec | None = None
    """Assay's own spec, if the log is an export of Assay."""


class ImportedRun(NamedTuple):
    """One run of another program, as its log has it."""

    format: str
    files: tuple[Path, ...]
    """The files of the log; their content identifies it."""
    tasks: tuple[ImportedTask, ...]
    samples: Callable[[], Iterator[ImportedSample]]
    """Reads the samples from the log, one at a time and in its order; called once."""
    model: ModelIdentity | None = None
    """None: the log does not name it. `backend`: how the other program called it, such as `hf`."""
    settings: Mapping[str, Any] = {}
    """The settings of the original run, under its own names."""
    versions: Mapping[str, str] = {}
    """Of the program that wrote the log, and of its packages, such as `lm_eval`."""
    started: str | None = None
    """UTC, ISO 8601."""
    finished: str | None = None
    seconds: float | None = None
    metrics: tuple[LoggedMetric, ...] = ()
    """The log's own aggregates: kept, and compared with those that Assay computes from the samples."""
    groups: tuple[SummaryGroup, ...] = ()
    """Tasks that are reported together."""
    judge: ModelIdentity | None = None
    notes: tuple[str, ...] = ()
    """What was tolerated or left out while reading."""
    known: tuple[LogFact, ...] = ()
    """Facts that the format always holds, even if no sample shows them: a format that records failures says
    with a log without any that none failed. All others are known if a sample or a field above has them."""
    exported: tuple[Metric, ...] = ()
    """Assay's own metrics, if the log is an export of Assay."""
