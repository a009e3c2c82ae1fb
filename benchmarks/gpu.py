"""How fast packed lanes are scored on one GPU, against padded whole sequences on the same model.

    python benchmarks/gpu.py [--json]          # needs torch and transformers, and a CUDA device

An 8B-shaped Llama in bf16 with random weights scores 256 questions of 60 to 140 tokens with four options of
15 to 35 tokens behind one beginning of 1,500 tokens. The padded way feeds every option whole, as harnesses
do. The packed way reads the beginning once and the questions and options as lanes of a fixed length that
Assay's own prefix tree plans; a block-sparse mask keeps them apart. Reported: requests per second, the ratio,
and the share of the matrix rate measured in the same run that the needed operations come to.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from assay.backends.prefix_tree import Lane, plan

N_TRUNK, N_QUESTIONS, N_OPTIONS = 1500, 256, 4
BLOCK = 128
DEVICE = "cuda"


def main() -> None:
    """Measure both ways and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--lane", type=int, nargs="+", default=[8448], help="lane lengths to try")
    parser.add_argument("--compile", nargs="+", default=["whole"], choices=["whole", "attention"])
    parser.add_argument("--layers", type=int, default=32)
    options = parser.parse_args()
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=options.layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=128256,
        max_position_embeddings=8192,
        rope_theta=500000.0,
    )
    with torch.device(DEVICE), torch.inference_mode(False):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()
    peak = matmul_rate()
    requests = workload(config.vocab_size)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "matmul_tflops": peak / 1e12}
    print(json.dumps(found), flush=True)
    with torch.inference_mode():
        padded_rate, expected = padded(model, requests[:128])
        found["padded_requests_per_s"] = padded_rate
        found["padded_share"] = padded_rate * padded_flops(model, requests) / len(requests) / peak
        print(json.dumps(found), flush=True)
        for way in options.compile:
            for lane_tokens in options.lane:
                row = packed(model, requests, lane_tokens, way)
                rate = len(requests) / row["seconds"]
                difference = max(
                    abs(a - b) for a, b in zip(row.pop("sums")[: len(expected)], expected, strict=True)
                )
                row |= {
                    "way": way,
                    "lane": lane_tokens,
                    "requests_per_s": rate,
                    "ratio": rate / padded_rate,
                    "share": packed_flops(model, requests) / row["seconds"] / peak,
                    "largest_difference": difference,
                }
                found.setdefault("packed", []).append(row)
                print(json.dumps(row), flush=True)
    if options.json:
        print(json.dumps(found))


def matmul_rate() -> float:
    """Return the floating-point operations per second of a large bf16 product."""
    a = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    seconds = timed(lambda: a @ a, repeat=20)
    return 2 * 8192**3 / seconds


def timed(work: Callable[[], Any], repeat: int = 1) -> float:
    """Return the seconds of one call, after one that warms up."""
    work()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / repeat


Scored = tuple[tuple[int, ...], int]


def workload(vocab_size: int) -> list[Scored]:
    """Return (ids, first scored) for every option of every question."""
    draw = random.Random("assay gpu benchmark")

    def ids(n: int) -> tuple[int, ...]:
        return tuple(draw.randrange(vocab_size) for _ in range(n))

    trunk = ids(N_TRUNK)
    requests = []
    for _ in range(N_QUESTIONS):
        context = (*trunk, *ids(draw.randint(60, 140)))
        requests += [((*context, *ids(draw.randint(15, 35))), len(context)) for _ in range(N_OPTIONS)]
    return requests


def body_flops(model: Any, n_tokens: int, n_seen: float) -> float:
    """Return the operations of so many tokens that each see so many, without the head."""
    config = model.config
    weights: int = sum(p.numel() for name, p in model.named_parameters() if "layers" in name and p.ndim == 2)
    return float(n_tokens * (2 * weights + 4 * n_seen * config.hidden_size * config.num_hidden_layers))


def head_flops(model: Any, n_places: int) -> float:
    """Return the operations of the output head at so many places."""
    return float(2 * n_places * model.config.hidden_size * model.config.vocab_size)


def padded_flops(model: Any, requests: Sequence[Scored]) -> float:
    """Return what whole sequences need, padding aside."""
    return sum(
        body_flops(model, len(ids), len(ids) / 2) + head_flops(model, len(ids) - first)
        for ids, first in requests
    )


def packed_flops(model: Any, requests: Sequence[Scored]) -> float:
    """Return what is needed when every shared token is read once."""
    total = body_flops(model, N_TRUNK, N_TRUNK / 2)
    contexts = {ids[:first] for ids, first in requests}
    total += sum(body_flops(model, len(c) - N_TRUNK, (N_TRUNK + len(c)) / 2) for c in contexts)
    for ids, first in requests:
        n = len(ids) - 1 - first
        total += body_flops(model, n, first + n / 2) + head_flops(model, len(ids) - first)
    return total


def log_probs(model: Any, hidden: Any, tokens: Any) -> Any:
    """Return the log-probability of each token after each hidden state, in fp32."""
    parts = []
    for begin in range(0, len(tokens), 2048):
        logits = model.lm_head(hidden[begin : begin + 2048])
        parts.append(_lse_and_pick(logits, tokens[begin : begin + 2048]))
    return torch.cat(parts)


def _pick(logits: Any, tokens: Any) -> Any:
    logits = logits.float()
    return logits.gather(1, tokens[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)


_lse_and_pick = torch.compile(_pick, dynamic=True)


def padded(model: Any, requests: Sequence[Scored], batch: int = 16) -> tuple[float, list[float]]:
    """Score whole sequences in padded batches; return requests per second and the sums."""
    sums: list[float] = []

    def run() -> None:
        sums.clear()
        for begin in range(0, len(requests), batch):
            part = requests[begin : begin + batch]
            width = max(len(ids) for ids, _ in part) - 1
            fed = torch.zeros((len(part), width), dtype=torch.long)
            for index, (ids, _) in enumerate(part):
                fed[index, : len(ids) - 1] = torch.tensor(ids[:-1])
            hidden = model.model(input_ids=fed.to(DEVICE), use_cache=False).last_hidden_state
            at = [(i, t - 1) for i, (ids, first) in enumerate(part) for t in range(first, len(ids))]
            picked = hidden[[i for i, _ in at], [t for _, t in at]]
            tokens = torch.tensor([part[i][0][t + 1] for i, t in at], device=DEVICE)
            found = log_probs(model, picked, tokens).tolist()
            for ids, first in part:
                sums.append(sum(found[: len(ids) - first]))
                found = found[len(ids) - first :]

    return len(requests) / timed(run), sums


class Cache:
    """Hands each layer the trunk's keys and values together with its own, or keeps the trunk's."""

    is_compileable = False

    def __init__(self) -> None:
        self.layers: list[tuple[Any, Any]] = []
        self.is_growing = False

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Join or keep a layer's keys and values."""
        if self.is_growing:
            pad = -keys.shape[2] % BLOCK
            self.layers.append(tuple(torch.nn.functional.pad(x, (0, 0, 0, pad)) for x in (keys, values)))
            return keys, values
        old_keys, old_values = self.layers[layer_idx]
        return torch.cat([old_keys, keys], dim=2), torch.cat([old_values, values], dim=2)

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return the trunk's length."""
        return N_TRUNK if self.layers else 0


_flex = torch.compile(flex_attention, dynamic=False)
_attention: dict[str, Any] = {"function": _flex}


def flex(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: Any = None, **_: Any
) -> Any:
    """Attend through a block mask."""
    out = _attention["function"](query, key, value, block_mask=attention_mask, scale=scaling, enable_gqa=True)
    return out.transpose(1, 2), None


def packed(model: Any, requests: Sequence[Scored], lane_tokens: int, way: str) -> dict[str, Any]:
    """Score packed lanes of one length behind a trunk; return seconds and sums."""
    AttentionInterface.register("assay_flex", flex)
    sequences = [ids[:-1] for ids, _ in requests]
    reads = [list(range(first - 1, len(ids) - 1)) for ids, first in requests]
    began = time.perf_counter()
    # Subtrees are cut small, then put end to end until a lane is full.
    (group,) = plan(sequences, reads, lane_tokens=lane_tokens)
    planned = time.perf_counter() - began
    assert len(group.trunk) == N_TRUNK
    trunk_width = N_TRUNK + -N_TRUNK % BLOCK
    ends = torch.zeros(lane_tokens, dtype=torch.int32, device=DEVICE)

    def sees(b: Any, h: Any, q: Any, kv: Any) -> Any:
        own = kv - trunk_width
        at = torch.clamp(own, min=0)
        return (kv < N_TRUNK) | ((own >= 0) & (own <= q) & (q < ends[at]))

    make_mask = torch.compile(create_block_mask)
    model.set_attn_implementation("sdpa")
    body = model.model
    _attention["function"] = flex_attention if way == "whole" else _flex
    if way == "whole":
        # Autotuning was tried: it takes minutes and then picks the library's own products everywhere.
        body = torch.compile(model.model.forward, dynamic=False)

    def trunk_cache() -> Cache:
        model.set_attn_implementation("sdpa")
        cache = Cache()
        cache.is_growing = True
        at = torch.arange(N_TRUNK, device=DEVICE)
        model.model(
            input_ids=torch.tensor([group.trunk], device=DEVICE),
            position_ids=at[None],
            attention_mask=(at[None, :] <= at[:, None])[None, None],
            past_key_values=cache,
            use_cache=False,
        )
        cache.is_growing = False
        model.set_attn_implementation("assay_flex")
        return cache

    sums = [0.0] * len(requests)

    def on_host(lane: Lane) -> tuple[Any, ...]:
        n, pad = len(lane.ids), lane_tokens - len(lane.ids)
        parts = (
            torch.tensor([lane.ids + [0] * pad]),
            torch.tensor([lane.positions + [N_TRUNK] * pad]),
            # Padding sees itself alone.
            torch.tensor(lane.ends + list(range(n + 1, lane_tokens + 1)), dtype=torch.int32),
            torch.tensor([at for at, _, _ in lane.reads]),
            torch.tensor([requests[row][0][reads[row][n] + 1] for _, row, n in lane.reads]),
        )
        # Pinned, so that copying does not wait for the lane before.
        return tuple(part.pin_memory() for part in parts)

    def run() -> None:
        cache = trunk_cache()
        waiting = []
        for host in [on_host(lane) for lane in group.lanes]:
            ids, positions, lane_ends, at, tokens = (part.to(DEVICE, non_blocking=True) for part in host)
            ends.copy_(lane_ends)
            mask: BlockMask = make_mask(
                sees, None, None, lane_tokens, trunk_width + lane_tokens, device=DEVICE, BLOCK_SIZE=BLOCK
            )
            hidden = body(
                input_ids=ids,
                position_ids=positions,
                attention_mask=mask,
                past_key_values=cache,
                use_cache=False,
            ).last_hidden_state[0]
            waiting.append(log_probs(model, hidden[at], tokens))
        for index in range(len(sums)):
            sums[index] = 0.0
        for lane, found in zip(group.lanes, waiting, strict=True):
            for (_, row, _), value in zip(lane.reads, found.tolist(), strict=True):
                sums[row] += value

    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    seconds = min(timed(run) for _ in range(2))
    fill = sum(len(lane.ids) for lane in group.lanes) / (lane_tokens * len(group.lanes))
    return {
        "seconds": seconds,
        "first_seconds": first,
        "plan_seconds": planned,
        "lanes": len(group.lanes),
        "fill": fill,
        "sums": sums,
    }


if __name__ == "__main__":
    main()
