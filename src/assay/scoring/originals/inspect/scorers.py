"""Replies scored by inspect's scorers, by name: includes, match, pattern, exact, f1 and choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.method import Method
from assay.core.response import Finish
from assay.core.sample import Sample
from assay.core.score import Score, Verdict
from assay.core.task import AnsweredRequest
from assay.scoring.extract import extract_option
from assay.scoring.extract.reply import find_searchable_part
from assay.scoring.originals.inspect.values import REPLY_SCORERS, reduce_values
from assay.scoring.scorers.response_outcomes import (
    Unscorable,
    build_failed_score,
    build_score,
    collect_outputs,
    get_task,
)

CHOICE = "choice"


class InspectScores:
    """The first scorer decides, the others are reported in addition; several replies are reduced to one."""

    def __init__(
        self,
        track: Method = Method.GEN,
        scorers: Sequence[Mapping[str, Any]] = ({"name": "match"},),
        reducer: str = "mean",
    ) -> None:
        """Take the scorers as `{"name": ..., "args": {...}}`; ValueError if one is unknown."""
        self.track = track
        self._named = {str(one["name"]): dict(one.get("args") or {}) for one in scorers}
        self._reducer = reducer
        for name, args in self._named.items():
            if name != CHOICE:
                if name not in REPLY_SCORERS:
                    raise ValueError(f"inspect has no scorer {name!r}")
                REPLY_SCORERS[name]("reply", ("reply",), **args)
        self.gives = tuple(self._named)
        reduce_values([0.0], reducer)

    def score(self, sample: Sample, answers: Sequence[AnsweredRequest]) -> Score:
        """Return the sample's score."""
        first = self.gives[0]
        targets = sample.targets or tuple(sample.labels[index] for index in sample.gold)
        target = " | ".join(targets) or None
        try:
            outputs = collect_outputs(answers)
        except Unscorable as error:
            return build_failed_score(self.track, sample, answers, str(error), target, metric=first)
        replies = [_reply(output.text) for output in outputs]
        chosen = [self._answer(reply, sample) for reply in replies]
        known: dict[str, Any] = {
            "metric": first,
            "answer": chosen[0],
            "target": target,
            "rule": first,
            "is_truncated": Finish.LENGTH in [output.finish for output in outputs],
        }
        task = get_task(answers)
        if not targets:
            return build_score(self.track, sample, task, Verdict.UNGRADED, **known)
        if not any(chosen):
            known["also"] = dict.fromkeys(self.gives[1:], 0.0)
            return build_score(self.track, sample, task, Verdict.UNANSWERED, **known)
        values = {
            name: reduce_values(
                [self._value(name, reply, sample, targets) for reply in replies], self._reducer
            )
            for name in self.gives
        }
        known["also"] = {name: values[name] for name in self.gives[1:]}
        return build_score(self.track, sample, task, Verdict.SCORED, value=values[first], **known)

    def _answer(self, reply: str, sample: Sample) -> str | None:
        if self.gives[0] == CHOICE:
            return extract_option(reply, sample.labels, sample.choices).answer
        return reply or None

    def _value(self, name: str, reply: str, sample: Sample, targets: Sequence[str]) -> float:
        if name == CHOICE:
            return float(extract_option(reply, sample.labels, sample.choices).answer in targets)
        return REPLY_SCORERS[name](reply, targets, **self._named[name]) if reply else 0.0


def _reply(text: str) -> str:
    region = find_searchable_part(text)
    return "" if region is None else text[region[0] : region[1]].strip()
