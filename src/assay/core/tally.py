"""Counts of a run in progress: the engine updates them, and user interfaces show them."""

from __future__ import annotations

import msgspec

from assay.core.run import Cost

SCORING = "scoring"
"""The failure reason of a sample that was answered but could not be scored."""
_RECENT_ANSWERS = 256


class MethodPace(msgspec.Struct):
    """The number of requests of one method and their recent duration: a text takes longer than a score."""

    n_requests: int = 0
    """Created so far."""
    n_answered: int = 0
    n_timed: int = 0
    """Those answered by the model itself."""
    seconds: float = 0.0
    """Mean duration of one of these, over the latest few hundred."""

    def time(self, seconds: float) -> None:
        """Add the duration of an answer."""
        self.n_timed += 1
        n_recent = self.n_timed if self.n_timed < _RECENT_ANSWERS else _RECENT_ANSWERS
        self.seconds += (seconds - self.seconds) / n_recent


class JudgeTally(msgspec.Struct):
    """The prompts of a judge and their cost."""

    n_prompts: int = 0
    """Prompts received; after all replies, the sum of the next four counts."""
    n_sent: int = 0
    """Prompts sent to the model."""
    n_journaled: int = 0
    """Prompts answered by an earlier start of this run."""
    n_cached: int = 0
    """Prompts answered by the cache."""
    n_shared: int = 0
    """Prompts equal to another one of this run."""
    n_replied: int = 0
    """Prompts with a reply or a failure."""
    n_failed: int = 0
    """Prompts that failed; a failure shared by several prompts counts for each."""
    n_prompt_tokens: int = 0
    n_generated_tokens: int = 0
    """Tokens of the sent prompts and of the replies to them."""
    seconds: float = 0.0
    """Model time of the sent prompts."""
    notes: tuple[str, ...] = ()
    """Notes about damage in the file of its replies."""


class Tally(msgspec.Struct):
    """The progress of the run, shown by the user interfaces and stored in the manifest."""

    n_samples: int = 0
    """Samples to evaluate."""
    n_done: int = 0
    n_failed: int = 0
    """Samples with a failed request, or with an answer that could not be scored."""
    n_begun: int = 0
    """Samples whose requests have been created."""
    n_requests: int = 0
    n_answered: int = 0
    n_journaled: int = 0
    """Requests answered by an earlier start of this run."""
    n_cached: int = 0
    """Requests answered by the cache."""
    n_shared: int = 0
    """Requests with the same ask as another one of this run."""
    costs: dict[tuple[str, str], Cost] = {}
    """The cost of each method of each task."""
    landed: dict[str, int] = {}
    """Completed samples by task: answered, and scored if that does not need other samples."""
    failures: dict[str, int] = {}
    """Failed samples by their first error: the kind of a request's failure, or `scoring`."""
    last_failure: str | None = None
    """The last failed sample, with its error."""
    methods: dict[str, MethodPace] = {}
    """The pace of each method, over all tasks."""
    judge: JudgeTally | None = None
    """The progress of the judge; None without a judge."""

    @property
    def share_done(self) -> float:
        """Return the completed part of the work, from 0 to 1; assumes that further samples are similar."""
        if not self.n_requests:
            return 1.0 if self.n_done >= self.n_samples else 0.0
        return self.n_answered / self.n_requests * self.n_begun / max(self.n_samples, 1)
