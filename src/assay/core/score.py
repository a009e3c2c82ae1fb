"""Scores of samples and metrics of tasks."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.method import Method
from assay.core.prompt import Prompt

MACRO = "_macro"
"""Suffix of metric names that are means over parts of a dataset, in which each part has equal weight."""


HEADLINE = "headline"
"""Name of a mean over subsets with different metrics, in which each subset counts with its own."""

MASS = "mass"
"""The metric for the total probability of all labels."""

NO_METRIC = "none"
"""Name of the metric if answers are collected but not scored."""

NOTHING_TO_SCORE_BY = "the dataset names nothing to score the answers by"
NO_RIGHT_ANSWERS = "no row has a known right answer"


class Verdict(StrEnum):
    """The outcome of one sample."""

    SCORED = "scored"
    UNANSWERED = "unanswered"
    """The model replied, but no answer was found in the reply. Counts as not right."""
    FAILED = "failed"
    """No answer came from the model. Excluded from the score, and counted separately."""
    UNGRADED = "ungraded"
    """The dataset has no right answer here. The prediction is stored."""


class OptionNumbers(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything known about one option of one sample; every normalisation is computed from it."""

    label: str
    sum_logprob: float | None = None
    n_tokens: int | None = None
    n_chars: int | None = None
    n_bytes: int | None = None
    unconditional: float | None = None
    """Sum of log-probabilities of the same text without a question before it."""
    is_greedy: bool | None = None
    prob: float | None = None
    """Share of the label in the total probability of all labels; with `prob_at_most`, of what was seen."""
    prob_at_most: float | None = None
    """The maximum share of the label if the model did not report everything; None: `prob` is exact."""


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One extraction rule tried on an output, for people to follow."""

    rule: str
    found: str | None = None
    """The answer by this rule; None if it did not match."""
    start: int | None = None
    end: int | None = None
    """The span of the output that the rule matched."""


class Ratio(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sample's part of a metric that divides two sums over all samples, such as a perplexity."""

    numerator: float
    denominator: float
    is_exponential: bool = False
    """Whether the metric is e to the power of the ratio."""


class JudgeReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a judge about a sample, its reply, and the verdict found in it."""

    about: str
    """The subject of the question, such as `turn 2`."""
    verdict: Verdict
    """SCORED: a verdict was found. UNANSWERED: the reply contains none. FAILED: no reply arrived."""
    value: float | None = None
    """None unless SCORED."""
    text: str = ""
    """The whole reply of the judge."""
    rule: str | None = None
    """The rule that found the verdict, or an invalid one (a grade outside the scale)."""
    label: str | None = msgspec.field(default=None, name="said")
    """The verdict itself, as named by the rule."""
    why: str | None = None
    """Why there is no value."""
    span: tuple[int, int] | None = None
    """The position of the match in the text."""
    reasoning: str | None = None
    """Reasoning that the judge returned separately from its reply."""
    prompt: Prompt = ""
    """The prompt of the judge, media without their data. A judge without a chat template reads messages as
    one text, separated by empty lines."""


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one sample by one method."""

    task: str
    sample_id: str
    track: Method
    metric: str
    verdict: Verdict
    value: float | None = None
    """None unless SCORED."""
    answer: str | None = None
    """The answer found: an option's label, or the extracted text."""
    target: str | None = None
    rule: str | None = None
    """The extraction rule or the normalisation that decided."""
    span: tuple[int, int] | None = None
    """The position of the answer in the output."""
    also: dict[str, float] = {}
    """The same sample by other metrics, such as accuracy under another normalisation."""
    ratios: dict[str, Ratio] = {}
    """Metrics whose value over the corpus is a ratio of sums instead of a mean; can include `metric`."""
    options: tuple[OptionNumbers, ...] = ()
    mass: float | None = None
    """Total probability of the labels."""
    margin: float | None = None
    """By how much the chosen option led the second, in the deciding unit."""
    is_truncated: bool = False
    why: str | None = None
    """The failure's message, if FAILED."""
    group: str | None = None
    cluster: str | None = None
    passed: tuple[bool, ...] = ()
    """Which outputs passed the sample's tests, if they are programs."""
    judged: tuple[JudgeReply, ...] = ()
    """Questions to a judge about the answers, and its replies; empty without a judge."""
    details: tuple[dict[str, Any], ...] = ()
    """What the evaluator of a config reports about each answer, under its own names; can be empty."""


class Metric(msgspec.Struct, frozen=True):
    """A number for a whole task or a group of it, always with its counts."""

    task: str
    method: str
    """A `Method`, or `mixed` for a group of tasks with several methods."""
    metric: str
    group: str | None
    """None: the whole task."""
    value: float | None
    """None if nothing could be scored."""
    low: float | None
    high: float | None
    """95 % interval."""
    n: int
    """Number of rows."""
    n_scored: int
    """Samples with an answer that was compared."""
    n_unanswered: int
    """Samples whose reply contains no answer; they count as not right."""
    n_truncated: int
    n_failed: int
    stderr: float | None = None
    higher_is_better: bool = True
    is_headline: bool = False
    """Whether it is the main metric of the method, over the task or a group."""
    is_share: bool = True
    """Whether it is between 0 and 1 and shown as a percentage; otherwise it has its own scale."""
    is_named: bool = False
    """Whether the dataset's author names it as a metric, so that the table of results also shows it."""
    why: str | None = None
    """Why there is no value, or why the first failed row failed; None if nothing went wrong."""
    n_counted: int = 0
    """Samples in the value: scored and unanswered ones, without failed and ungraded ones. Always computed."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "n_counted", self.n_scored + self.n_unanswered)

    @property
    def is_listed(self) -> bool:
        """Whether the table of results shows it: the headline, and metrics that the author names."""
        return self.is_headline or self.is_named
