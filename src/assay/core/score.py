"""What an answer is worth, and what all answers together are worth."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from assay.core.prompt import Prompt

MACRO = "_macro"
"""Ends the name of a mean over parts of a dataset in which each counts once, however many rows it has."""


HEADLINE = "headline"
"""Names a mean over subsets that are judged by different metrics: each counts with its own."""

MASS = "mass"
"""The metric of how much probability fell on the labels at all."""

NO_METRIC = "none"
"""Stands for the metric where answers are collected and not scored."""

NOTHING_TO_SCORE_BY = "the dataset names nothing to score the answers by"
NO_RIGHT_ANSWERS = "no row has a known right answer"


class Verdict(StrEnum):
    """What became of one sample."""

    SCORED = "scored"
    UNANSWERED = "unanswered"
    """The model spoke but no answer could be found in it. Counts as not right."""
    FAILED = "failed"
    """No answer came from the model. Left out of the score, shown beside it."""
    UNGRADED = "ungraded"
    """The dataset gives no right answer here. The prediction is kept."""


class OptionNumbers(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that is known about one option of one sample; every normalisation follows from it."""

    label: str
    sum_logprob: float | None = None
    n_tokens: int | None = None
    n_chars: int | None = None
    n_bytes: int | None = None
    unconditional: float | None = None
    """Sum of log-probabilities of the same text with no question before it."""
    is_greedy: bool | None = None
    prob: float | None = None
    """Share of the label in the mass that fell on all labels; with `prob_at_most`, of what was seen."""
    prob_at_most: float | None = None
    """The greatest share that the label may have, where the model did not show all; None: `prob` is exact."""


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One extraction rule tried on an output, for a person to follow."""

    rule: str
    found: str | None = None
    """What the rule would answer; None when it did not fire."""
    start: int | None = None
    end: int | None = None
    """The span of the output that the rule matched."""


class Ratio(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sample's part of a metric that divides a sum over all samples by another, such as a perplexity."""

    numerator: float
    denominator: float
    is_exponential: bool = False
    """The metric is e to the power of the ratio."""


class JudgeReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a judge was asked about a sample, what it replied, and how that was read."""

    about: str
    """What was asked, such as `turn 2`."""
    verdict: Verdict
    """SCORED: a verdict was found. UNANSWERED: the reply holds none. FAILED: no reply came."""
    value: float | None = None
    """None unless SCORED."""
    text: str = ""
    """All that the judge wrote."""
    rule: str | None = None
    """The rule that found the verdict, or that saw one which is none (a grade outside the scale)."""
    said: str | None = None
    """The verdict itself, as the rule names it."""
    why: str | None = None
    """Why there is no value."""
    span: tuple[int, int] | None = None
    """Where in the text the rule saw it."""
    reasoning: str | None = None
    """Thought that the judge kept apart from its reply."""
    prompt: Prompt = ""
    """What the judge was asked, media without their data; one without a chat template reads messages as one
    text, with an empty line between them."""


class Score(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sample's result by one method."""

    task: str
    sample_id: str
    track: str
    metric: str
    verdict: Verdict
    value: float | None = None
    """None unless SCORED."""
    answer: str | None = None
    """The answer that was found: an option's label, or the extracted text."""
    target: str | None = None
    rule: str | None = None
    """The extraction rule, or the normalisation, that decided."""
    span: tuple[int, int] | None = None
    """Where in the output the answer was found."""
    also: dict[str, float] = {}
    """The same sample by other metrics, such as accuracy under another normalisation."""
    ratios: dict[str, Ratio] = {}
    """Metrics of which the corpus's value is a ratio of sums and no mean; `metric` may be among them."""
    options: tuple[OptionNumbers, ...] = ()
    mass: float | None = None
    """Probability that fell on the labels."""
    margin: float | None = None
    """By how much the chosen option led the runner-up, in the deciding unit."""
    is_truncated: bool = False
    why: str | None = None
    """The failure's message, when FAILED."""
    group: str | None = None
    cluster: str | None = None
    passed: tuple[bool, ...] = ()
    """Which of the outputs passed the sample's tests, where they are programs."""
    judged: tuple[JudgeReply, ...] = ()
    """What a judge was asked about the answers and replied; empty where none was asked."""
    details: tuple[dict[str, Any], ...] = ()
    """What the evaluator of a config says of each answer, by its own names; empty where it says nothing."""


class Metric(msgspec.Struct, frozen=True):
    """A number about a whole task or a group of it. A value never travels without its counts."""

    task: str
    method: str
    metric: str
    group: str | None
    """None: the whole task."""
    value: float | None
    """None when nothing could be scored."""
    low: float | None
    high: float | None
    """95 % interval."""
    n: int
    """Rows."""
    n_scored: int
    n_unanswered: int
    n_truncated: int
    n_failed: int
    stderr: float | None = None
    higher_is_better: bool = True
    is_headline: bool = False
    """Whether it is the one metric that the method is judged by, over the task or a group."""
    is_share: bool = True
    """Whether it lies between 0 and 1 and is read in percent; else it has a scale of its own."""
    is_named: bool = False
    """Whether the author of the dataset names it as a metric; the table of results then shows it too."""
    why: str | None = None
    """Why there is no value, or why the first of the failed rows failed; None where nothing went wrong."""

    @property
    def is_listed(self) -> bool:
        """Whether the table of results shows it: the headline, and what the author names beside it."""
        return self.is_headline or self.is_named
