"""Tokenizers in the styles of the great families, trained on the spot, and tiny random models for them.

No model hub is asked. Each style keeps what makes its family differ where text is cut into tokens: how words
are split, how a space and an unknown character are written, whether a BOS is put in front.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

STYLES = ("gpt2", "llama3", "llama2", "gemma", "qwen")

TEXT = [
    "What is the capital of France? The capital of France is Paris.",
    "Question: which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer: A",
    "hello world, the answer is yes, but no. The world says hello. Answer it. 日本語のテキスト 🙂 café",
    "one two three four five six seven eight nine ten 0 1 2 3 4 5 6 7 8 9\n\nAnswer: B\n",
]
CHAT = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<unk>")
"""In the order of their ids, the same for every style."""
BOS, EOS = 0, 1

_SPLIT = {
    # As Llama 3 and Qwen write it; they differ in how many digits stand together.
    "llama3": r"\p{N}{1,3}",
    "qwen": r"\p{N}",
}
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def make_tokenizer(style: str, *, adds_bos: bool | None = None, template: str | None = None) -> Any:
    """Return a tokenizer; `adds_bos` is what the family does unless it is said."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    raw = _byte_level(style) if style in ("gpt2", "llama3", "qwen") else _sentence_piece(style)
    if adds_bos is None:
        adds_bos = style in ("llama3", "llama2", "gemma")
    steps: list[Any] = []
    if style in ("gpt2", "llama3", "qwen"):
        # GPT-2's offsets leave white space out; the others' do not.
        steps.append(processors.ByteLevel(trim_offsets=style == "gpt2"))
    if adds_bos:
        steps.append(processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)]))
    if steps:
        raw.post_processor = processors.Sequence(steps)
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        eos_token="</s>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        chat_template=template,
        **({"bos_token": "<s>"} if adds_bos else {}),
    )


def _byte_level(style: str) -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    raw = Tokenizer(models.BPE())
    if style == "gpt2":
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        raw.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_WORDS % _SPLIT[style]), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    if style == "qwen":
        raw.normalizer = normalizers.NFC()
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=440,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(TEXT * 3, trainer)
    return raw


def _sentence_piece(style: str) -> Any:
    """A space is `▁`; characters that the vocabulary lacks are spelled in bytes. Llama 2 begins with `▁`."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    begins = style == "llama2"
    raw = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    space = normalizers.Replace(" ", "▁")
    raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), space] if begins else [space])
    # Words are kept apart in training only, so that later a token may reach over any join.
    raw.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    trainer = trainers.BpeTrainer(
        vocab_size=560,
        special_tokens=[*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))],
        limit_alphabet=60,
        show_progress=False,
    )
    raw.train_from_iterator(TEXT * 3, trainer)
    raw.pre_tokenizer = None
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    raw.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if begins else steps)
    return raw


def byte_lengths(style: str, tokenizer: Any, ids: list[int]) -> list[int]:
    """Return the number of text bytes of each token, from its name and without offsets."""
    special = set(tokenizer.all_special_ids)
    lengths = []
    for id_, name in zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True):
        if id_ in special:
            lengths.append(len(name.encode()))
        elif style in ("gpt2", "llama3", "qwen"):
            lengths.append(len(name))  # One character of the name is one byte of the text.
        else:
            lengths.append(1 if _BYTE.fullmatch(name) else len(name.replace("▁", " ").encode()))
    if style == "llama2" and lengths:
        lengths[0] -= 1  # The space that the family puts in front of a text is not the text's.
    return lengths


def first_scored(style: str, tokenizer: Any, text: str, start: int) -> tuple[list[int], int, bool]:
    """Return a text's ids, the first token that ends after `start`, and whether it begins before that."""
    ids = list(tokenizer.encode(text, add_special_tokens=False))
    join, end = len(text[:start].encode()), 0
    for index, length in enumerate(byte_lengths(style, tokenizer, ids)):
        begin, end = end, end + length
        if end > join:
            return ids, index, begin < join
    raise AssertionError("nothing after the join")


SMALL: dict[str, Any] = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 512, "initializer_range": 0.4, "pad_token_id": EOS,
    "bos_token_id": BOS, "eos_token_id": EOS,
}  # fmt: skip
"""A size that every family understands. The wide initial weights give a random model opinions."""


def write_model(folder: Path, tokenizer: Any, family: str = "llama", **config: Any) -> Path:
    """Write a tiny random model and its tokenizer to a folder; the weights are the same each time."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    made = AutoConfig.for_model(family, **{**SMALL, "vocab_size": len(tokenizer), **config})
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = AutoModelForCausalLM.from_config(made)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Oracle:
    """The plainest way to a likelihood: for every token, one forward pass over the text before it.

    The model never sees the token that is asked for, nor padding, a cache, a mask or company; the softmax is
    over the whole vocabulary, in double precision.
    """

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        self._torch = torch
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._known: dict[tuple[int, ...], Any] = {}

    def next(self, ids: tuple[int, ...]) -> Any:
        """Return the log-probability of every token of the vocabulary after these."""
        if ids not in self._known:
            with self._torch.no_grad():
                logits = self.model(input_ids=self._torch.tensor([ids]), use_cache=False).logits[0, -1]
            self._known[ids] = self._torch.log_softmax(logits.double(), dim=-1)
        return self._known[ids]

    def logprobs(self, ids: tuple[int, ...], first: int) -> list[float]:
        """Return the log-probability of each token from `first` on, given all before it."""
        return [float(self.next(ids[:at])[ids[at]]) for at in range(first, len(ids))]

    def is_greedy(self, ids: tuple[int, ...], first: int) -> bool:
        """Whether each token from `first` on is the most probable one, the lowest id of equals."""
        return all(int(self.next(ids[:at]).argmax()) == ids[at] for at in range(first, len(ids)))

    def write(self, ids: tuple[int, ...], max_tokens: int, ends: frozenset[int]) -> tuple[int, ...]:
        """Return what the model writes greedily, with a forward pass over the whole text for each token."""
        written: tuple[int, ...] = ()
        while len(written) < max_tokens and not (written and written[-1] in ends):
            written += (int(self.next(ids + written).argmax()),)
        return written


def write_script(folder: Path, tokenizer: Any, chains: list[list[int]]) -> Path:
    """Write a model that recites: after each token of a chain it writes the next one of that chain.

    Attention and feed-forward add nothing, so what comes next depends on the last token alone. No token may
    follow two others.
    """
    import torch
    from transformers import AutoModelForCausalLM

    write_model(folder, tokenizer, tie_word_embeddings=False)
    model = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.lm_head.weight.zero_()
        embedded = torch.nn.functional.normalize(model.get_input_embeddings().weight, dim=-1)
        followers = [follower for chain in chains for follower in chain[1:]]
        assert len(followers) == len(set(followers))
        for chain in chains:
            for token, follower in pairwise(chain):
                # A normalised vector is nearest to itself: no other follower can score as high.
                model.lm_head.weight[follower] = 10 * embedded[token]
    model.save_pretrained(folder)
    return folder


MakeModel = Callable[..., Path]
"""The fixture that writes a tiny model, once for each kind."""
MakeOracle = Callable[[Path], Oracle]
"""The fixture that opens the oracle of a model."""
