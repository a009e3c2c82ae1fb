"""Conversations as text, by the chat template of a local model: lm-eval logs them like this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.backends.registry import open_backend
from assay.core.prompt import Prompt
from assay.core.request import Generate, Sampling
from assay.results.exchange.lm_eval_runs import format_prompt

if TYPE_CHECKING:
    from assay.core.ports import Backend
    from assay.systems.lm_eval.models import ResolvedModel

_LOCAL = ("hf", "vllm", "smollm2")


class PromptFormatter:
    """Renders conversations with a model's own tokenizer."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.facts: dict[str, Any] = {}
        """What the results file says about the template."""

    def format(self, prompt: Prompt) -> Any:
        """Return a prompt as the model reads it."""
        if isinstance(prompt, str):
            return prompt
        return "".join(token.text for token in self._backend.tokens(Generate(prompt, Sampling())))


def open_formatter(model: ResolvedModel) -> PromptFormatter | None:
    """Return the formatter for a local model; None for a server, which renders conversations itself."""
    if model.backend not in _LOCAL:
        return None
    return PromptFormatter(open_backend(model.name, model.args))


__all__ = ["PromptFormatter", "format_prompt", "open_formatter"]
