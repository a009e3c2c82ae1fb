"""Thoughts of a local model: how its chat template asks for them, and where the answer begins.

A template shows the marks around a thought, and the variables that switch it on and off. Assay reads both
from the template's source, so that no list of models is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.backends.local.chat_template import find_template_variables
from assay.backends.problems import thinking_error
from assay.core.request import Request
from assay.core.thinking import Thinking

_SWITCHES = ("enable_thinking", "thinking", "reasoning")
"""Names of the template variable that switches thinking on and off."""
_PROMPT_END = 32
"""Tokens at the end of a prompt that show whether it leaves a thought open."""
_EFFORT, _BUDGET = "reasoning_effort", "thinking_budget"
_WORD = r"think(?:ing)?|thought|reasoning"
OPENING = re.compile(rf"[<\[◁]\|?(?:\w+:)?(?:start_|begin_of_)?(?:{_WORD})\|?[>\]▷]", re.IGNORECASE)
CLOSING = re.compile(
    rf"[<\[◁](?:/(?:\w+:)?(?:{_WORD})|\|?(?:end_|end_of_)(?:{_WORD})\|?)[>\]▷]", re.IGNORECASE
)
_HARMONY_MESSAGE = re.compile(
    r"<\|end\|>|<\|start\|>(?:assistant)?|<\|channel\|>(?:analysis|commentary)?|<\|message\|>"
)
_CLOSED_BY = (
    ("start_", "end_"),
    ("START_", "END_"),
    ("begin_of_", "end_of_"),
    ("<", "</"),
    ("[", "[/"),
    ("◁", "◁/"),
)


@dataclass(frozen=True, slots=True)
class ThoughtMarks:
    """What a model writes around its thought."""

    opening: str
    closing: str
    """The answer begins after it."""
    forced: str
    """What Assay writes to end a thought whose budget is used up."""
    inner_ends: tuple[str, ...] = ()
    """Tokens that usually end a turn, but inside a thought only one of its messages."""


HARMONY = ThoughtMarks(
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
    "<|end|><|start|>assistant<|channel|>final<|message|>",
    inner_ends=("<|end|>",),
)
"""The marks of gpt-oss, whose thought and answer are messages on different channels."""


def find_thought_marks(template: str | None) -> ThoughtMarks | None:
    """Return the marks that a chat template uses; None if it has none."""
    if not template:
        return None
    if "<|channel|>" in template and "final" in template:
        return HARMONY
    opening, closing = OPENING.search(template), CLOSING.search(template)
    if opening is None and closing is None:
        return None
    closes = closing[0] if closing is not None else _swap(opening[0] if opening else "", closes=True)
    opens = opening[0] if opening is not None else _swap(closes, closes=False)
    return ThoughtMarks(opens, closes, f"\n{closes}\n\n")


def _swap(mark: str, *, closes: bool) -> str:
    """Return the counterpart of a mark, of which a template shows only one."""
    for start, end in _CLOSED_BY:
        before, after = (start, end) if closes else (end, start)
        if before in mark:
            return mark.replace(before, after, 1)
    return mark


def find_open_thought(text: str) -> str | None:
    """Return the mark of a thought that a text leaves open."""
    opened = list(OPENING.finditer(text))
    closed = [match.end() for match in CLOSING.finditer(text)]
    return opened[-1][0] if opened and (not closed or closed[-1] <= opened[-1].start()) else None


def split_thought(text: str) -> tuple[str | None, str]:
    """Return the thought in a whole text, and its answer: empty if the thought is not closed.

    A server without a reasoning parser leaves both in one text, and the prompt may contain the opening mark.
    """
    start = text.lstrip()
    if start.startswith(HARMONY.opening) or start.startswith(HARMONY.closing):
        before, mark, answer = start.partition(HARMONY.closing)
        inner = _HARMONY_MESSAGE.sub("\n", before.removeprefix(HARMONY.opening)).strip()
        return inner or None, answer if mark else ""
    opening = OPENING.match(start)
    closing = CLOSING.search(start, 0 if opening is None else opening.end())
    if opening is None and (closing is None or OPENING.search(start, 0, closing.start())):
        return None, text
    begin = 0 if opening is None else opening.end()
    if closing is None:
        return start[begin:].strip(), ""
    return start[begin : closing.start()].strip() or None, start[closing.end() :].lstrip()


def choose_switches(thinking: Thinking | None, template: str | None, name: str) -> dict[str, Any]:
    """Return the template's variables for a setting; raise MODEL-021 if the template does not support it."""
    if thinking is None:
        return {}
    if not template:
        if not thinking.is_on:
            return {}
        raise thinking_error(f"{name} has no chat template, so it cannot be asked to think")
    variables = find_template_variables(template)
    marks = find_thought_marks(template)
    switches: dict[str, Any] = {known: thinking.is_on for known in _SWITCHES if known in variables}
    if not thinking.is_on:
        if not switches and (marks is not None or _EFFORT in variables):
            least = "use --thinking low" if _EFFORT in variables else "remove --thinking off"
            raise thinking_error(
                f"the chat template of {name} cannot switch thinking off: it has none of the variables "
                f"{', '.join(_SWITCHES)}",
                f"{least}, or use another template: --model-arg chat_template=FILE",
            )
        return switches
    if thinking.effort is not None:
        if _EFFORT not in variables:
            raise thinking_error(
                f"the chat template of {name} has no levels of effort: it has no variable {_EFFORT}",
                "use --thinking on, or a number of tokens",
            )
        return {**switches, _EFFORT: thinking.effort}
    if marks is None and not switches and _EFFORT not in variables:
        raise thinking_error(
            f"the chat template of {name} does not support thinking: it has none of the variables "
            f"{', '.join((*_SWITCHES, _EFFORT))} and no marks such as <think>"
        )
    if thinking.budget is not None:
        if marks is None:
            raise thinking_error(
                f"the chat template of {name} has no marks such as </think>, so Assay cannot end a thought",
                "use --thinking on, and limit the whole text with --max-tokens",
            )
        if _BUDGET in variables:
            switches[_BUDGET] = thinking.budget
    return switches


def needs_no_switch(thinking: Thinking | None, template: str | None) -> bool:
    """Return whether thinking is to be off, and the template has none anyway."""
    if thinking is None or thinking.is_on:
        return False
    return find_thought_marks(template) is None and not choose_switches(thinking, template, "the model")


@dataclass(slots=True)
class ThoughtCounts:
    """How many texts of a model are finished, and how many of them began with a thought."""

    n_texts: int = 0
    n_thoughts: int = 0


class Thought:
    """The thought of one text that is being generated: where it ends, and whether its budget is used up."""

    def __init__(
        self,
        marks: ThoughtMarks,
        *,
        is_open: bool,
        budget: int | None = None,
        forced_ids: tuple[int, ...] = (),
        inner_end_ids: frozenset[int] = frozenset(),
        counts: ThoughtCounts | None = None,
    ) -> None:
        """With `is_open`, the prompt ends inside the thought. `forced_ids` end it when its budget is used."""
        self.marks = marks
        self.budget = budget
        self.forced_ids = forced_ids
        self.inner_end_ids = inner_end_ids
        self._counts = counts or ThoughtCounts()
        self._is_open = is_open
        # Each token has at least one byte, so that so many tokens contain a whole mark.
        self._reach = 2 + max(len(mark.encode()) for mark in (marks.opening, marks.closing))
        self.reset()

    def reset(self) -> None:
        """Forget the text."""
        self.is_entered = self._is_open
        """Whether the text is known to be a thought so far."""
        self.is_used_up = False
        self.answer_at: int | None = None
        """Number of tokens before the answer; 0: the model answered without a thought."""
        self.head = ""
        """The first characters of the answer, if they belong to the token that ended the thought."""

    def has_ended(self) -> bool:
        """Return whether the answer has begun."""
        return self.answer_at is not None

    def follow(
        self, ids: Sequence[int], end_ids: frozenset[int], decode: Callable[[Sequence[int]], str]
    ) -> bool:
        """Read the newest token; return whether the text ended inside the thought."""
        is_ended = ids[-1] in end_ids - self.inner_end_ids
        tail = decode(ids[-self._reach :])
        if (at := tail.rfind(self.marks.closing)) >= 0:
            self.answer_at = len(ids)
            self.head = tail[at + len(self.marks.closing) :]
            return False
        if not self.is_entered:
            start = decode(ids[: self._reach]).lstrip()
            self.is_entered = start.startswith(self.marks.opening)
            may_enter = any(mark.startswith(start) for mark in (self.marks.opening, self.marks.closing))
            if not self.is_entered and (is_ended or not may_enter):
                self.answer_at = 0
                return False
        if is_ended:
            return True
        self.is_used_up = self.budget is not None and self.is_entered and len(ids) >= self.budget
        return False

    def read(self, text: str) -> str | None:
        """Return the thought in the text of its tokens, and count it; None if it is empty."""
        inner = text.lstrip().removeprefix(self.marks.opening)
        inner = inner.rpartition(self.marks.closing)[0] if self.marks.closing in inner else inner
        if self.marks is HARMONY:
            inner = _HARMONY_MESSAGE.sub("\n", inner)
        thought = inner.strip() or None
        self._counts.n_texts += 1
        self._counts.n_thoughts += thought is not None
        return thought


class ThoughtMaker:
    """Creates the thoughts of a model's texts."""

    def __init__(self, tokenizer: Any, marks: ThoughtMarks | None, budget: int | None) -> None:
        """Take the marks of the template; None: texts are not searched for thoughts."""
        self._tokenizer = tokenizer
        self._marks = marks
        self.budget = budget
        self.counts = ThoughtCounts()
        self.n_begun = 0
        """Replies that the dataset begins, after which a model does not think."""
        self._forced_ids: tuple[int, ...] = ()
        self._inner_end_ids: frozenset[int] = frozenset()
        if marks is not None:
            self._forced_ids = tuple(tokenizer.encode(marks.forced, add_special_tokens=False))
            self._inner_end_ids = frozenset(map(tokenizer.convert_tokens_to_ids, marks.inner_ends))

    @property
    def n_reserved(self) -> int:
        """Return how many tokens of context a thought needs besides the prompt and the answer."""
        return 0 if self.budget is None else self.budget + len(self._forced_ids)

    def make(self, request: Request, prompt: Sequence[int]) -> Thought | None:
        """Return the thought of a new text; None if the prompt asks for none."""
        asked = request.ask.prompt
        if self._marks is None or isinstance(asked, str):
            return None
        if asked[-1].role == "assistant":
            self.n_begun += 1
            return None
        end = self._tokenizer.backend_tokenizer.decode(list(prompt[-_PROMPT_END:]), skip_special_tokens=False)
        return Thought(
            self._marks,
            is_open=find_open_thought(end) is not None or end.endswith(self._marks.opening),
            budget=self.budget,
            forced_ids=self._forced_ids,
            inner_end_ids=self._inner_end_ids,
            counts=self.counts,
        )
