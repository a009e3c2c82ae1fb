"""What Assay reads of an inspect_ai log, version 2: the documented fields that a run folder has a place for.

Everything else of a log, such as its events, is skipped while it is decoded.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

PROGRAM = "inspect_ai"
NAME = "inspect"
LOG_VERSION = 2
"""The version of the schema of logs since 2024; version 1 had one scorer per log."""


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a log; fields that Assay does not know are skipped."""


class Dataset(_Part, frozen=True):
    """The dataset."""

    name: str | None = None
    location: str | None = None
    samples: int | None = None
    sample_ids: list[str | int] | None = None


class ScorerDefinition(_Part, frozen=True):
    """A scorer with its metrics."""

    name: str
    options: dict[str, Any] | None = None
    metrics: Any = None
    """A list of metrics, or a dict of them by the key of a score; both can occur in each other."""


class EvalSpec(_Part, frozen=True):
    """Identity and configuration of an evaluation."""

    task: str
    created: str = ""
    model: str = ""
    eval_id: str = ""
    eval_set_id: str | None = None
    run_id: str = ""
    task_id: str = ""
    task_version: int | str = 0
    task_file: str | None = None
    task_args: dict[str, Any] = {}
    solver: str | None = None
    solver_args: dict[str, Any] | None = None
    tags: list[str] | None = None
    dataset: Dataset = Dataset()
    model_generate_config: dict[str, Any] = {}
    model_args: dict[str, Any] = {}
    model_roles: dict[str, Any] | None = None
    config: dict[str, Any] = {}
    packages: dict[str, str] = {}
    metadata: dict[str, Any] | None = None
    scorers: list[ScorerDefinition] | None = None


class Plan(_Part, frozen=True):
    """The solvers."""

    steps: list[dict[str, Any]] = []
    config: dict[str, Any] = {}


class Metric(_Part, frozen=True):
    """One number of a scorer. `group`: the metric function that returned several numbers at once."""

    name: str
    value: float | int | None
    group: str | None = None
    params: dict[str, Any] = {}


class EvalScore(_Part, frozen=True):
    """The metrics of one score: of a scorer, or of one key of its values."""

    name: str
    scorer: str = ""
    reducer: str | None = None
    params: dict[str, Any] = {}
    metrics: dict[str, Metric] = {}


class Headline(_Part, frozen=True):
    """Which number of the results is the main one."""

    scorer: str | None = None
    score: str | None = None
    metric: str | None = None
    reducer: str | None = None


class Results(_Part, frozen=True):
    """All metrics."""

    total_samples: int = 0
    completed_samples: int = 0
    scores: list[EvalScore] = []
    headline: Headline | None = None
    metadata: dict[str, Any] | None = None
    scorer: EvalScore | None = None
    """Version 1: the only scorer."""
    metrics: dict[str, Metric] = {}
    """Version 1: its metrics."""


class Stats(_Part, frozen=True):
    """Times."""

    started_at: str = ""
    completed_at: str = ""


class Error(_Part, frozen=True):
    """Why an evaluation or a sample stopped."""

    message: str = ""


class Header(_Part, frozen=True):
    """A log without its samples."""

    eval: EvalSpec
    version: int = LOG_VERSION
    status: str = "started"
    plan: Plan = Plan()
    results: Results | None = None
    stats: Stats = Stats()
    error: Error | None = None
    invalidated: bool = False


class ToolCall(_Part, frozen=True):
    """A tool that the model called."""

    function: str = ""
    arguments: Any = None


Content: TypeAlias = str | list[dict[str, Any]]


class ChatMessage(_Part, frozen=True):
    """One message of a conversation."""

    role: str
    content: Content = ""
    tool_calls: list[ToolCall] | None = None
    function: str | None = None


class Usage(_Part, frozen=True):
    """Counts of tokens."""

    input_tokens: int = 0
    output_tokens: int = 0


class Choice(_Part, frozen=True):
    """One text of the model."""

    message: ChatMessage
    stop_reason: str = "unknown"


class ModelOutput(_Part, frozen=True):
    """The last output of a sample."""

    choices: list[Choice] = []
    usage: Usage | None = None
    time: float | None = None
    error: str | None = None


class Score(_Part, frozen=True):
    """The value can be a number, a text, a list or a dict."""

    value: Any
    answer: str | None = None
    explanation: str | None = None
    reason: str | None = None
    metadata: dict[str, Any] | None = None


class Limit(_Part, frozen=True):
    """The limit that stopped a sample."""

    type: str = ""
    limit: float | None = None


class Sample(_Part, frozen=True):
    """One sample in one epoch."""

    id: int | str
    epoch: int = 1
    input: str | list[ChatMessage] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[ChatMessage] = []
    output: ModelOutput = ModelOutput()
    scores: dict[str, Score] | None = None
    score: Score | None = None
    """Version 1: by the only scorer."""
    metadata: dict[str, Any] = {}
    model_usage: dict[str, Usage] = {}
    total_time: float | None = None
    error: Error | None = None
    limit: Limit | None = None
    attachments: dict[str, str] = {}


class ReducedScore(_Part, frozen=True):
    """The value of one sample over its epochs."""

    value: Any
    sample_id: int | str | None = None


class Reduction(_Part, frozen=True):
    """The values of one scorer after its epochs were reduced to one value per sample."""

    scorer: str
    reducer: str | None = None
    samples: list[ReducedScore] = []


class SampleKey(_Part, frozen=True):
    """What identifies a sample in a log."""

    id: int | str
    epoch: int = 1
