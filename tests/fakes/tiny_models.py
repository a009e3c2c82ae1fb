"""Tiny models of several families with random weights, and a tokenizer for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXT = [
    "What is the capital of France? The capital of France is Paris.",
    "Question: which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer: A",
    "hello world, the answer is yes, but no. 日本語のテキスト 🙂 café",
    "one two three four five six seven eight nine ten 0 1 2 3 4 5 6 7 8 9",
]
CHAT = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tiny_tokenizer(*, adds_bos: bool, chat: bool, template: str = CHAT, adds_eos: bool = True) -> Any:
    """Return a byte-level tokenizer; one that adds a BOS adds an EOS behind a text too, unless said."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "</s>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(TEXT * 3, trainer)
    # Offsets trimmed of white space, as GPT-2's are: the tokenisation must undo that.
    trimming = processors.ByteLevel(trim_offsets=True)
    if adds_bos:
        single = "<s> $A </s>" if adds_eos else "<s> $A"
        bos = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 0), ("</s>", 1)])
        raw.post_processor = processors.Sequence([trimming, bos])
    else:
        raw.post_processor = trimming
    names = {"bos_token": "<s>"} if adds_bos else {}
    more = ["<|im_start|>", "<|im_end|>"]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="</s>", additional_special_tokens=more, **names
    )
    if chat:
        tokenizer.chat_template = template
    return tokenizer


def tiny_config(family: str, vocab_size: int, context: int, *, head_dim: int = 8) -> Any:
    """Return the shape of a small model of a family."""
    from transformers import Gemma2Config, GPT2Config, LlamaConfig, MistralConfig

    # Wide initial weights, so that a random model has opinions and its first choices are clear.
    ends = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    common = {
        "vocab_size": vocab_size, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": head_dim,
        "max_position_embeddings": context, "initializer_range": 0.4, **ends,
    }  # fmt: skip
    if family == "llama":
        return LlamaConfig(**common)
    if family == "mistral":
        return MistralConfig(**common, sliding_window=80)
    if family == "gemma2":
        return Gemma2Config(**common, final_logit_softcapping=2.0, sliding_window=16, query_pre_attn_scalar=8)
    return GPT2Config(
        vocab_size=vocab_size,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=context,
        initializer_range=0.4,
        **ends,
    )


def write_tiny_model(
    folder: Path,
    *,
    adds_bos: bool = False,
    chat: bool = False,
    adds_eos: bool = True,
    head_dim: int = 8,
    context: int = 256,
) -> Path:
    """Write a random Llama with its tokenizer to a folder; the weights are the same each time."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    tokenizer = tiny_tokenizer(adds_bos=adds_bos, chat=chat, adds_eos=adds_eos)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        config = tiny_config("llama", len(tokenizer), context, head_dim=head_dim)
        model = AutoModelForCausalLM.from_config(config)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
