"""What Assay reads of every_eval_ever records: the aggregate of an evaluation and its samples."""

from __future__ import annotations

from typing import Any

import msgspec

NAME = "every-eval-ever"
SCHEMA_VERSION = "0.3.0"
"""The version that Assay writes. It reads all of 0.x: later ones add optional fields."""
SAMPLES_SUFFIX = "_samples.jsonl"
LIBRARY = "assay"


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a record; fields that Assay does not know are skipped."""


class EvalLibrary(_Part, frozen=True):
    """The program that evaluated."""

    name: str = ""
    version: str = ""
    additional_details: dict[str, str] | None = None


class InferenceEngine(_Part, frozen=True):
    """The program that ran the model."""

    name: str | None = None
    version: str | None = None


class ModelInfo(_Part, frozen=True):
    """The model."""

    name: str = ""
    id: str = ""
    inference_platform: str | None = None
    inference_engine: InferenceEngine | None = None


class MetricConfig(_Part, frozen=True):
    """What a number means."""

    lower_is_better: bool = False
    metric_id: str | None = None
    metric_name: str | None = None
    metric_unit: str | None = None
    min_score: float | str | None = None
    max_score: float | str | None = None


class Amount(_Part, frozen=True):
    """A standard error."""

    value: float | None = None


class Uncertainty(_Part, frozen=True):
    """How far a number can be trusted."""

    standard_error: Amount | None = None
    num_samples: int | None = None


class ScoreDetails(_Part, frozen=True):
    """The number."""

    score: float
    uncertainty: Uncertainty | None = None


class SourceData(_Part, frozen=True):
    """The dataset."""

    dataset_name: str = ""
    hf_repo: str | None = None
    samples_number: int | None = None


class GenerationConfig(_Part, frozen=True):
    """How texts were sampled."""

    generation_args: dict[str, Any] | None = None


class EvaluationResult(_Part, frozen=True):
    """One number of an evaluation."""

    evaluation_name: str
    score_details: ScoreDetails
    evaluation_result_id: str | None = None
    metric_config: MetricConfig = MetricConfig()
    source_data: SourceData = SourceData()
    generation_config: GenerationConfig | None = None


class Aggregate(_Part, frozen=True):
    """An evaluation: the content of UUID.json."""

    schema_version: str
    evaluation_id: str
    model_info: ModelInfo
    evaluation_results: list[EvaluationResult]
    eval_library: EvalLibrary = EvalLibrary()
    evaluation_timestamp: str | None = None
    retrieved_timestamp: str | None = None
    source_metadata: dict[str, Any] = {}


class Input(_Part, frozen=True):
    """The question."""

    raw: str = ""
    formatted: str | None = None
    reference: list[str] = []
    choices: list[str] | None = None


class OutputTexts(_Part, frozen=True):
    """What the model wrote."""

    raw: list[str] = []
    reasoning_trace: list[str] | None = None


class ChatTurn(_Part, frozen=True):
    """One message of a conversation."""

    role: str
    content: str | None = None


class Attribution(_Part, frozen=True):
    """How an answer was found in the output."""

    extracted_value: str = ""
    extraction_method: str = ""
    is_terminal: bool = True


class Evaluation(_Part, frozen=True):
    """The score of a sample."""

    score: float
    is_correct: bool = False


class TokenUsage(_Part, frozen=True):
    """Counts of tokens."""

    input_tokens: int = 0
    output_tokens: int = 0


class Performance(_Part, frozen=True):
    """Times of a sample."""

    latency_ms: float | None = None
    generation_time_ms: float | None = None


class Instance(_Part, frozen=True, kw_only=True):
    """One sample by one metric: a line of UUID_samples.jsonl."""

    sample_id: str
    evaluation_name: str = ""
    evaluation_result_id: str | None = None
    input: Input = Input()
    output: OutputTexts | None = None
    messages: list[ChatTurn] | None = None
    answer_attribution: list[Attribution] = []
    evaluation: Evaluation
    token_usage: TokenUsage | None = None
    performance: Performance | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None
