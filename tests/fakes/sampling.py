"""Sampling of one token by hand, from one row of logits."""

from __future__ import annotations

from typing import Any

from assay.backends.hf.generation import Draft


def sample_token(logits: Any, draft: Draft) -> int:
    """Return the token that a draft draws next: temperature, then top_p, then the highest noisy logit."""
    import torch

    seed = draft.random.getrandbits(63)
    noise = torch.empty(len(logits)).exponential_(generator=torch.Generator().manual_seed(seed))
    scaled = logits / draft.sampling.temperature
    scores = scaled - noise.log()
    if draft.sampling.top_p >= 1:
        return int(scores.argmax())
    probs, order = torch.softmax(scaled, dim=-1).sort(descending=True, stable=True)
    n_kept = int((probs.cumsum(dim=-1) - probs < draft.sampling.top_p).sum().clamp(min=1))
    return int(order[scores[order[:n_kept]].argmax()])
