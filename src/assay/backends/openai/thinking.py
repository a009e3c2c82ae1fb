"""Thinking on servers: the fields that ask for it, and whether the replies show that the server did it."""

from __future__ import annotations

from typing import Any

from assay.core.response import Finish, Output
from assay.core.thinking import Thinking

TEMPLATE_FIELD = "chat_template_kwargs"
BUDGET_FIELD = "thinking_token_budget"
"""vLLM's name for the maximum tokens of a thought."""


def build_thinking_fields(thinking: Thinking | None, budget_name: str) -> dict[str, Any]:
    """Return the fields of a body. Templates differ in the name of their switch and ignore other names."""
    if thinking is None:
        return {}
    if thinking.effort is not None:
        return {"reasoning_effort": thinking.effort}
    fields: dict[str, Any] = {TEMPLATE_FIELD: {"enable_thinking": thinking.is_on, "thinking": thinking.is_on}}
    if thinking.budget is not None:
        fields[budget_name] = thinking.budget
    return fields


class ThinkingCheck:
    """Compares the requested thinking with the replies of a server, which may ignore fields in silence."""

    def __init__(self, thinking: Thinking | None, budget_name: str) -> None:
        self._thinking = thinking
        self._budget_name = budget_name
        self._n = self._n_thoughts = self._n_over_budget = self._n_stopped = 0
        self.n_estimated = 0
        """Thoughts whose number of tokens the server does not report."""
        self.n_unmarked = 0
        """Truncated texts without a mark that would show whether the answer had begun."""

    def add(self, output: Output) -> None:
        """Count a text."""
        self._n += 1
        self._n_thoughts += output.has_thought
        budget = None if self._thinking is None else self._thinking.budget
        # Servers count the marks, and some end a thought only at the end of a line.
        self._n_over_budget += budget is not None and output.n_thinking_tokens > budget + max(
            16, budget // 10
        )
        self._n_stopped += output.has_thought and output.finish is Finish.STOP and not output.text.strip()

    def notes(self, name: str) -> list[str]:
        """Return notes about replies that do not show what was requested."""
        notes, thinking = [], self._thinking
        if thinking is not None and thinking.is_on and self._n and not self._n_thoughts:
            notes.append(
                f"{name}: no reply contains a thought or reports thinking tokens, although --thinking "
                f"{thinking.written} was requested; the server ignores the request, or hides thoughts"
            )
        if thinking is not None and not thinking.is_on and self._n_thoughts:
            notes.append(
                f"{name} thought before {self._n_thoughts:,} of {self._n:,} answers, although --thinking off "
                "was requested"
            )
        if self._n_over_budget:
            assert thinking is not None
            notes.append(
                f"{name}: {self._n_over_budget:,} thoughts are longer than the budget of {thinking.budget:,} "
                f"tokens, so the server ignores the field {self._budget_name}; --model-arg "
                "thinking_budget_name=NAME sends it under another name"
            )
        if self._n_stopped:
            notes.append(
                f"{name}: {self._n_stopped:,} texts ended at a stop string inside their thought, because the "
                "server searches thoughts too; remove the stop strings"
            )
        if self.n_unmarked:
            notes.append(
                f"{name}: {self.n_unmarked:,} truncated texts do not show whether their answer had begun, "
                "and count as unfinished thoughts; start the server with a reasoning parser, or use a larger "
                "--max-tokens"
            )
        if self.n_estimated:
            notes.append(
                f"{name} does not report the tokens of thoughts: those of {self.n_estimated:,} thoughts are "
                "estimated from their share of the characters"
            )
        return notes
