"""The faster forms of a model's parts: the same numbers as the model's own, and only where they fit."""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import Any

import pytest
import torch

os.environ.setdefault("TRITON_INTERPRET", "1")
pytest.importorskip("triton", reason="Triton is installed with torch for GPUs, and by the extra dev")

from assay.backends.hf import fused_pieces, fused_rotations
from assay.backends.hf.cache_readers import DecodingWay
from assay.backends.hf.decoding_trial import _measure_distance
from assay.backends.hf.fused_kernels import gate, normalize, rotate
from assay.backends.hf.fused_pieces import FusedPieces
from assay.backends.hf.loaded_model import LoadedModel
from assay.backends.hf.loading import inspect_passed_model
from assay.backends.hf.row_scoring import prepare_packing
from assay.backends.hf.shared_attention import enable_shared_attention
from assay.backends.hf.step_graphs import DirectSteps

VOCAB = 97
SMALL = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.4,
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"head_dim": 12},
    "qwen2": {"tie_word_embeddings": True},  # with biases
    "qwen3": {"head_dim": 16},  # norms of queries and keys
    "gemma": {"head_dim": 8},  # norms of another kind, and another activation
    "cohere": {},  # rotates pairs of neighbors
    "phi3": {},  # its projections are already one
    "olmo2": {},
}


def make_model(family: str, *, dtype: torch.dtype = torch.float32) -> LoadedModel:
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **SMALL | FAMILIES[family])
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").eval()
    for name, parameter in model.named_parameters():
        if "norm" in name or "bias" in name:
            torch.nn.init.normal_(parameter)
    model = model.to(dtype)
    assert enable_shared_attention(model)
    return inspect_passed_model(model, family)


@pytest.mark.parametrize(("rows", "angle_rows", "n_tokens"), [(3, 3, 1), (1, 1, 6), (2, 1, 4)])
def test_the_rotation_kernel_gives_the_formula(rows: int, angle_rows: int, n_tokens: int) -> None:
    torch.manual_seed(0)
    # Views of one product, as projections that became one return them.
    both = torch.randn(rows, n_tokens, 5 * 12 + 2 * 12)
    query = both[..., : 5 * 12].view(rows, n_tokens, 5, 12).transpose(1, 2)
    key = both[..., 5 * 12 :].view(rows, n_tokens, 2, 12).transpose(1, 2)
    cos, sin = (torch.randn(angle_rows, n_tokens, 12) for _ in range(2))
    for part, rotated in zip((query, key), rotate(query, key, cos, sin), strict=True):
        half = torch.cat((-part[..., 6:], part[..., :6]), dim=-1)
        assert torch.allclose(rotated, part * cos[:, None] + half * sin[:, None], atol=1e-6)


@pytest.mark.parametrize("rounds_first", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_norm_kernel_gives_the_formula(rounds_first: bool, offset: float) -> None:
    torch.manual_seed(0)
    states, weight = torch.randn(3, 2, 44).half()[:, 1:], torch.randn(44).half()
    numbers = states.float() * torch.rsqrt(states.float().square().mean(-1, keepdim=True) + 1e-6)
    numbers = numbers.half().float() if rounds_first else numbers
    expected = (numbers * (weight.float() + offset)).half()
    found = normalize(states, weight, 1e-6, rounds_first=rounds_first, offset=offset)
    assert torch.equal(found, expected)


def test_the_gate_kernel_gives_the_formula() -> None:
    torch.manual_seed(0)
    both = torch.randn(3, 1, 2 * 1030)
    first, second = both.split(1030, dim=-1)
    assert torch.allclose(gate(both), torch.nn.functional.silu(first) * second, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_with_faster_pieces_give_the_plain_logits(family: str) -> None:
    loaded = make_model(family)
    loaded.pieces = FusedPieces(loaded.model, merges=True)
    assert _measure_distance(loaded, DecodingWay(splits=True), DirectSteps()) < 1e-4


@pytest.mark.parametrize(
    ("family", "replaced"),
    [
        # Two layers: 5 norms, 3 + 2 projections and a feed-forward part in each, one rotation.
        ("llama", {"LlamaRMSNorm": 5, "Linear": 10, "LlamaMLP": 2, "apply_rotary_pos_emb": 1}),
        ("qwen3", {"Qwen3RMSNorm": 9, "Linear": 10, "Qwen3MLP": 2, "apply_rotary_pos_emb": 1}),
        ("gemma", {"GemmaRMSNorm": 5, "Linear": 10, "apply_rotary_pos_emb": 1}),
        ("cohere", {"Linear": 10, "CohereMLP": 2}),
        ("phi3", {"Phi3RMSNorm": 5, "apply_rotary_pos_emb": 1}),
    ],
)
def test_pieces_are_replaced_where_they_fit(family: str, replaced: dict[str, int]) -> None:
    pieces = FusedPieces(make_model(family).model, merges=True)
    counts = Counter(type(one.owner).__name__ for one in pieces._replacements)
    counts.update([fused_rotations.ROTATION] * len(pieces._rotations))
    assert counts == replaced


def test_a_model_is_its_own_again_after_the_block() -> None:
    from transformers.models.llama import modeling_llama

    loaded = make_model("llama")
    ids = torch.arange(1, 9)[None]
    own = modeling_llama.apply_rotary_pos_emb
    with torch.inference_mode():
        before = loaded.model(ids).logits
        pieces = FusedPieces(loaded.model, merges=True)
        with pieces.using():
            assert modeling_llama.apply_rotary_pos_emb is not own
            assert torch.allclose(loaded.model(ids).logits, before, atol=1e-5)
        assert modeling_llama.apply_rotary_pos_emb is own
        assert all("forward" not in vars(module) for module in loaded.model.modules())
        assert torch.equal(loaded.model(ids).logits, before)


def test_weights_keep_their_values_and_become_views_of_one_tensor() -> None:
    loaded = make_model("qwen2")
    before = {name: weight.clone() for name, weight in loaded.model.state_dict().items()}
    FusedPieces(loaded.model, merges=True)
    after = loaded.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    attention = loaded.model.model.layers[0].self_attn
    stored = {
        getattr(attention, name).weight.untyped_storage().data_ptr()
        for name in ("q_proj", "k_proj", "v_proj")
    }
    assert len(stored) == 1


def test_weights_of_a_passed_model_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may refer to them: an optimizer, or a file that is written from their memory."""
    monkeypatch.setattr(LoadedModel, "has_kernels", True)
    loaded = make_model("llama")  # as a calling program passes it
    before = {name: weight.data_ptr() for name, weight in loaded.model.named_parameters()}
    assert prepare_packing(loaded).packs
    assert loaded.pieces is not None
    assert before == {name: weight.data_ptr() for name, weight in loaded.model.named_parameters()}


@pytest.mark.parametrize("kind", ["an adapter", "a hook", "different types"])
def test_projections_that_are_not_plain_stay_separate(kind: str) -> None:
    loaded = make_model("llama")
    for layer in loaded.model.model.layers:
        for parent, name in ((layer.self_attn, "k_proj"), (layer.mlp, "up_proj")):
            linear = getattr(parent, name)
            if kind == "an adapter":
                setattr(parent, name, torch.nn.Sequential(linear))
            elif kind == "a hook":
                linear.register_forward_hook(lambda _module, _given, out: out)
            else:
                linear.to(torch.float64)
    assert not any(
        isinstance(one.owner, torch.nn.Linear) for one in FusedPieces(loaded.model, merges=True)._replacements
    )


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma", "olmo2"])
def test_half_precision_is_rounded_where_the_model_rounds(family: str) -> None:
    loaded = make_model(family, dtype=torch.float16)  # Triton's interpreter rounds bfloat16 down.
    plain = _measure_distance(loaded, DecodingWay(splits=True), DirectSteps())
    loaded.pieces = FusedPieces(loaded.model, merges=True)
    assert _measure_distance(loaded, DecodingWay(splits=True), DirectSteps()) < 1.2 * plain + 1e-3


def test_results_are_released_when_all_projections_have_read_theirs() -> None:
    """The activations of all layers together would not fit into memory."""
    loaded = make_model("gemma")
    latest = []
    merged = list(fused_pieces._merge_projections(loaded.model))
    assert len(merged) == 4
    for one in merged:
        states = torch.randn(2, 3, 32)
        results = [replacement.function(states) for replacement in one.replacements()]
        own = [replacement.owner(states) for replacement in one.replacements()]
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(results, own, strict=True))
        latest.append(one._latest)
    assert latest == [None] * 4


def test_shared_weights_are_merged_once() -> None:
    model = make_model("llama").model
    first, second = model.model.layers
    second.self_attn.q_proj.weight = first.self_attn.q_proj.weight
    assert len(list(fused_pieces._merge_projections(model))) == 3


def test_a_model_is_its_own_again_after_an_interrupt() -> None:
    from transformers.models.llama import modeling_llama

    loaded, own = make_model("llama"), modeling_llama.apply_rotary_pos_emb
    pieces = FusedPieces(loaded.model, merges=True)

    class Interrupting:
        def __setattr__(self, name: str, value: Any) -> None:
            raise KeyboardInterrupt

    pieces._replacements.insert(3, fused_pieces.Replacement(Interrupting(), lambda states: states))
    with pytest.raises(KeyboardInterrupt), pieces.using():
        pass
    assert all("forward" not in vars(module) for module in loaded.model.modules())
    assert modeling_llama.apply_rotary_pos_emb is own


def test_other_threads_and_training_get_the_familys_own_rotation() -> None:
    from transformers.models.llama import modeling_llama

    own = modeling_llama.apply_rotary_pos_emb
    given = [torch.randn(2, 2, 1, 8), torch.randn(2, 2, 1, 8), torch.randn(2, 1, 8), torch.randn(2, 1, 8)]
    launched: list[str] = []

    def rotate_elsewhere() -> None:
        with torch.inference_mode():
            modeling_llama.apply_rotary_pos_emb(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused_rotations, "rotate", lambda *_: launched.append("kernel"))
        with fused_rotations.using_rotations(frozenset([modeling_llama])):
            with fused_rotations.using_rotations(frozenset([modeling_llama])):
                pass
            modeling_llama.apply_rotary_pos_emb(*given)  # not in inference mode
            thread = threading.Thread(target=rotate_elsewhere)
            thread.start()
            thread.join()
            assert not launched
            with torch.inference_mode():
                modeling_llama.apply_rotary_pos_emb(*given)
            assert launched == ["kernel"]
    assert modeling_llama.apply_rotary_pos_emb is own


def test_each_layers_own_activation_decides() -> None:
    model = make_model("llama").model
    model.model.layers[1].mlp.act_fn = torch.nn.GELU()
    pieces = FusedPieces(model, merges=True)
    replaced = [one.owner for one in pieces._replacements]
    assert model.model.layers[0].mlp in replaced
    assert model.model.layers[1].mlp not in replaced


def test_a_part_that_gives_no_numbers_is_not_used() -> None:
    ones = torch.ones(3)
    assert fused_pieces._measure(lambda x: (x, x), lambda x: (x, x * torch.nan), ones) == float("inf")
    assert fused_pieces._measure(lambda x: x, lambda x, more: x, ones) == float("inf")


def test_results_of_another_input_are_not_used() -> None:
    """As in a model that reads only some of the projections, or that stops in between."""
    merged = next(fused_pieces._merge_projections(make_model("llama").model))
    query, key, value = merged.replacements()
    first, second = torch.randn(2, 3, 32), torch.randn(2, 3, 32)
    query.function(first)
    for projection in (key, value, query):
        assert torch.allclose(projection.function(second), projection.owner(second), atol=1e-5)
