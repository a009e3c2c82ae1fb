"""A Llama of two layers with random weights, in memory."""

from __future__ import annotations

from typing import Any

from assay.backends.hf.loaded_model import LoadedModel


def tiny_llama(vocab_size: int) -> LoadedModel:
    """Return the model as the loader returns it; the weights are the same each time."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.4,
    )
    model: Any = LlamaForCausalLM(config).eval()
    return LoadedModel(
        model, model.device, model.model, model.lm_head, frozenset({"position_ids"}), vocab_size
    )
