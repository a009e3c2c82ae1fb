"""Per-label templates for `ppl`: each label has its own complete prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from assay.core.prompt import Message, Prompt
from assay.core.sample import Sample
from assay.dialects.shared.dialogue import SHOT_SEPARATOR, Dialogue, RoleMarks, turns_to_messages
from assay.dialects.table.layout import build_template_values


class LabelMap:
    """The conversations, by label."""

    def __init__(
        self,
        dialogues: Mapping[str, Dialogue],
        answer_field: str,
        marks: RoleMarks | None,
        *,
        differs_in_reply: bool,
    ) -> None:
        """Store the conversations. `differs_in_reply`: whether they differ only in the model's last turn."""
        self._dialogues = dialogues
        self._answer_field = answer_field
        self._marks = marks
        self.all = tuple(dialogues.values())
        self.differs_in_reply = differs_in_reply

    def spans(self, sample: Sample, shots: Sequence[Sample], *, is_chat: bool) -> list[tuple[Prompt, int]]:
        """Return each option's prompt, and the position in its final text where the prompts begin to differ.

        The answer field is empty, because otherwise every label's prompt would show the right answer.
        """
        values = {**build_template_values(sample), self._answer_field: ""}
        if is_chat:
            return self._conversations(sample, values, shots)
        marks = self._marks
        head = "" if marks is None else marks.begin
        separator = SHOT_SEPARATOR if marks is None else ""
        for shot in shots:
            head += (
                self._of(_get_gold_label(shot)).render_text_with_answer(self._map_example(shot)) + separator
            )
        end = "" if marks is None else marks.end
        texts = [head + self._of(label).render_text_with_answer(values) + end for label in sample.labels]
        start = _count_common_characters(texts)
        return [(text, start) for text in texts]

    def _conversations(
        self, sample: Sample, values: Mapping[str, Any], shots: Sequence[Sample]
    ) -> list[tuple[Prompt, int]]:
        solved = [
            turn for shot in shots for turn in self._turns(_get_gold_label(shot), self._map_example(shot))
        ]
        every = [self._turns(label, values) for label in sample.labels]
        start = _count_common_characters([turns[-1][1] for turns in every])
        prompts: list[tuple[Prompt, int]] = []
        for *before, (role, reply) in every:
            prompts.append(((*turns_to_messages([*solved, *before]), Message(role, reply)), start))
        return prompts

    def _turns(self, label: str, values: Mapping[str, Any]) -> list[Any]:
        return list(self._of(label).render_turns_with_answer(values))

    def _of(self, label: str) -> Dialogue:
        return self._dialogues[label]

    def _map_example(self, shot: Sample) -> Mapping[str, Any]:
        return {**build_template_values(shot), self._answer_field: _get_gold_label(shot)}


def _get_gold_label(shot: Sample) -> str:
    return shot.labels[shot.gold[0]]


def _count_common_characters(texts: Sequence[str]) -> int:
    """Return the number of leading characters all texts share, up to the space before the differing word."""
    columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    shared = "".join(letters[0] for letters in columns)
    whole = len(shared) - len(shared.rstrip())
    if whole and all(len(text) > len(shared) for text in texts):
        return len(shared.rstrip())
    return len(shared.rpartition(shared.split()[-1])[0].rstrip()) if shared.split() else 0
