"""Generation for prompts with media, one text at a time.

transformers' own loop feeds the model, because each family counts positions after an image in its own way.
Every token is chosen, and every end detected, by the same code as for plain texts. One at a time, so that no
answer depends on the batch in which it is computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.backends.hf.batching import is_out_of_memory
from assay.backends.hf.generation import (
    Draft,
    EndDetector,
    check_max_tokens,
    choose_tokens,
    new_draft,
    reset_draft,
)
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.media_prompts import MediaPrompt, MediaPrompts
from assay.backends.hf.work_counters import Counters
from assay.backends.local.context_length import check_context_length
from assay.backends.local.generation_plans import GenerationJob
from assay.backends.local.thoughts import ThoughtMaker
from assay.core.request import Generate, Request
from assay.core.response import Failure, Response


class MediaGenerator:
    """Answers GENERATE requests whose prompts contain media."""

    def __init__(
        self,
        loaded: LoadedModel,
        prompts: MediaPrompts,
        counters: Counters,
        ending: EndDetector,
        context_length: int | None,
        thoughts: ThoughtMaker,
    ) -> None:
        self._loaded = loaded
        self._prompts = prompts
        self._counters = counters
        self._ending = ending
        self._context_length = context_length
        self._thoughts = thoughts

    def answer(self, request: Request) -> Iterator[Response]:
        """Yield the response to a request."""
        assert isinstance(request.ask, Generate)
        sampling = request.ask.sampling
        prompt = self._prompts.prepare_prompt(request.ask.prompt)
        if isinstance(prompt, Failure):
            yield Response(request.id, request.key, prompt)
            return
        if trouble := check_context_length(len(prompt.ids) + 1, self._context_length) or check_max_tokens(
            sampling
        ):
            yield Response(request.id, request.key, trouble)
            return
        if self._thoughts.budget is not None:
            why = "a budget for thoughts is not supported for prompts with media; use --thinking on"
            yield Response(request.id, request.key, Failure("thinking", why))
            return
        self._counters.prompt_tokens += len(prompt.ids)
        room = None if self._context_length is None else self._context_length - len(prompt.ids)
        n = sampling.n if sampling.temperature > 0 else 1
        stop_ids = request.ask.stop_ids
        drafts = [
            new_draft(
                prompt.ids,
                sampling,
                room,
                request.key,
                number,
                stop_ids,
                self._thoughts.make(request, prompt.ids),
            )
            for number in range(n)
        ]
        for draft in drafts:
            self._write(draft, prompt)
        yield from GenerationJob(drafts, [request]).responses()

    def _write(self, draft: Draft, prompt: MediaPrompt) -> None:
        """Generate one draft; an error becomes its failure."""
        began = time.perf_counter()
        reset_draft(draft)
        try:
            self._generate(draft, prompt)
        except (RuntimeError, MemoryError, ValueError, IndexError) as trouble:
            # Models reject media that do not match the tokens, each family with its own exception.
            draft.ids.clear()
            draft.output = None
            draft.failure = (
                ("memory", f"memory ran out on a single text of {len(draft.prompt):,} tokens with its media")
                if is_out_of_memory(trouble)
                else ("media", f"the model rejects the prompt: {trouble}")
            )
        self._counters.batches += 1
        self._counters.forward_tokens += len(draft.prompt) + max(0, len(draft.ids) - 1)
        self._counters.generated_tokens += len(draft.ids)
        draft.seconds = time.perf_counter() - began

    def _generate(self, draft: Draft, prompt: MediaPrompt) -> None:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

        model = self._loaded.model

        def next_token(_: Any, logits: Any) -> Any:
            """Choose a token by the common rules, and leave the loop no other choice."""
            token = int(choose_tokens(logits.float(), [draft])[0])
            forced = torch.full_like(logits, -torch.inf)
            if token < 0:
                draft.failure = ("not_finite", "the model's logits are not finite numbers")
                forced[:, 0] = 0
                return forced
            draft.ids.append(token)
            self._ending.check(draft)
            forced[:, token] = 0
            return forced

        def is_done(ids: Any, _: Any) -> Any:
            return torch.full((len(ids),), draft.is_done, device=ids.device, dtype=torch.bool)

        with torch.inference_mode(), _own_settings(model, GenerationConfig()):
            model.generate(
                **prompt.inputs.to(self._loaded.device, dtype=model.dtype),
                generation_config=GenerationConfig(
                    max_new_tokens=draft.max_new, do_sample=False, use_cache=True, pad_token_id=0
                ),
                logits_processor=LogitsProcessorList([next_token]),
                stopping_criteria=StoppingCriteriaList([is_done]),
            )


@contextmanager
def _own_settings(model: Any, settings: Any) -> Iterator[None]:
    """Disable the checkpoint's generation_config, such as penalties."""
    before, model.generation_config = model.generation_config, settings
    try:
        yield
    finally:
        model.generation_config = before
