"""The table of samples as columns, filled as lines of a run folder arrive."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from assay.core.method_agreement import Opinion, has_disagreement, read_opinion
from assay.core.prompt import Prompt, final_text
from assay.core.score import Ratio, Verdict
from assay.results.pages.data import SampleTable, TrackColumns

QUESTION_CHARS = 240
ANSWER_CHARS = 120
_QUESTIONS = (
    "question",
    "query",
    "problem",
    "instruction",
    "prompt",
    "input",
    "sentence",
    "stem",
    "ctx",
    "premise",
    "goal",
    "text",
)
"""Names of fields that contain the question, most likely first."""
_NO_REQUEST, _NOT_SCORED = ord("."), ord("N")
_LEAST = 8
"""A text up to this length is a label or a number rather than a question."""


class AskLine(msgspec.Struct, frozen=True, gc=False):
    """The id and method of a stored ask."""

    id: str
    track: str


class SampleFacts(msgspec.Struct, frozen=True):
    """The facts of a stored sample that the table needs."""

    id: str
    fields: dict[str, Any]
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    gold: tuple[int, ...] = ()
    targets: tuple[str, ...] = ()
    group: str | None = None


class SampleLine(msgspec.Struct, frozen=True):
    """The part of a line of samples.jsonl that the table needs."""

    task: str
    sample: SampleFacts
    contexts: msgspec.Raw
    asks: tuple[AskLine, ...]


class OptionLine(msgspec.Struct, frozen=True, gc=False):
    """The likelihood of an option."""

    label: str
    sum_logprob: float | None = None
    prob: float | None = None
    prob_at_most: float | None = None


class ScoreAddress(msgspec.Struct, frozen=True, gc=False):
    """The task and sample of a line of scores.jsonl."""

    task: str
    sample_id: str


class ScoreLine(msgspec.Struct, frozen=True):
    """The part of a line of scores.jsonl that pages need."""

    task: str
    sample_id: str
    track: str
    metric: str
    verdict: Verdict
    value: float | None = None
    answer: str | None = None
    target: str | None = None
    rule: str | None = None
    ratios: dict[str, Ratio] = {}
    options: tuple[OptionLine, ...] = ()
    margin: float | None = None
    is_truncated: bool = False
    cluster: str | None = None


class _WrittenTokens(msgspec.Struct, frozen=True, gc=False):
    n_tokens: int = 0
    n_thinking_tokens: int = 0


class _OutcomeTokens(msgspec.Struct, frozen=True, gc=False):
    """The token counts of an outcome. Long lists of tokens are skipped unread."""

    type: str
    n_prompt_tokens: int = 0
    n_tokens: int = 0
    outputs: tuple[_WrittenTokens, ...] = ()


class ResponseLine(msgspec.Struct, frozen=True, gc=False):
    """The part of a line of the journal that pages need."""

    request_id: str
    outcome: _OutcomeTokens
    seconds: float = 0.0
    latency_s: float = 0.0

    @property
    def is_failure(self) -> bool:
        """Whether the request failed."""
        return self.outcome.type == "failure"

    @property
    def n_tokens(self) -> int:
        """Return the number of scored or generated tokens."""
        outcome = self.outcome
        return sum(one.n_tokens for one in outcome.outputs) if outcome.outputs else outcome.n_tokens

    @property
    def n_thinking_tokens(self) -> int:
        """Return the number of generated tokens that belong to thoughts."""
        return sum(one.n_thinking_tokens for one in self.outcome.outputs)


class _Track:
    """One method's columns."""

    def __init__(self) -> None:
        self.metrics: list[str] = []
        self.outcomes = bytearray()
        self.truncated = bytearray()
        self.values: list[float | None] = []
        self.answers: list[str] = []
        self.opinions: list[Opinion | None] = []
        self.margins: list[float | None] = []
        self.tokens = array("q")
        self.thinking = array("q")
        self.seconds = array("d")
        self.rule = array("l")
        self.score_at = array("q")

    def reach(self, n: int) -> None:
        """Extend the columns to n samples."""
        missing = n - len(self.values)
        if missing > 0:
            self.metrics += [""] * missing
            self.outcomes += b"." * missing
            self.truncated += b"0" * missing
            self.values += [None] * missing
            self.answers += [""] * missing
            self.opinions += [None] * missing
            self.margins += [None] * missing
            self.tokens.extend([0] * missing)
            self.thinking.extend([0] * missing)
            self.seconds.extend([0.0] * missing)
            self.rule.extend([-1] * missing)
            self.score_at.extend([-1] * missing)


class SampleColumns:
    """The table as it grows."""

    def __init__(self) -> None:
        self.own_scales: set[tuple[str, str, str]] = set()
        """Task, method and name of metrics known not to be shares."""
        self._tasks: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._rules: dict[str, int] = {}
        self._task = array("l")
        self._group = array("l")
        self._ids: list[str] = []
        self._questions: list[str] = []
        self._targets: list[str] = []
        self._labels: list[tuple[str, ...]] = []
        self._known_labels: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Each distinct tuple of labels, shared by samples to save memory."""
        self._places: dict[tuple[int, str], int] = {}
        self._tracks: dict[str, _Track] = {}
        self.first_changed = 0
        """The first place that changed since the last refresh set it to the number of samples."""

    def __len__(self) -> int:
        return len(self._ids)

    def add_sample(self, line: SampleLine) -> int:
        """Add a sample; return its place."""
        sample = line.sample
        task = self._tasks.setdefault(line.task, len(self._tasks))
        place = len(self._ids)
        self._places[task, sample.id] = place
        self._task.append(task)
        self._group.append(
            -1 if sample.group is None else self._groups.setdefault(sample.group, len(self._groups))
        )
        self._ids.append(sample.id)
        self._questions.append(truncate_line(find_question(line), QUESTION_CHARS))
        self._targets.append(truncate_line(_target(sample), ANSWER_CHARS))
        self._labels.append(self._known_labels.setdefault(sample.labels, sample.labels))
        return place

    def add_answer(
        self, place: int, track_name: str, n_tokens: int, seconds: float, n_thinking: int = 0
    ) -> None:
        """Add the tokens and time of one answer."""
        track = self._track(track_name)
        self.first_changed = min(self.first_changed, place)
        if track.outcomes[place] == _NO_REQUEST:
            track.outcomes[place] = _NOT_SCORED
        track.tokens[place] += n_tokens
        track.thinking[place] += n_thinking
        track.seconds[place] += seconds

    def add_score(self, score: ScoreLine, at: int) -> bool:
        """Add a score, stored at an offset of its file; return whether its sample is known."""
        task = self._tasks.get(score.task, -1)
        place = self._places.get((task, score.sample_id))
        if place is None:
            return False
        track = self._track(score.track)
        self.first_changed = min(self.first_changed, place)
        track.metrics[place] = score.metric
        is_own_scale = score.metric in score.ratios
        track.outcomes[place] = ord(_outcome(score.verdict, score.value, is_own_scale=is_own_scale))
        track.truncated[place] = ord("1" if score.is_truncated else "0")
        track.values[place] = score.value
        track.answers[place] = truncate_line(score.answer or "", ANSWER_CHARS)
        track.opinions[place] = read_opinion(score.verdict, score.answer, self._labels[place])
        track.margins[place] = score.margin
        track.rule[place] = -1 if score.rule is None else self._rules.setdefault(score.rule, len(self._rules))
        track.score_at[place] = at
        return True

    def iter_thinking(self) -> Iterator[tuple[str, str, int, float]]:
        """Yield task, method, thinking tokens and value of each sample whose answer counts in an accuracy.

        A sample without an answer counts as wrong; one of a task without any thought is omitted.
        """
        tasks = list(self._tasks)
        for name, track in self._tracks.items():
            values = {ord("R"): 1.0, ord("W"): 0.0, ord("U"): 0.0}
            thinking = {self._task[place] for place, n in enumerate(track.thinking) if n}
            for place, n in enumerate(track.thinking):
                if self._task[place] in thinking and track.outcomes[place] in values:
                    yield tasks[self._task[place]], name, n, values[track.outcomes[place]]

    def place_of(self, task: str, sample_id: str) -> int | None:
        """Return the place of a sample."""
        return self._places.get((self._tasks.get(task, -1), sample_id))

    def iter_score_places(self, place: int) -> Iterable[int]:
        """Yield the offsets of a sample's scores."""
        for track in self._tracks.values():
            track.reach(len(self._ids))
            if track.score_at[place] >= 0:
                yield track.score_at[place]

    def table(self, first: int, n: int | None, revision: str, changes: int) -> SampleTable:
        """Return at most n samples, starting at a place."""
        last = len(self._ids) if n is None else min(first + n, len(self._ids))
        rows = slice(first, last)
        tracks = [self._columns(name, rows) for name in self._tracks]
        return SampleTable(
            first=first,
            n=max(0, last - first),
            revision=revision,
            changes=changes,
            tasks=list(self._tasks),
            groups=list(self._groups),
            rules=list(self._rules),
            task=self._task[rows].tolist(),
            group=self._group[rows].tolist(),
            ids=self._ids[rows],
            questions=self._questions[rows],
            targets=self._targets[rows],
            disagree="".join("1" if self.disagree(place) else "0" for place in range(first, last)),
            tracks=tracks,
        )

    def disagree(self, place: int) -> bool:
        """Whether the methods gave different answers to a sample; failed requests do not count."""
        if len(self._tracks) < 2:
            return False
        every = (track.opinions[place] for track in self._tracks.values() if place < len(track.opinions))
        return has_disagreement([one for one in every if one is not None]) is True

    def interest(self, place: int) -> int:
        """Return the priority of a sample in a page of limited size: 0 is the highest."""
        letters = {chr(track.outcomes[place]) for track in self._tracks.values() if place < len(track.values)}
        if "F" in letters:
            return 0
        if "U" in letters:
            return 1
        return 2 if letters & {"W", "P"} or self.disagree(place) else 3

    def _columns(self, name: str, rows: slice) -> TrackColumns:
        track = self._track(name)
        outcomes = track.outcomes[rows]
        if self.own_scales:
            tasks = list(self._tasks)
            for nth, place in enumerate(range(rows.start, rows.stop)):
                task = tasks[self._task[place]]
                if chr(outcomes[nth]) in "RPW" and (task, name, track.metrics[place]) in self.own_scales:
                    outcomes[nth] = ord("V")
        return TrackColumns(
            name=name,
            outcomes=outcomes.decode(),
            truncated=track.truncated[rows].decode(),
            values=[None if value is None else _round_number(value) for value in track.values[rows]],
            answers=track.answers[rows],
            margins=[None if margin is None else _round_number(margin) for margin in track.margins[rows]],
            tokens=track.tokens[rows].tolist(),
            seconds=[_round_number(seconds) for seconds in track.seconds[rows]],
            rule=track.rule[rows].tolist(),
        )

    def _track(self, name: str) -> _Track:
        track = self._tracks.get(name)
        if track is None:
            track = self._tracks[name] = _Track()
        if len(track.values) < len(self._ids):
            track.reach(len(self._ids))
        return track


def truncate_line(text: str, n: int) -> str:
    """Return a text as one line, truncated to n characters."""
    if len(text) <= n and text.isprintable() and "  " not in text:
        return text.strip()
    # Texts may be books: process only what can be shown.
    line = " ".join(text[: 4 * n].split())
    return line if len(line) <= n and len(text) <= 4 * n else line[: n - 1] + "…"


def _outcome(verdict: Verdict, value: float | None, *, is_own_scale: bool) -> str:
    if verdict is not Verdict.SCORED or value is None:
        return {Verdict.UNANSWERED: "U", Verdict.FAILED: "F", Verdict.UNGRADED: "G"}.get(verdict, "G")
    if is_own_scale or not 0 <= value <= 1:
        return "V"
    return "R" if value == 1 else "W" if value == 0 else "P"


def find_question(line: SampleLine) -> str:
    """Return the question of a sample, from its fields or its prompt."""
    texts = {name.casefold(): value for name, value in line.sample.fields.items() if isinstance(value, str)}
    for name in _QUESTIONS:
        if texts.get(name, "").strip():
            return texts[name]
    answers = {*line.sample.choices, *line.sample.targets}
    for value in texts.values():
        if len(value) > _LEAST and value not in answers:
            return value
    contexts = msgspec.json.decode(line.contexts, type=tuple[Prompt, ...])
    return final_text(contexts[0])[-2 * QUESTION_CHARS :] if contexts else ""


def _target(sample: SampleFacts) -> str:
    if sample.gold and sample.labels:
        return " | ".join(sample.labels[index] for index in sample.gold)
    return " | ".join(sample.targets)


def _round_number(number: float) -> float:
    """Round a number to the digits that a table shows, which halves the size of the page."""
    return float(f"{number:.5g}")
