"""Model families that cannot share prefixes or cannot score: no wrong number and no crash."""

from __future__ import annotations

from typing import Any

import pytest

from assay.backends.local.tokenization import EncodedSpan, Tokenization
from assay.backends.registry import open_backend
from assay.core.errors import BackendError
from assay.core.request import Generate, Sampling, Span, make_request
from assay.core.response import Completion, Likelihood
from fakes.families import MakeModel, MakeOracle, make_tokenizer

QUESTION = "Question: which of these is a fruit?\nA. apple\nB. stone\nC. chair\nD. river\nAnswer:"
LONG = "one two three four five six seven eight nine ten 0 1 2 3 4 5 6 7 8 9 " * 4
SPANS = [
    *(Span(f"{QUESTION} {option}", len(QUESTION)) for option in ("A", "yes", "yes, but", "a river")),
    *(Span(f"{LONG}{QUESTION} {option}", len(LONG + QUESTION)) for option in ("A", "yes", "yes, but")),
    Span("hello world", 7),
    Span("The capital of France is Paris.", 0),
]
PROMPTS = ["What is the capital of France?", "hello", LONG, "日本語", "Question: which of these"]

FAMILIES: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "rotary": ("llama", {}, None),
    "learnt positions": ("opt", {"ffn_dim": 64, "word_embed_proj_dim": 32}, None),
    "ALiBi": ("bloom", {"n_layer": 2, "n_head": 4}, "no argument position_ids"),
    "ALiBi by choice": ("falcon", {"alibi": True}, "does not support a custom mask"),
    "sliding window": (
        "gemma3_text",
        {
            "head_dim": 8, "sliding_window": 24, "query_pre_attn_scalar": 8,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        "looks back only 24 tokens",
    ),
    "sliding window longer than the trial": ("mistral", {"sliding_window": 80, "head_dim": 8}, None),
    "local layers": (
        "gpt_neo",
        {"attention_types": [[["global", "local"], 1]], "window_size": 24, "num_layers": 2, "num_heads": 4},
        "looks back only 24 tokens",
    ),
    "local layers longer than the trial": (
        "gpt_neo",
        {"attention_types": [[["global", "local"], 1]], "window_size": 80, "num_layers": 2, "num_heads": 4},
        None,
    ),
    "attention sinks": (
        "gpt_oss",
        {"num_local_experts": 4, "head_dim": 8, "layer_types": ["full_attention", "full_attention"]},
        None,
    ),
    "state space and attention": (
        "jamba",
        {
            "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2,
            "expert_layer_offset": 1, "num_experts": 2, "mamba_d_state": 8, "use_mamba_kernels": False,
        },
        "does not support a custom mask",
    ),
    "convolution and attention": (
        "lfm2", {"layer_types": ["conv", "full_attention"], "block_ff_dim": 64}, "not support a custom mask"
    ),
    "linear attention with a cache of its own": (
        "minimax",
        {
            "num_local_experts": 2, "num_experts_per_tok": 1, "head_dim": 8,
            "layer_types": ["linear_attention", "full_attention"],
        },
        "does not support a custom mask",
    ),
    "scaled logits": ("granite", {"logits_scaling": 3.0, "embedding_multiplier": 2.0}, None),
}  # fmt: skip
"""What makes a family special: its name in transformers, its configuration, and why rows are not shared."""


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_scores_and_writes_as_brute_force_does(
    make_model: MakeModel, oracle: MakeOracle, kind: str
) -> None:
    """L38 L6: beginnings are shared where the family allows it; where not, a note says so."""
    family, config, why = FAMILIES[kind]
    folder = make_model(family, **config)
    tokenizer, truth = make_tokenizer("gpt2"), oracle(folder)
    backend: Any = open_backend(f"hf:{folder}", {})
    requests = [make_request("t", str(n), "ppl", "option", 0, ask) for n, ask in enumerate(SPANS)]
    found = {response.request_id: response.outcome for response in backend.run(requests)}
    for one, encoded in zip(requests, Tokenization(tokenizer).spans(SPANS), strict=True):
        outcome = found[one.id]
        assert isinstance(outcome, Likelihood)
        assert isinstance(encoded, EncodedSpan)
        expected = truth.logprobs(encoded.ids, encoded.first_scored)
        assert outcome.token_logprobs == pytest.approx(expected, abs=2e-4), one.ask
    if why is None:
        assert backend.notes() == ()
    else:
        (note,) = backend.notes()
        assert "every sequence was computed separately" in note
        assert why in note
    # Texts of different lengths, so that some leave the batch while others are still written.
    written = [
        make_request("t", str(n), "gen", "answer", 0, Generate(prompt, Sampling(max_tokens=4 + 2 * n)))
        for n, prompt in enumerate(PROMPTS)
    ]
    texts = {response.request_id: response.outcome for response in backend.run(written)}
    for n, (one, prompt) in enumerate(zip(written, PROMPTS, strict=True)):
        outcome = texts[one.id]
        assert isinstance(outcome, Completion)
        ids = truth.write(tuple(tokenizer.encode(prompt)), 4 + 2 * n, backend._end_detector.end_ids)
        assert outcome.outputs[0].text == tokenizer.decode(list(ids), skip_special_tokens=True), prompt


@pytest.mark.parametrize(
    ("family", "config", "why"),
    [
        ("bert", {}, "reads later tokens"),
        ("mamba", {"state_size": 8}, "has no key-value cache"),
        ("rwkv", {"attention_hidden_size": 32, "context_length": 512}, "has no key-value cache"),
    ],
    ids=["reads both ways", "state space", "recurrent"],
)
def test_families_that_cannot_be_scored_are_rejected_when_they_are_loaded(
    make_model: MakeModel, family: str, config: dict[str, Any], why: str
) -> None:
    """L38: a model that sees the answer it is asked about, or has no cache, is an error with its reason."""
    backend = open_backend(f"hf:{make_model(family, **config)}", {})
    with pytest.raises(BackendError, match=why) as caught:
        list(backend.run([make_request("t", "s", "ppl", "option", 0, SPANS[0])]))
    assert caught.value.problems[0].code == "MODEL-005"
